// One live query: what its user sees, and what it will show next.
//
// Changes are not shown when they arrive, but when the connection says so: all live queries then
// show them together. If the rows must be read again or further (after the watch was opened or
// reset, or when a limit has lost a row that is not in memory), they are collected beside the rows
// that are shown.

import type { ExplainWarning, LiveDelta, LiveExplain, LiveSnapshot } from "../types.ts";
import type { Row, WatchDelta } from "./changes-decoder.ts";
import type { LiveState } from "./live-query.ts";
import { LiveRows, newDelta } from "./live-rows.ts";
import type { WatchPage } from "./response-decoder.ts";

// What a live query reads, and how.
export interface QuerySource {
  readonly table: string;
  readonly filter?: string | undefined; // not of an entity
  readonly limit?: number | undefined;
  readonly from?: { partitionKey: string; rowKey: string } | undefined; // or the entity's key
  readonly result: "list" | "entity" | "count";
  readonly select?: readonly string[] | undefined;
  // Converts what is selected of a row, with the resolver. undefined: it stays as it is.
  readonly convert?: ((entity: object) => object) | undefined;
  readonly resolver?: object | undefined;
  // Rejects with the error of a request about this query, perhaps with a hint.
  rejectWith(error: unknown): Promise<never>;
}

export interface QueryListener {
  // Called after the snapshot has changed.
  onChange(deltas: readonly LiveDelta<unknown>[]): void;
  // Whether onChange() needs the deltas.
  readonly wantsDeltas: boolean;
}

// Rows that are being read, with the changes to those that were read before.
interface Reading {
  readonly rows: LiveRows;
  count: number;
  isComplete: boolean;
  sequence: bigint;
}

interface QueryChange {
  readonly delta: WatchDelta;
  readonly sequence: bigint;
}

// Closes queries.
export interface QueryCloser {
  closeQuery(query: OpenQuery): void;
}

// Shared by all queries that count, which get no rows: there may be very many.
const rowsOfCounts = new LiveRows(undefined, true);

export class OpenQuery implements LiveState {
  readonly source: QuerySource;
  readonly listener: QueryListener;
  readonly #closer: QueryCloser;
  watch = 0; // its id; 0: it is not open
  wasOpen = false; // the store has accepted the query
  coversAllKeys = false; // every write to the table is tested
  isWaiting = false; // for the response to a request, or for an attempt to open it again
  retryMs = 0; // the delay after the last failure; 0: there was none since it was complete
  restarts = 0; // how often restart() was called
  hits = 0; // how many changes the store has sent
  lastDelta: WatchDelta | undefined; // undefined: none was shown since the rows were read
  sizeBefore = 0; // how many rows were shown before lastDelta
  // Whether the store may no longer have what led to the error that is shown.
  #isErrorOutdated = false;
  // What is shown.
  #status: LiveSnapshot<unknown>["status"] = "loading";
  #rows: LiveRows;
  #count = 0;
  #sequence = 0n;
  #snapshot: LiveSnapshot<unknown> | undefined; // undefined: not made yet, or nothing is shown
  // What will be shown: the shown rows with these changes, or else the rows of #reading.
  #changes: QueryChange[] | undefined;
  #reading: Reading | undefined;
  #error: Error | undefined; // is shown instead

  constructor(source: QuerySource, listener: QueryListener, closer: QueryCloser) {
    this.source = source;
    this.listener = listener;
    this.#closer = closer;
    this.#rows = this.#noRows();
    this.#reading = this.#startReading();
  }

