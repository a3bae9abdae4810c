// Loads the parts (files of rows) and the deferred wasm modules that a call needs. Unloads parts
// when memory is full.

import { StoreError } from "../errors.ts";
import type { LogStorage, OnPart } from "../storage/log-storage.ts";
import { type Damage, DeferredModuleNeeded, type Engine, PartsNeeded } from "../wasm/engine.ts";

// How many of the needed parts are loaded before the call is repeated. Few at first, because the
// call often needs only those; then more each time, up to partsMax.
const firstParts = 4;
const partsMax = 32;
// How many are loaded for each step of a call that continues where it ended before, and of counting
// rows. Few, because they may come on top of the memory limit.
const stepParts = 8;
// How many parts a call may load before it is repeated.
const partsAtOnceMax = { all: Number.POSITIVE_INFINITY, some: partsMax, steps: stepParts };
// About how much memory a loaded part takes.
const partBytes = 300_000;

export interface PartLoaderOptions {
  engine: Pick<
    Engine,
    | "loadPart"
    | "loadPartForCheckpoint"
    | "damage"
    | "trimMemory"
    | "trimMemoryTo"
    | "runPendingReads"
    | "partsWithInexactCounts"
    | "memoryBytes"
  >;
  storage: Pick<LogStorage, "readParts">;
  memoryLimit: number; // of rows, in bytes; 0: none
  onDamage: () => void;
}

// The error of calls during which this damage was found.
export function damagedError({ file, message }: Damage): StoreError {
  return new StoreError("Corrupted", `The store is damaged: ${file} ${message}`, {
    hint: "The store is read-only from now on, without that data; see status.damage.",
  });
}

// Throws if the call needs again what was loaded first, a part or a deferred module: repeating it
// would not end.
function requireProgress(loaded: PartsNeeded, needed: PartsNeeded): void {
  const [next] = needed.ids;
  if (next === undefined ? needed !== loaded : next !== loaded.ids[0]) return;
  const message = `The store is damaged: part ${next} was loaded but is still missing.`;
  throw new StoreError("Corrupted", message);
}

export class PartLoader {
  readonly #options: PartLoaderOptions;
  readonly #loading = new Map<number, Promise<void>>();
  // Calls that wait for parts. No part is trimmed meanwhile, and no write unloads a part that one
  // of the engine's reads has needed since the last trimMemory().
  #waitingCalls = 0;
  #onAllDone: (() => void)[] = []; // called when no call waits for parts any more
  #pausedFor: Promise<unknown> | undefined; // no part is read before it settles

  constructor(options: PartLoaderOptions) {
    this.#options = options;
  }

  // Loads what `call` needs and repeats it until it needs nothing more. Resolves to its result.
  // Parts loaded for this purpose are not unloaded before that; with "steps", they may be unloaded
  // as soon as `call` was repeated, because it continues where it ended before. Other calls that
  // need parts then also take their turn between the steps. Rejects with
  // StoreError Corrupted if a part is damaged, and with errors of the storage, of `call` and of
  // Engine.loadDeferredModule().
  async loadAndRetry<T>(
    first: PartsNeeded,
    call: () => T | PartsNeeded,
    loadAtOnce: "all" | "some" | "steps" = "some",
  ): Promise<T> {
    for (let needed: PartsNeeded | undefined = first; ; needed = undefined) {
      const result: T | PartsNeeded = await this.#loadAndRepeat(needed, call, loadAtOnce);
      if (!(result instanceof PartsNeeded)) return result;
    }
  }

