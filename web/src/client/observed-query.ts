// A query that is a function of several reads. Loaded with the first of them.
//
// Each read is an open query of the connection, and stays one until a run that was not stale did
// not ask for it. So a run reads only what neither the last such run nor the run before it did.
//
// All open queries of a connection show the same version of the store. If a read that a run was
// given shows something else before the run has ended, the run is stale: it is given nothing more,
// and its result is dropped. So what a run is given is of one version, and so is what is shown.

import type { LiveExplain, LiveSnapshot, Reader } from "../types.ts";
import { isEqualResult } from "./equal-results.ts";
import type { LiveConnection, LiveEnvironment } from "./live-connection.ts";
import type { LiveQueryHandle, LiveState } from "./live-query.ts";
import type { OpenQuery, QueryListener, QuerySource } from "./live-state.ts";
import type { TableHandle } from "./table-client.ts";

export type ObservedFunction = (read: Reader) => unknown;

interface Read {
  query: OpenQuery;
  askedBy: number; // the last run that asked for it
  givenTo: number; // the last run that was given its result, or its error
  usedBy: number; // the last run that was given its result, and was not stale
  readonly waiting: (() => void)[];
}

interface Run {
  readonly number: number;
  isStale: boolean;
  hasEnded: boolean;
}

// Throws StoreError if `query` is no function, or the store is closed.
export function openObserved(
  query: ObservedFunction,
  handle: Pick<LiveQueryHandle<unknown>, "attach" | "onChange">,
  connection: LiveConnection,
): void {
  const { StoreError } = connection.environment;
  if (typeof query !== "function")
    throw new StoreError("ValidationFailed", "observe needs a function.");
  const observed = new ObservedQuery(query, handle, connection);
  if (handle.attach(observed)) connection.openObserved(observed);
}

export class ObservedQuery implements LiveState {
  readonly listener: Pick<QueryListener, "onChange">;
  readonly #query: ObservedFunction;
  readonly #connection: LiveConnection;
  readonly #environment: LiveEnvironment;
  readonly #reads = new Map<string, Read>(); // by #keyOf()
  readonly #resolvers = new WeakMap<object, number>();
  #resolverCount = 0;
  #run: Run = { number: 0, isStale: false, hasEnded: true }; // the last one
  #lastComplete = 0; // the number of the last run that was not stale
  readonly #waiting: (() => void)[] = []; // until queries have shown what has changed
  #snapshot: LiveSnapshot<unknown> | undefined; // undefined: there was no result yet
  #endError: Error | undefined; // why it has ended

  constructor(
    query: ObservedFunction,
    listener: Pick<QueryListener, "onChange">,
    connection: LiveConnection,
  ) {
    this.#query = query;
    this.listener = listener;
    this.#connection = connection;
    this.#environment = connection.environment;
  }

  get isOpen(): boolean {
    return this.#endError === undefined;
  }

  snapshot(): LiveSnapshot<unknown> | undefined {
    return this.#snapshot;
  }

