// The filter of a synced table, which the engine evaluates as it does in queries.

import { RequestEncoder } from "../client/request-encoder.ts";
import type { RowFilter } from "../sync/partition-log.ts";
import type { Engine } from "../wasm/engine.ts";
import { rowKeyOf } from "./hidden-keys.ts";

/** Throws StoreError ValidationFailed if the filter is invalid, or if it names Timestamp. */
export function rowFilter(
  engine: Pick<Engine, "matchesFilter">,
  table: string,
  filter: string,
): RowFilter {
  const encoder = new RequestEncoder(false);
  const matches: RowFilter = (key, properties) => {
    const entity = Object.fromEntries(properties);
    const operation = { kind: "insertOrReplace", ...rowKeyOf(key), entity } as const;
    return encoder.write(table, [operation], false, undefined, (message) =>
      engine.matchesFilter(filter, message),
    );
  };
  matches("\0", new Map());
  return matches;
}
