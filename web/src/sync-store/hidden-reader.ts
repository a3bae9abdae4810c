// Reads rows of a synced table and of its hidden tables, from the engine.

import type { EntityPage } from "../client/page-decoder.ts";
import { RequestEncoder } from "../client/request-encoder.ts";
import { ResponseDecoder } from "../client/response-decoder.ts";
import { RestError } from "../errors.ts";
import type { Ticks } from "../sync/hidden-tables.ts";
import type { Value } from "../sync/value.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import type { RowKey, TableNumber } from "./hidden-keys.ts";
import { ticksOf } from "./timestamps.ts";

export interface HiddenRow extends RowKey {
  readonly properties: ReadonlyMap<string, Value>;
  readonly etag: string; // as the Timestamp says
  readonly timestamp: Ticks;
}

/** A read needs parts that are not in memory. */
export class PartsMissing extends Error {
  readonly needed: PartsNeeded;

  constructor(needed: PartsNeeded) {
    super("A part is not in memory.");
    this.needed = needed;
  }
}

export type SyncEngine = Pick<Engine, "readSynced" | "applySynced" | "lastCommit">;

const firstPageRows = 16;
const pageRowsMax = 256;
const typed = { disableTypeConversion: true };

export class HiddenReader {
  readonly #engine: SyncEngine;
  readonly #table: string;
  readonly #encoder = new RequestEncoder();
  readonly #decoder = new ResponseDecoder();

  constructor(engine: SyncEngine, table: string) {
    this.#engine = engine;
    this.#table = table;
  }

  get(table: TableNumber, { partitionKey, rowKey }: RowKey): HiddenRow | undefined {
    try {
      return this.#encoder.get(this.#table, partitionKey, rowKey, undefined, (message) =>
        rowOf(this.#decoder.entity(this.#read(table, message), typed)),
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** `to`: the key before which the rows end. */
  *range(table: TableNumber, from: RowKey, to: RowKey | undefined): Generator<HiddenRow> {
    let top = firstPageRows;
    for (let next: RowKey | undefined = from; next; top = Math.min(2 * top, pageRowsMax)) {
      const page: EntityPage = this.#encoder.query(this.#table, { top, next }, (message) =>
        this.#decoder.page(this.#read(table, message), typed),
      );
      for (const found of page.rows) {
        const row = rowOf(found);
        if (to && !isBefore(row, to)) return;
        yield row;
      }
      next = page.next;
    }
  }

  #read(table: TableNumber, message: Uint8Array): Uint8Array {
    const response = this.#engine.readSynced(table, message);
    if (response instanceof PartsNeeded) throw new PartsMissing(response);
    return response.slice();
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof RestError && error.code === "ResourceNotFound";

function isBefore(a: RowKey, b: RowKey): boolean {
  if (a.partitionKey !== b.partitionKey) return a.partitionKey < b.partitionKey;
  return a.rowKey < b.rowKey;
}

const systemNames = new Set(["etag", "partitionKey", "rowKey", "timestamp"]);

function rowOf(row: Record<string, unknown>): HiddenRow {
  const properties = new Map<string, Value>();
  for (const [name, value] of Object.entries(row))
    if (!systemNames.has(name)) properties.set(name, typedValue(value as Value));
  return {
    partitionKey: row["partitionKey"] as string,
    rowKey: row["rowKey"] as string,
    etag: row["etag"] as string,
    timestamp: ticksOf(row["timestamp"] as string),
    properties,
  };
}

/** Rows have all values as text. */
function typedValue({ type, value }: Value): Value {
  if (type === "Int32" || type === "Double") return { type, value: Number(value) } as Value;
  if (type === "Boolean") return { type, value: String(value) === "true" } as Value;
  return { type, value } as Value;
}
