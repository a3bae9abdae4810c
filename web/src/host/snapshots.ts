// The content of a store out as one file, and back in: read wholly before anything changes, then in one step in the place of what is there
// (core/store/store.h, "replace"), or group by group into it.

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
    | "restore"
    | "finishRestore"
    | "stageMerge"
    | "endRestore"
  >;
  queue: Pick<CommitQueue, "runExclusively" | "stageAsOwnGroup">;
  parts: Pick<PartLoader, "loadAndRetry">;
  replace: (call: Uint8Array | undefined) => Promise<void>; // stores what was restored; runs while nothing else is written
  now: () => number;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  #lastSnapshot: Promise<unknown> = Promise.resolve();
  #snapshotCount = 0; // being taken, or waiting for that
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

  // When no snapshot is being taken; undefined: now.
  get inProgress(): Promise<unknown> | undefined {
    return this.#snapshotCount === 0 ? undefined : this.#lastSnapshot;
  }

  // `call`: of the writer in another tab, so that it is not done twice.
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
        if (chunk instanceof PartsNeeded) chunk = await parts.loadAndRetry(chunk, next);
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
      for await (const chunk of smallChunksFrom(source)) engine.restore(chunk);
      const report = engine.finishRestore();
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
          const staged = engine.stageMerge(now());
          if (staged instanceof PartsNeeded) return staged;
          more = staged;
        } catch (error) {
          // The store goes on without it.
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

// The engine may be closed, or broken, by now.
function ignoringErrors(end: () => void): void {
  try {
    end();
  } catch {
    // What it held is gone with it.
  }
}
