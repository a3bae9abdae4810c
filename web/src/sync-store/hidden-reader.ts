// Reads rows of a synced table and of its hidden tables, from the engine.

import { responseKind } from "../client/message-layout.ts";
import { RequestEncoder } from "../client/request-encoder.ts";
import { ResponseDecoder } from "../client/response-decoder.ts";
import { ShapeCache } from "../client/row-shapes.ts";
import type { Engine, PartsNeeded } from "../wasm/engine.ts";
import { isOpaque, type RowKey, type TableNumber } from "./hidden-keys.ts";
import { decodeRowPage, type HiddenRow, type RowPage } from "./row-decoder.ts";

/** A read needs parts that are not in memory. */
export class PartsMissing extends Error {
  readonly needed: PartsNeeded;

  constructor(needed: PartsNeeded) {
    super("A part is not in memory.");
    this.needed = needed;
  }
}

export type SyncEngine = Pick<Engine, "readSynced" | "applySynced" | "lastCommit">;

/** How many rows the pages of a range have. They grow: most ranges are not read to the end. */
export interface PageRows {
  readonly first: number;
  readonly most: number;
}

const smallRows: PageRows = { first: 16, most: 256 };

export class HiddenReader {
  readonly #engine: SyncEngine;
  readonly #table: string;
  readonly #encoder = new RequestEncoder();
  readonly #decoder = new ResponseDecoder();
  readonly #shapes = new ShapeCache();
  #bytesRead = 0;

  constructor(engine: SyncEngine, table: string) {
    this.#engine = engine;
    this.#table = table;
  }

  /** Of all responses. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  get(table: TableNumber, { partitionKey, rowKey }: RowKey): HiddenRow | undefined {
    return this.#encoder.get(
      this.#table,
      partitionKey,
      rowKey,
      undefined,
      (message) => this.#readRow(table, message)?.rows[0],
    );
  }

  /** `to`: the key before which the rows end. */
  *range(
    table: TableNumber,
    from: RowKey,
    to: RowKey | undefined,
    { first, most } = smallRows,
  ): Generator<HiddenRow> {
    let top = first;
    for (let next: RowKey | undefined = from; next; top = Math.min(2 * top, most)) {
      const page: RowPage = this.#encoder.query(this.#table, { top, next }, (message) =>
        this.#read(table, message),
      );
      for (const row of page.rows) {
        if (to && !isBefore(row, to)) return;
        yield row;
      }
      next = page.next;
      if (next && to && !isBefore(next, to)) return;
    }
  }

  isEmpty(table: TableNumber): boolean {
    const first = { partitionKey: "", rowKey: "" };
    return this.range(table, first, undefined, { first: 1, most: 1 }).next().done === true;
  }

  #read(table: TableNumber, message: Uint8Array): RowPage {
    return this.#pageOf(table, this.#responseTo(table, message));
  }

  /** Returns undefined if there is no such row. Most reads are of absent rows. */
  #readRow(table: TableNumber, message: Uint8Array): RowPage | undefined {
    const response = this.#responseTo(table, message);
    const isAbsent = response[0] === responseKind.error && this.#isNotFound(response);
    return isAbsent ? undefined : this.#pageOf(table, response);
  }

  #responseTo(table: TableNumber, message: Uint8Array): Uint8Array {
    const response = this.#engine.readSynced(table, message);
    if ("ids" in response) throw new PartsMissing(response);
    this.#bytesRead += response.length;
    return response;
  }

  #pageOf(table: TableNumber, response: Uint8Array): RowPage {
    const copy = response.slice();
    return this.#decoder.message(copy, responseKind.page, (reader) =>
      decodeRowPage(reader, copy, this.#shapes, isOpaque(table)),
    );
  }

  /** REQUIRES: the response is an error. */
  #isNotFound(response: Uint8Array): boolean {
    return this.#decoder.message(response, responseKind.error, (reader) => {
      reader.readWord(); // the status
      reader.readWord(); // the operation
      return reader.readText() === "ResourceNotFound";
    });
  }
}

function isBefore(a: RowKey, b: RowKey): boolean {
  if (a.partitionKey !== b.partitionKey) return a.partitionKey < b.partitionKey;
  return a.rowKey < b.rowKey;
}