  // The open queries of explain().
  get reads(): OpenQuery[] {
    return [...this.#reads.values()].map(({ query }) => query);
  }

  get runCount(): number {
    return this.#run.number;
  }

  // All reads of the last run that was not stale. While a run is under way, also its own.
  explain(): LiveExplain {
    const reads = this.reads.map((query) => query.explain());
    const warnings = new Map(reads.flatMap((read) => read.warnings).map((w) => [w.message, w]));
    const rowsWatched = reads.reduce((sum, read) => sum + read.rowsWatched, 0);
    return { rowsWatched, warnings: [...warnings.values()] };
  }

  close(): void {
    this.#end(new this.#environment.AbortError("The live query was closed."));
    for (const { query } of this.#reads.values()) query.close();
    this.#reads.clear();
    this.#connection.closeObserved(this);
  }

  // Shows the error beside the last result. Nothing else follows.
  end(error: Error): void {
    const { data, sequence } = this.#snapshot ?? { data: undefined, sequence: 0n };
    this.#snapshot = { data, status: "error", error, sequence };
    this.#end(error);
  }

  #end(error: Error): void {
    this.#endError ??= error;
    this.#wakeAll();
    this.onSettled();
  }

  // ---- Runs -------------------------------------------------------------------------------------

  // Runs do not overlap. REQUIRES: the last run has ended.
  async run(): Promise<void> {
    const run: Run = { number: this.#run.number + 1, isStale: false, hasEnded: false };
    this.#run = run;
    const result = await this.#resultOf(run);
    while (this.#endError === undefined && !run.isStale && this.#isBehind(run))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    run.hasEnded = true;
    if (this.#endError !== undefined) return;
    this.#wakeAll();
    if (!run.isStale) this.#lastComplete = run.number;
    this.#closeUnusedReads(run);
    if (run.isStale) this.#runLater();
    else this.#show(result);
  }

  // Called after queries have shown what has changed.
  onSettled(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  // Other queries do not wait for one whose reading has failed. What it shows is then older.
  #isBehind({ number }: Run): boolean {
    return [...this.#reads.values()].some(
      ({ givenTo, query }) => givenTo === number && query.isBehind,
    );
  }

  // In a task of its own, so that many commits of one task cause one run.
  #runLater(): void {
    void this.#environment.yieldToEventLoop().then(() => {
      if (this.#endError === undefined) void this.run();
    });
  }

  async #resultOf(run: Run): Promise<Omit<LiveSnapshot<unknown>, "sequence">> {
    try {
      return { data: await this.#query(this.#readerFor(run)), status: "ready" };
    } catch (thrown) {
      return { data: undefined, status: "error", error: this.#errorOf(thrown) };
    }
  }

  #errorOf(thrown: unknown): Error {
    try {
      return this.#environment.toError(thrown);
    } catch {
      return new Error("The function threw a value that cannot be converted to a text.");
    }
  }

  #show(result: Omit<LiveSnapshot<unknown>, "sequence">): void {
    if (result.status === "ready" && this.#isShown(result.data)) return;
    this.#snapshot = { ...result, sequence: this.#connection.shownSequence };
    this.listener.onChange([]);
  }

  #isShown(result: unknown): boolean {
    if (this.#snapshot?.status !== "ready") return false;
    try {
      return isEqualResult(this.#snapshot.data, result, this.#environment.isDate);
    } catch {
      return false; // one of its getters throws
    }
  }

  // A stale run may not have come as far as the one before it, so that one's reads stay, too.
  #closeUnusedReads({ number, isStale }: Run): void {
    for (const [key, read] of this.#reads) {
      if (!isStale && read.givenTo === number) read.usedBy = number;
      const isUsed = read.usedBy === this.#lastComplete || (isStale && read.askedBy === number);
      if (isUsed && this.#connection.has(read.query)) continue;
      this.#reads.delete(key);
      read.query.close();
    }
  }

  // ---- Reads ------------------------------------------------------------------------------------

  #readerFor(run: Run): Reader {
    const read = (table: unknown, name: string, source: (handle: TableHandle) => QuerySource) => {
      const result = this.#read(run, () => source(this.#handle(table, name)));
      result.catch(() => {}); // the function may have ended before it awaits this one
      return result;
    };
    return {
      entities: (table: unknown, options = {}) =>
        read(table, "entities", (handle) => handle.listSource("entities", options)),
      entity: (table: unknown, partitionKey: string, rowKey: string) =>
        read(table, "entity", (handle) => handle.entitySource(partitionKey, rowKey)),
      count: (table: unknown, options = {}) =>
        read(table, "count", (handle) => handle.countSource("count", options)),
    } as Reader;
  }

  #handle(table: unknown, method: string): TableHandle {
    const { StoreError, transport } = this.#environment;
    if ((table as Partial<TableHandle> | undefined)?.belongsTo?.(transport))
      return table as TableHandle;
    throw new StoreError("ValidationFailed", `${method}() needs a table of this store.`, {
      hint: `For example: read.${method}(store.table("lamps")).`,
    });
  }

  // The result is given in a microtask: by then, all changed queries have called #onChange().
  async #read(run: Run, source: () => QuerySource): Promise<unknown> {
    this.#requireCurrent(run);
    const read = this.#openRead(source());
    read.askedBy = run.number;
    let snapshot: LiveSnapshot<unknown> | undefined;
    do {
      if (read.query.snapshot() === undefined)
        await new Promise<void>((resolve) => read.waiting.push(resolve));
      else await undefined;
      this.#requireCurrent(run);
      snapshot = read.query.snapshot();
    } while (snapshot === undefined);
    read.givenTo = run.number;
    if (snapshot.status === "error") throw snapshot.error;
    const { data } = snapshot;
    // A function that sorts it in place would break the order of the keys.
    return Array.isArray(data) ? Object.freeze(data) : data;
  }

  #requireCurrent({ isStale, hasEnded }: Run): void {
    const { AbortError } = this.#environment;
    if (this.#endError !== undefined) throw this.#endError;
    if (hasEnded) throw new AbortError("The run of the query has ended.");
    if (isStale) throw new AbortError("What this run has read has changed. It is run again.");
  }

  #openRead(source: QuerySource): Read {
    this.#connection.check(source); // #keyOf() could take a wrong option for a valid one
    const key = this.#keyOf(source);
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    const read: Partial<Read> = { askedBy: 0, givenTo: 0, usedBy: 0, waiting: [] };
    const listener = { onChange: () => this.#onChange(read as Read), wantsDeltas: false };
    this.#connection.openQuery(source, listener, (query) => {
      read.query = query;
      this.#reads.set(key, read as Read);
      return true;
    });
    return read as Read;
  }

  // REQUIRES: the options are valid.
  #keyOf({ table, result, filter, select, limit, from, resolver }: QuerySource): string {
    const [first, names] = [from && [from.partitionKey, from.rowKey], select?.map(String)];
    return JSON.stringify([table, result, filter, names, limit, first, this.#numberOf(resolver)]);
  }

  #numberOf(resolver: object | undefined): number {
    if (resolver === undefined) return 0;
    const number = this.#resolvers.get(resolver) ?? ++this.#resolverCount;
    this.#resolvers.set(resolver, number);
    return number;
  }

  #onChange(read: Read): void {
    wake(read);
    const run = this.#run;
    if (read.givenTo !== run.number || run.isStale) return;
    run.isStale = true;
    if (run.hasEnded) this.#runLater();
    else this.#wakeAll();
  }

  #wakeAll(): void {
    for (const read of this.#reads.values()) wake(read);
  }
}

function wake(read: Read): void {
  for (const resolve of read.waiting.splice(0)) resolve();
}