  // undefined: nothing was read yet.
  snapshot(): LiveSnapshot<unknown> | undefined {
    if (this.#status === "ready")
      this.#snapshot ??= { data: this.#data, status: "ready", sequence: this.#sequence };
    return this.#snapshot;
  }

  // For developer tools. Does not make the snapshot: the rows would be copied at the next change.
  get shown(): Pick<LiveSnapshot<unknown>, "status" | "sequence"> {
    return { status: this.#status, sequence: this.#sequence };
  }

  explain(): LiveExplain {
    const { result, table } = this.source;
    const rowsWatched = result === "count" ? this.#count : this.#rows.size;
    const warnings = this.coversAllKeys ? [everyWriteTested(table)] : [];
    return { rowsWatched, warnings };
  }

  close(): void {
    this.#closer.closeQuery(this);
  }

  // ---- What the connection learns ---------------------------------------------------------------

  // Whether rows must be read before the result can be shown.
  get mustRead(): boolean {
    return this.#reading?.isComplete === false;
  }

  // Whether this query shows a result, or an error, but cannot show the next one yet, so that the
  // other queries have to wait.
  get delaysOthers(): boolean {
    return this.isBehind && this.#error === undefined;
  }

  // Whether another result than the one that is shown is being read. An error counts only if the
  // query was restarted since: others do not wait for each attempt to read after a failure.
  get isBehind(): boolean {
    return this.mustRead && (this.#status === "ready" || this.#isErrorOutdated);
  }

  // Forgets the rows that were read: they are read again.
  restart(): void {
    this.restarts += 1;
    this.#dropRows();
    this.#isErrorOutdated = this.#status === "error";
  }

  // The following two throw the resolver's error.

  // Takes ownership of the rows.
  add({ rows, rowsRead, isComplete, sequence }: WatchPage): void {
    this.#reading ??= this.#continueReading();
    const reading = this.#reading;
    reading.count += rowsRead;
    reading.rows.append(rows as Row[]);
    reading.isComplete = isComplete;
    reading.sequence = sequence;
    if (isComplete) this.retryMs = 0;
  }

  apply(delta: WatchDelta, sequence: bigint): void {
    if (!delta.isReset) this.hits += 1;
    if (delta.isReset) {
      this.restart();
    } else if (this.#reading === undefined && delta.isComplete) {
      if (delta.rows.length === 0 && delta.countChange === 0) return;
      this.#changes ??= [];
      this.#changes.push({ delta, sequence });
    } else {
      this.#reading ??= this.#continueReading();
      const reading = this.#reading;
      reading.count += delta.countChange;
      reading.rows.apply(delta.rows);
      reading.isComplete = delta.isComplete;
      reading.sequence = sequence;
    }
  }

  // The error is shown instead of a result, until rows were read again.
  fail(error: Error): void {
    this.#dropRows();
    this.#error = error;
    this.#isErrorOutdated = false;
  }

  #dropRows(): void {
    this.#changes = undefined;
    this.#error = undefined;
    this.#reading = this.#startReading();
  }

  // ---- What the user sees -----------------------------------------------------------------------

  // Shows what the connection has learned. Returns what has changed in the list, if the source
  // wants that; undefined: the snapshot is the same. Throws the resolver's error.
  show(): LiveDelta<unknown>[] | undefined {
    if (this.#error !== undefined) return this.#showError(this.#error);
    if (this.#reading?.isComplete) return this.#showReading(this.#reading);
    const changes = this.#changes;
    if (changes === undefined) return undefined;
    // Converts all rows first: if one fails, none of the changes was shown.
    const converted = changes.map(({ delta }) => this.#rows.convert(delta.rows));
    this.#changes = undefined;
    const deltas: LiveDelta<unknown>[] = [];
    for (const [i, { delta, sequence }] of changes.entries()) {
      const shown = this.#wantsDeltas ? newDelta(sequence) : undefined;
      this.lastDelta = delta;
      this.sizeBefore = this.#rows.size;
      this.#rows.apply(delta.rows, shown, converted[i]);
      this.#count += delta.countChange;
      this.#sequence = sequence;
      if (shown !== undefined) deltas.push(shown);
    }
    this.#snapshot = undefined;
    return deltas;
  }

  // Shows the error beside the last result. Nothing else follows.
  end(error: Error): void {
    const { data, sequence } = this.snapshot() ?? { data: undefined, sequence: 0n };
    this.#status = "error";
    this.#snapshot = { data, status: "error", error, sequence };
  }

  // ---- Private ----------------------------------------------------------------------------------

  #showError(error: Error): LiveDelta<unknown>[] {
    this.#error = undefined;
    const delta = this.#replaceRows(this.#noRows(), this.#sequence);
    this.#count = 0;
    this.#status = "error";
    this.#snapshot = { data: undefined, status: "error", error, sequence: this.#sequence };
    return delta ?? [];
  }

  #showReading({ rows, count, sequence }: Reading): LiveDelta<unknown>[] | undefined {
    this.#reading = undefined;
    this.#isErrorOutdated = false;
    const wasReady = this.#status === "ready";
    const deltas = this.#replaceRows(rows, sequence);
    if (wasReady && deltas === undefined && count === this.#count) return undefined;
    this.#count = count;
    this.#status = "ready";
    this.#sequence = sequence;
    this.#snapshot = undefined;
    return deltas ?? [];
  }

  // Returns what is different; undefined: nothing.
  #replaceRows(rows: LiveRows, sequence: bigint): LiveDelta<unknown>[] | undefined {
    const delta = this.#wantsDeltas ? newDelta(sequence) : undefined;
    const isDifferent = rows.replace(this.#rows, delta);
    this.#rows = rows;
    this.lastDelta = undefined;
    if (!isDifferent) return undefined;
    return delta === undefined ? [] : [delta];
  }

  get #wantsDeltas(): boolean {
    return this.source.result !== "count" && this.listener.wantsDeltas;
  }

  #startReading(): Reading {
    return { rows: this.#noRows(), count: 0, isComplete: false, sequence: 0n };
  }

  // Begins with the rows that would be shown next.
  #continueReading(): Reading {
    const rows = this.#rows.copy();
    let count = this.#count;
    for (const { delta } of this.#changes ?? []) {
      rows.apply(delta.rows);
      count += delta.countChange;
    }
    this.#changes = undefined;
    return { rows, count, isComplete: false, sequence: 0n };
  }

  #noRows(): LiveRows {
    const { select, convert, result } = this.source;
    if (result === "count") return rowsOfCounts;
    const project = projection(select);
    const toEntity = convert === undefined ? project : (row: Row) => convert(project?.(row) ?? row);
    return new LiveRows(toEntity, convert === undefined);
  }

  get #data(): unknown {
    if (this.source.result === "count") return this.#count;
    const entities = this.#rows.giveOut();
    return this.source.result === "list" ? entities : entities[0];
  }
}

function everyWriteTested(table: string): ExplainWarning {
  return {
    code: "EveryWriteTested",
    message: `The live query tests every write to the table ${table}.`,
    help: "Limit the keys: with PartitionKey eq '…', it tests writes to this partition only.",
  };
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
