// What a seed says about a table that is in step with the remote.

import type { TableView } from "../sync/draft.ts";
import { etagOf } from "../sync-store/timestamps.ts";
import type { SeedRange } from "./seed.ts";

/** Throws if the table's rows are not versions of the remote whose ETags their Timestamps tell. */
export function seedRangesOf(table: string, view: TableView): SeedRange[] {
  const has = (name: "bases" | "marks") =>
    view.entries(name, "")[Symbol.iterator]().next().done !== true;
  if (has("bases")) throw refused(`${table} has writes that the remote does not have.`);
  if (has("marks")) throw refused(`not all changes of ${table} were read.`);
  if (hasOwnETags(view)) throw refused("the ETags of the remote are not made from Timestamps.");
  const scans = [...view.entries("scans", "")];
  return scans.map(([from, { to, watermark }]) => ({ from, to, watermark }));
}

/** A remote has ETags of its own for all entities, or for none. */
function hasOwnETags(view: TableView): boolean {
  for (const [, { version }] of view.entries("rows", ""))
    return version !== undefined && version.etag !== etagOf(version.timestamp);
  return false;
}

const refused = (problem: string): Error => new Error(`no seed was written: ${problem}`);
