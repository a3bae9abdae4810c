// Brings parts into memory when a call needs them, as well as the second half of the module, and lets others go when memory is full.

import { StoreError } from "../errors.ts";
import type { LogStorage } from "../storage/log-storage.ts";
import { DeferredModuleNeeded, type Engine, PartsNeeded } from "../wasm/engine.ts";

// How many of the parts that a call names are loaded before it is made again: few at first, since it may be content with them.
const firstParts = 4;
const partsMax = 32;

export interface PartsOptions {
  engine: Pick<Engine, "loadPart" | "damage" | "trim" | "uncountedParts">;
  storage: Pick<LogStorage, "readParts">;
  onDamage: () => void;
}

function partMissingError(id: number | undefined): StoreError {
  return new StoreError("Corrupted", `The store is damaged: part ${id} is read and still missing.`);
}

export class PartLoader {
  readonly #options: PartsOptions;
  readonly #loading = new Map<number, Promise<void>>();
  #waitingCalls = 0; // that wait for parts: none may go that has come for them

  constructor(options: PartsOptions) {
    this.#options = options;
  }

  // The answer of a call that needed parts, made again until it needs no more. What has been loaded for it stays until then.
  // Rejects with StoreError Corrupted if a part turns out to be damaged, and as the storage, the call and Engine.loadDeferredModule() do.
  async loadAndRetry<T>(
    first: PartsNeeded,
    call: () => T | PartsNeeded,
    loadAtOnce: "all" | "some" = "some",
  ): Promise<T> {
    let needed = first;
    this.#waitingCalls += 1;
    try {
      for (let count = firstParts; ; count = Math.min(2 * count, partsMax)) {
        const { ids } = needed;
        if (needed instanceof DeferredModuleNeeded) await needed.load();
        else await this.#load(loadAtOnce === "all" ? ids : ids.slice(0, count));
        const result = call();
        if (!(result instanceof PartsNeeded)) return result;
        const [next] = result.ids;
        if (next === ids[0]) throw partMissingError(next); // or it would be asked for without end
        needed = result;
      }
    } finally {
      this.#waitingCalls -= 1;
      this.trim();
    }
  }

  // Until rows are counted exactly: a few parts at a time, as they may be more than memory takes. Rejects as loadAndRetry().
  async loadUncounted(): Promise<void> {
    const { engine } = this.#options;
    for (
      let needed = engine.uncountedParts();
      needed !== undefined;
      needed = engine.uncountedParts()
    ) {
      await this.loadAndRetry(
        new PartsNeeded(needed.ids.slice(0, partsMax)),
        () => undefined,
        "all",
      );
    }
  }

  // Lets parts go that were not used lately, if memory is full.
  trim(): void {
    if (this.#waitingCalls === 0) this.#options.engine.trim();
  }

  // Calls that need the same part share its reading.
  async #load(ids: readonly number[]): Promise<void> {
    const fresh = ids.filter((id) => !this.#loading.has(id));
    if (fresh.length > 0) {
      const reading = this.#read(fresh).finally(() => {
        for (const id of fresh) this.#loading.delete(id);
      });
      for (const id of fresh) this.#loading.set(id, reading);
    }
    await Promise.all(ids.map((id) => this.#loading.get(id)));
  }

  async #read(ids: readonly number[]): Promise<void> {
    const { engine, storage, onDamage } = this.#options;
    const before = engine.damage().length;
    await storage.readParts(ids, (id, bytes) => engine.loadPart(id, bytes));
    const [found] = engine.damage().slice(before);
    if (found === undefined) return;
    onDamage();
    throw new StoreError("Corrupted", `The store is damaged: ${found.file} ${found.message}`, {
      hint: "From now on the store is read-only, without what was in there; status.damage lists it.",
    });
  }
}
