// Keeps the rows in memory within the memory limit. Rows that a part holds can be unloaded. Changes
// that no part holds must stay in memory until a checkpoint has stored them. So when such changes
// fill half of the limit, a checkpoint starts; when they fill most of it, writes wait until the
// checkpoint has stored enough of them.

import { inMicrotask } from "../util/event-loop.ts";
import type { Engine } from "../wasm/engine.ts";

const checkpointShare = 1 / 2;
const fullShare = 7 / 8;
// Memory is measured after this share of the limit was written, because measuring visits every leaf
// of the index. A small write can make a whole part unsaved, so above the limit memory is also
// measured after a few writes.
const checkShare = 1 / 64;
const checkWrites = 8;

export interface MemoryGuardOptions {
  engine: Pick<Engine, "memoryBytes" | "unsavedMemory">;
  memoryLimit: number; // of rows, in bytes; 0: none
  trim: () => void; // unloads parts
  // Starts a checkpoint, or another one after the one under way. Returns whether one will run.
  startCheckpoint: () => boolean;
  onFreed: () => void; // writes may continue
}

export class MemoryGuard {
  readonly #options: MemoryGuardOptions;
  #writtenBytes = 0; // since memory was measured
  #groups = 0; // groups of writes since memory was last compared with the limit
  #isFull = false;
  #scheduled = false; // update() is called in a microtask

  constructor(options: MemoryGuardOptions) {
    this.#options = options;
  }

  // Whether writes must wait. While they wait, a checkpoint runs.
  get isFull(): boolean {
    return this.#isFull;
  }

  // Counts published writes, and measures memory now and then, in a microtask: the caller may be
  // using a response in the engine's memory, and any call of the engine may move that memory. Not
  // every write starts a microtask: that can take as long as the write itself.
  addWritten(bytes: number): void {
    if (this.#options.memoryLimit === 0) return;
    this.#writtenBytes += bytes;
    this.#groups += 1;
    if (this.#scheduled || !(this.#hasWrittenMuch || this.#groups >= checkWrites)) return;
    this.#scheduled = true;
    inMicrotask(() => {
      this.#scheduled = false;
      ifEngineWorks(() => this.#updateIfDue());
    });
  }

  get #hasWrittenMuch(): boolean {
    return this.#writtenBytes >= this.#options.memoryLimit * checkShare;
  }

  #updateIfDue(): void {
    const { engine, memoryLimit } = this.#options;
    this.#groups = 0;
    if (this.#hasWrittenMuch || engine.memoryBytes > memoryLimit) this.update();
  }

  // Measures memory. Called when something was stored, too, because that may have freed memory.
  update(): void {
    const { memoryLimit, startCheckpoint } = this.#options;
    if (memoryLimit === 0) return;
    const unsaved = this.#measureUnsaved();
    const isDue = unsaved > memoryLimit * checkpointShare;
    // Waiting would not end if no checkpoint ran, for example before the log is owned.
    if (isDue && startCheckpoint() && unsaved > memoryLimit * fullShare) this.#isFull = true;
    else this.allowWrites();
  }

  // Lets writes continue if memory is no longer full. Called when a checkpoint has failed: what it
  // had still to write no longer counts. Starts no other checkpoint.
  updateAfterFailure(): void {
    if (!this.#isFull) return;
    if (this.#measureUnsaved() <= this.#options.memoryLimit * fullShare) this.allowWrites();
  }

  // Returns how much of memory no unloading can free, or 0 if that is too little to matter.
  #measureUnsaved(): number {
    const { engine, memoryLimit, trim } = this.#options;
    this.#writtenBytes = 0;
    this.#groups = 0;
    if (engine.memoryBytes > memoryLimit) trim();
    return engine.memoryBytes > memoryLimit * checkpointShare ? engine.unsavedMemory() : 0;
  }

  // Lets writes continue although memory may be full. Called when no checkpoint can free any:
  // waiting longer would not help.
  allowWrites(): void {
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#options.onFreed();
  }
}

// Returns undefined if the engine is closed or broken. The next write reports this.
export function ifEngineWorks<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
