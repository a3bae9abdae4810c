// Takes and restores snapshots: the content of a store as one file. A restore reads the whole file
// before anything changes. Then it either replaces the store's content in one step
// (core/store/store.h, "replace"), or merges the rows group by group.

import { StoreError } from "../errors.ts";
import type { RestoreMode, RestoreReport, SnapshotSource } from "../types.ts";
import { concatChunks, smallChunksFrom } from "../util/chunks.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { PartLoader } from "./part-loader.ts";

export interface SnapshotsOptions {
  engine: Pick<
    Engine,
    | "loadDeferredModule"
    | "beginSnapshot"
    | "nextSnapshotChunk"
    | "endSnapshot"
    | "beginRestore"
    | "restoreChunk"
    | "finishRestoreInput"
    | "stageRestoredRows"
    | "endRestore"
  >;
  queue: Pick<CommitQueue, "runExclusively" | "stageAsOwnGroup">;
  parts: Pick<PartLoader, "loadAndRetry">;
  // Stores the restored data. Called while nothing else is written.
  replace: (call: Uint8Array | undefined) => Promise<void>;
  now: () => number;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  #lastSnapshot: Promise<unknown> = Promise.resolve();
  #snapshotCount = 0; // snapshots in progress or queued
  #lastRestore: Promise<unknown> = Promise.resolve();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  take(): Promise<Uint8Array> {
    this.#snapshotCount += 1;
    const taking = this.#lastSnapshot
      .then(() => this.#take())
      .finally(() => {
        this.#snapshotCount -= 1;
      });
    this.#lastSnapshot = taking.catch(() => {});
    return taking;
  }

  // Returns a promise that settles when no snapshot is in progress; undefined if none is.
  get whenSnapshotsEnd(): Promise<unknown> | undefined {
    return this.#snapshotCount === 0 ? undefined : this.#lastSnapshot;
  }

  // Restores a snapshot. `call` is the id of a call that may be sent twice (RestoreCallOptions). It
  // is applied once if it replaces the content.
  restore(
    source: SnapshotSource,
    mode: RestoreMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const restoring = this.#lastRestore.then(() => this.#restore(source, mode, call));
    this.#lastRestore = restoring.catch(() => {});
    return restoring;
  }

  async #take(): Promise<Uint8Array> {
    const { engine, parts } = this.#options;
    const next = () => engine.nextSnapshotChunk();
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    engine.beginSnapshot();
    try {
      for (;;) {
        let chunk = next();
        if (chunk instanceof PartsNeeded) chunk = await parts.loadAndRetry(chunk, next, "steps");
        if (chunk === undefined) return await concatChunks(chunks);
        chunks.push(chunk);
        await yieldToEventLoop();
      }
    } finally {
      ignoringErrors(() => engine.endSnapshot());
    }
  }

  async #restore(
    source: SnapshotSource,
    mode: RestoreMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const { engine, queue, replace } = this.#options;
    await engine.loadDeferredModule();
    engine.beginRestore();
    try {
      for await (const chunk of smallChunksFrom(source)) engine.restoreChunk(chunk);
      const report = engine.finishRestoreInput();
      if (mode === "replace") await queue.runExclusively(() => replace(call));
      else await this.#merge();
      return report;
    } finally {
      ignoringErrors(() => engine.endRestore());
    }
  }

  async #merge(): Promise<void> {
    const { engine, queue, now } = this.#options;
    let more = true;
    let rejected: unknown;
    while (more) {
      await queue.stageAsOwnGroup(() => {
        try {
          const staged = engine.stageRestoredRows(now());
          if (staged instanceof PartsNeeded) return staged;
          more = staged;
        } catch (error) {
          // Only the snapshot is damaged, so the store itself stays usable.
          if (!(error instanceof StoreError && error.code === "Corrupted")) throw error;
          rejected = error;
          more = false;
        }
        return more;
      });
      await yieldToEventLoop();
    }
    if (rejected !== undefined) throw rejected;
  }
}

// Runs `end` and ignores its errors, because the engine may already be closed or broken.
function ignoringErrors(end: () => void): void {
  try {
    end();
  } catch {
    // A closed or broken engine has already released everything.
  }
}