  // Resolves to the result of `call`, or with "steps" to PartsNeeded after a step. `first`
  // undefined: the call is to say what it needs.
  async #loadAndRepeat<T>(
    first: PartsNeeded | undefined,
    call: () => T | PartsNeeded,
    loadAtOnce: "all" | "some" | "steps",
  ): Promise<T | PartsNeeded> {
    // With "steps", a later step may need as many as it loads at once.
    const parts = Math.min(first?.ids.length ?? stepParts, partsAtOnceMax[loadAtOnce]);
    const takesTurn = this.#mustTakeTurns(parts);
    if (takesTurn) await this.#takeTurn(parts);
    else this.#waitingCalls += 1;
    try {
      let needed = first;
      // The call says again what it needs: it may need something else after its turn came, and the
      // engine forgets what reads wait for while no call counts as waiting.
      if (takesTurn || needed === undefined) {
        const result = call();
        if (!(result instanceof PartsNeeded)) return result;
        needed = result;
      }
      this.#makeRoom(Math.min(needed.ids.length, partsAtOnceMax[loadAtOnce]));
      for (let count = firstParts; ; count = Math.min(2 * count, partsMax)) {
        const { ids } = needed;
        await this.#pausedFor;
        if (needed instanceof DeferredModuleNeeded) await needed.load();
        else if (loadAtOnce === "all") await this.#load(ids);
        else await this.#load(ids.slice(0, loadAtOnce === "steps" ? stepParts : count));
        const result = call();
        if (!(result instanceof PartsNeeded)) return result;
        requireProgress(needed, result);
        if (loadAtOnce === "steps") return result;
        needed = result;
      }
    } finally {
      this.#endWaitingCall();
    }
  }

  #endWaitingCall(): void {
    this.#waitingCalls -= 1;
    try {
      this.trim();
    } finally {
      if (this.#waitingCalls === 0) for (const done of this.#onAllDone.splice(0)) done();
    }
  }

  // Whether a call that needs this number of parts must wait for the others, because their parts
  // may fill memory.
  #mustTakeTurns(parts: number): boolean {
    if (this.#waitingCalls === 0) return false;
    return this.#isFullWith(Math.max(this.#waitingCalls, this.#loading.size) + parts);
  }

  // Whether memory would be full if this number of parts were loaded.
  #isFullWith(parts: number): boolean {
    const { engine, memoryLimit } = this.#options;
    return memoryLimit > 0 && engine.memoryBytes + parts * partBytes > memoryLimit;
  }

  // Unloads parts so that this number of parts can be loaded within the limit, though at most down
  // to half of it. Does nothing while other calls wait for parts, which may need those; pending
  // reads come first, because they may begin to wait.
  #makeRoom(parts: number): void {
    const { engine, memoryLimit } = this.#options;
    engine.runPendingReads();
    if (this.#waitingCalls > 1 || !this.#isFullWith(parts)) return;
    engine.trimMemoryTo(Math.max(memoryLimit - parts * partBytes, memoryLimit / 2));
  }

  // Waits until no other call waits for parts or memory suffices for this number of parts, and then
  // counts as a call that waits.
  async #takeTurn(parts: number): Promise<void> {
    while (this.#mustTakeTurns(parts)) {
      await new Promise<void>((resolve) => this.#onAllDone.push(resolve));
    }
    this.#waitingCalls += 1;
  }

  // Loads parts that a checkpoint needs into the version that it writes, and repeats `call` until
  // it needs nothing more. Resolves to its result. Rejects like loadAndRetry().
  async loadForCheckpoint<T>(first: PartsNeeded, call: () => T | PartsNeeded): Promise<T> {
    const { engine } = this.#options;
    this.#waitingCalls += 1;
    try {
      for (let needed = first; ; ) {
        await this.#read(needed.ids, (id, bytes) => engine.loadPartForCheckpoint(id, bytes));
        const result = call();
        if (!(result instanceof PartsNeeded)) return result;
        requireProgress(needed, result);
        needed = result;
      }
    } finally {
      this.#endWaitingCall();
    }
  }

  // Resolves when no part is being read any more that was being read when this was called.
  async waitForLoads(): Promise<void> {
    await Promise.allSettled(this.#loading.values());
  }

  // Settles when pauseWhile() has ended; undefined if it is not running.
  get whenResumed(): Promise<unknown> | undefined {
    return this.#pausedFor;
  }

  // Runs `work` while no part is being read. Meanwhile `work` may replace all parts.
  async pauseWhile(work: () => Promise<void>): Promise<void> {
    const working = this.waitForLoads().then(work);
    this.#pausedFor = working.catch(() => {});
    try {
      await working;
    } finally {
      this.#pausedFor = undefined;
    }
  }

  // Loads the parts whose row counts are unknown, so that the store's counts are exact. Loads a few
  // at a time, because all of them may not fit in memory. Rejects like loadAndRetry().
  async loadForRowCounts(): Promise<void> {
    const { engine } = this.#options;
    for (
      let needed = engine.partsWithInexactCounts();
      needed !== undefined;
      needed = engine.partsWithInexactCounts()
    ) {
      await this.loadAndRetry(
        new PartsNeeded(needed.ids.slice(0, stepParts)),
        () => undefined,
        "all",
      );
    }
  }

  // Unloads the least recently used parts if memory is full and no call waits for parts. Pending
  // reads come first: they may need parts, and then wait for them.
  trim(): void {
    const { engine } = this.#options;
    engine.runPendingReads();
    if (this.#waitingCalls === 0) engine.trimMemory();
  }

  // Loads parts. If a part is already being loaded for another call, waits for that.
  async #load(ids: readonly number[]): Promise<void> {
    const fresh = ids.filter((id) => !this.#loading.has(id));
    if (fresh.length > 0) {
      const { engine } = this.#options;
      const reading = this.#read(fresh, (id, bytes) => engine.loadPart(id, bytes)).finally(() => {
        for (const id of fresh) this.#loading.delete(id);
      });
      for (const id of fresh) this.#loading.set(id, reading);
    }
    await Promise.all(ids.map((id) => this.#loading.get(id)));
  }

  async #read(ids: readonly number[], load: OnPart): Promise<void> {
    const { engine, storage, onDamage } = this.#options;
    const before = engine.damage().length;
    await storage.readParts(ids, load);
    const [found] = engine.damage().slice(before);
    if (found === undefined) return;
    onDamage();
    throw damagedError(found);
  }
}
