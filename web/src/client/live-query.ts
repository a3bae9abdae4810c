// A live query as its user holds it. What it does is loaded with the first live query
// (live-connection.ts), because most pages have none.

import { AbortError } from "../errors.ts";
import type { LiveDelta, LiveExplain, LiveQuery, LiveSnapshot } from "../types.ts";

// The state of a live query, once live-connection.ts is loaded.
export interface LiveState {
  snapshot(): LiveSnapshot<unknown> | undefined; // undefined: nothing was read yet
  explain(): LiveExplain; // of what is shown
  readonly isOpen?: boolean; // whether something can follow an error with the code StoreClosed
  close(): void;
}

const loading: LiveSnapshot<never> = { data: undefined, status: "loading", sequence: 0n };

const watchesNothing: LiveExplain = { rowsWatched: 0, warnings: [] };

const ignore = () => {};

// There may be very many live queries, so most collections are created when they are needed.
export class LiveQueryHandle<R, E = unknown> implements LiveQuery<R, E> {
  readonly ready: Promise<R>;
  #listeners: Set<() => void> | undefined;
  #deltaListeners: Set<(delta: LiveDelta<unknown>) => void> | undefined;
  #waiting: (() => void)[] | undefined; // each continues an iteration
  #state: LiveState | undefined;
  #failed: LiveSnapshot<R> | undefined; // if there will be no state, or it had no result
  #isClosed = false;
  #isReadySettled = false;
  #resolveReady: (data: R) => void = ignore;
  #rejectReady: (error: unknown) => void = ignore;

  // `open` begins to read. It calls attach(), and then onChange() after each change.
  constructor(open: (query: LiveQueryHandle<R, E>) => Promise<void>) {
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    this.ready.catch(ignore); // the snapshot has the error too
    open(this).catch((error: Error) => {
      if (this.#isClosed) return;
      this.#failed = { ...loading, status: "error", error };
      this.onChange([]);
    });
  }

  // Called before anything is read. Returns whether the query is still needed.
  attach(state: LiveState): boolean {
    this.#state = state;
    return !this.#isClosed;
  }

  getSnapshot(): LiveSnapshot<R> {
    return this.#failed ?? (this.#state?.snapshot() as LiveSnapshot<R> | undefined) ?? loading;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners ??= new Set();
    return add(this.#listeners, () => listener());
  }

  onDelta(listener: (delta: LiveDelta<E>) => void): () => void {
    this.#deltaListeners ??= new Set();
    return add(this.#deltaListeners, (delta) => listener(delta as LiveDelta<E>));
  }

  get wantsDeltas(): boolean {
    return this.#deltaListeners !== undefined && this.#deltaListeners.size > 0;
  }

  // Called after the snapshot has changed.
  onChange(deltas: readonly LiveDelta<unknown>[]): void {
    if (!this.#isReadySettled) this.#settleReady();
    for (const delta of deltas) callEach(this.#deltaListeners, delta);
    callEach(this.#listeners, undefined);
    this.#continueIterations();
  }

  // Making a snapshot may copy an array, so this is done only once.
  #settleReady(): void {
    const { data, status, error } = this.getSnapshot();
    this.#isReadySettled = true;
    if (status === "ready") this.#resolveReady(data as R);
    else this.#rejectReady(error);
    this.#resolveReady = this.#rejectReady = ignore; // they take memory
  }

  // Not a generator: return() of a generator would wait for the next result.
  [Symbol.asyncIterator](): AsyncIterator<R, undefined> {
    const done = { done: true, value: undefined } as const;
    let seen: LiveSnapshot<R> = loading;
    let hasEnded = false;
    return {
      next: async () => {
        let snapshot = this.getSnapshot();
        for (; !hasEnded && !this.#isClosed && snapshot === seen; snapshot = this.getSnapshot())
          await this.#nextChange();
        if (hasEnded || this.#isClosed) return done;
        seen = snapshot;
        const { status, data, error } = snapshot;
        if (status === "ready") return { done: false, value: data as R };
        hasEnded = true;
        const isStoreClosed = (error as { code?: unknown }).code === "StoreClosed";
        if (isStoreClosed && this.#state?.isOpen !== true) return done;
        throw error;
      },
      return: async () => {
        hasEnded = true;
        this.#continueIterations();
        return done;
      },
    };
  }

  async explain(): Promise<LiveExplain> {
    await this.ready.catch(() => {});
    const { status, error } = this.getSnapshot();
    if (status === "error") throw error;
    return this.#isClosed ? watchesNothing : (this.#state as LiveState).explain();
  }

  #nextChange(): Promise<void> {
    this.#waiting ??= [];
    const waiting = this.#waiting;
    return new Promise((resolve) => waiting.push(resolve));
  }

  // Those that have nothing to yield wait again.
  #continueIterations(): void {
    for (const resolve of this.#waiting?.splice(0) ?? []) resolve();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#state?.close();
    const error = new AbortError("The live query was closed.");
    this.#rejectReady(error);
    if (!this.#isReadySettled) {
      this.#failed = { ...loading, status: "error", error };
      callEach(this.#listeners, undefined);
    }
    this.#listeners?.clear();
    this.#deltaListeners?.clear();
    this.#continueIterations();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

function add<L>(listeners: Set<L>, listener: L): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

// Calls each listener that was there before the first call and still is. If a listener throws, the
// others still run, and the error is reported as an unhandled rejection (Emitter).
function callEach<T>(listeners: ReadonlySet<(value: T) => void> | undefined, value: T): void {
  if (listeners === undefined) return;
  for (const listener of [...listeners]) {
    if (!listeners.has(listener)) continue;
    try {
      listener(value);
    } catch (error) {
      void Promise.reject(error);
    }
  }
}
