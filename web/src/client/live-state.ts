// One live query: its rows as far as they are read, and what its user sees of them.
//
// While a query has more rows to read (after it was opened or reset, or when a limit has lost a row
// that is not in memory), its user still sees the result before that.

import type { LiveDelta, LiveSnapshot } from "../types.ts";
import type { Row, WatchDelta } from "./changes-decoder.ts";
import type { LiveState } from "./live-query.ts";
import { LiveRows } from "./live-rows.ts";
import type { WatchPage } from "./response-decoder.ts";

export interface LiveSource {
  readonly table: string;
  readonly filter: string | undefined;
  readonly limit?: number | undefined;
  readonly from?: { partitionKey: string; rowKey: string } | undefined;
  readonly result: "list" | "entity" | "count";
  readonly select?: readonly string[] | undefined;
  // Converts what is selected of a row. undefined: it stays as it is.
  readonly convert?: ((entity: object) => object) | undefined;
  // Called after the snapshot has changed.
  onChange(deltas: readonly LiveDelta<unknown>[]): void;
  // Rejects with the error of a request about this query, perhaps with a hint.
  rejectWith(error: unknown): Promise<never>;
}

const loading: LiveSnapshot<unknown> = { data: undefined, status: "loading", sequence: 0n };

export class OpenQuery implements LiveState {
  readonly source: LiveSource;
  readonly #onClose: (query: OpenQuery) => void;
  watch = 0; // its id; 0: it is not open
  isWaiting = false; // for the response to a request
  restarts = 0; // how often restart() was called
  #rows: LiveRows;
  #count = 0;
  #isComplete = false;
  #shown: LiveRows; // the rows of #snapshot, while the query is not complete
  #snapshot: LiveSnapshot<unknown> | undefined = loading; // undefined: not made yet
  #sequence = 0n;
  #deltas: LiveDelta<unknown>[] = []; // which the user has not learned

  constructor(source: LiveSource, onClose: (query: OpenQuery) => void) {
    this.source = source;
    this.#onClose = onClose;
    this.#rows = this.#noRows();
    this.#shown = this.#noRows();
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  snapshot(): LiveSnapshot<unknown> {
    this.#snapshot ??= { data: this.#data, status: "ready", sequence: this.#sequence };
    return this.#snapshot;
  }

  close(): void {
    this.#onClose(this);
  }

  takeDeltas(): readonly LiveDelta<unknown>[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    return deltas;
  }

  // Forgets the rows that were read: they are read again.
  restart(): void {
    this.#keepShowing();
    this.restarts += 1;
    this.#rows = this.#noRows();
    this.#count = 0;
    this.#isComplete = false;
  }

  // Each of the following returns whether the snapshot has changed. They throw the resolver's
  // error.

  apply(delta: WatchDelta, sequence: bigint): boolean {
    if (delta.isReset) {
      this.restart();
      return false;
    }
    const wasComplete = this.#isComplete;
    if (!delta.isComplete) this.#keepShowing();
    this.#isComplete = delta.isComplete;
    this.#count += delta.countChange;
    const applied = this.#rows.apply(delta.rows, sequence);
    if (!delta.isComplete) return false;
    if (!wasComplete) return this.#show(sequence);
    if (this.source.result !== "count") this.#deltas.push(applied);
    else if (delta.countChange === 0) return false;
    this.#snapshot = undefined;
    this.#sequence = sequence;
    return true;
  }

  add({ rows, rowsRead, isComplete, sequence }: WatchPage): boolean {
    this.#count += rowsRead;
    this.#rows.append(rows as Row[]);
    this.#isComplete = isComplete;
    return isComplete && this.#show(sequence);
  }

  // Shows the error instead of a result, until the query is complete again.
  fail(error: Error): boolean {
    if (this.#isComplete) this.#keepShowing();
    const { sequence } = this.snapshot();
    this.#isComplete = false;
    this.#rows = this.#noRows();
    const delta = this.#rows.keepUnchanged(this.#shown, sequence);
    if (delta !== undefined) this.#deltas.push(delta);
    this.#shown = this.#noRows();
    this.#snapshot = { data: undefined, status: "error", error, sequence };
    return true;
  }

  // Shows the error beside the last result.
  end(error: Error): void {
    this.#keepShowing();
    this.#isComplete = false;
    this.#snapshot = { ...this.snapshot(), status: "error", error };
  }

  // ---- Private ----------------------------------------------------------------------------------

  #noRows(): LiveRows {
    const { select, convert } = this.source;
    const project = projection(select);
    const toEntity = convert === undefined ? project : (row: Row) => convert(project?.(row) ?? row);
    return new LiveRows(toEntity, convert === undefined);
  }

  get #data(): unknown {
    if (this.source.result === "count") return this.#count;
    const entities = this.#rows.giveOut();
    return this.source.result === "list" ? entities : entities[0];
  }

  #keepShowing(): void {
    if (!this.#isComplete) return;
    this.snapshot();
    this.#shown = this.#rows.copy();
  }

  // Shows the rows, which are complete.
  #show(sequence: bigint): boolean {
    const { status, data } = this.snapshot();
    const delta = this.#rows.keepUnchanged(this.#shown, sequence);
    this.#shown = this.#noRows();
    const isSame = this.source.result === "count" ? data === this.#count : delta === undefined;
    if (isSame && status === "ready") return false;
    if (delta !== undefined) this.#deltas.push(delta);
    this.#snapshot = undefined;
    this.#sequence = sequence;
    return true;
  }
}

const clientNames: Readonly<Record<string, string>> = {
  PartitionKey: "partitionKey",
  RowKey: "rowKey",
  Timestamp: "timestamp",
};

// Returns a function that returns what lists with this `select` have of a row.
function projection(select: readonly string[] | undefined): ((row: Row) => object) | undefined {
  const names = (select ?? [])
    .filter((name) => name !== "odata.etag")
    .map((name) => (Object.hasOwn(clientNames, name) ? (clientNames[name] as string) : name));
  if (names.every((name) => name === "etag") || names.includes("*")) return undefined;
  const selected = [...new Set(["etag", ...names])];
  return (row) =>
    Object.fromEntries(selected.map((name) => [name, Object.hasOwn(row, name) ? row[name] : null]));
}
