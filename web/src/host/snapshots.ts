// Takes and restores snapshots: the content of a store as one file. A restore reads the whole file
// before the store's content changes. It stores the file's rows as they arrive, as parts that no
// manifest names (core/store/restore.h). Then it either replaces the store's content in one step,
// or merges the rows group by group.

import { StoreError, serviceError } from "../errors.ts";
import type { ChunkedFile, RestoreCallMode } from "../transport.ts";
import type { RestoreReport } from "../types.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { damagedError, type PartLoader } from "./part-loader.ts";

export interface SnapshotsOptions {
  engine: Pick<
    Engine,
    | "loadDeferredModule"
    | "beginSnapshot"
    | "nextSnapshotChunk"
    | "endSnapshot"
    | "damage"
    | "stats"
    | "beginRestore"
    | "restoreChunk"
    | "nextRestoredPart"
    | "finishRestoreInput"
    | "stageRestoredRows"
    | "endRestore"
    | "hasSyncedTables"
    | "hasPendingOperations"
  >;
  queue: Pick<CommitQueue, "runExclusively" | "stageAsOwnGroup">;
  parts: Pick<PartLoader, "loadAndRetry" | "whenResumed">;
  // Stores a part of a file that is being restored, and deletes such parts.
  putPart: (id: number, bytes: Uint8Array) => Promise<void>;
  deleteParts: (ids: readonly number[]) => Promise<void>;
  // Makes the restored data the store's content. Called while nothing else is written.
  replace: (call: Uint8Array | undefined) => Promise<void>;
  now: () => number;
}

function requireNoTables(engine: Pick<Engine, "stats">): void {
  if (engine.stats().tables.length === 0) return;
  throw serviceError(409, "TableAlreadyExists", "The store has tables.");
}

// Says of an error that the file is damaged, and not the store.
function snapshotError(error: unknown): unknown {
  if (!(error instanceof StoreError && error.code === "Corrupted")) return error;
  const hint = "Choose a file that snapshot() wrote. The store is unchanged.";
  return new StoreError("Corrupted", error.message, { hint, cause: error });
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  #lastRestore: Promise<unknown> = Promise.resolve();
  #stopError: Error | undefined; // every restore rejects with it, once the store closes
  #stopReading: (error: Error) => void = () => {}; // rejects the chunk that a restore waits for

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  // Yields the store's content at the time of the first call of next(), as a file. Holds one chunk
  // at a time. While a restore is about to replace the content, waits for that.
  async *chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const { engine, parts } = this.#options;
    // The old parts may already be marked for deletion.
    while (parts.whenResumed !== undefined) await parts.whenResumed;
    const snapshot = engine.beginSnapshot();
    const before = engine.damage().length;
    // A read may find damage meanwhile. The rows then missing are counted in the file's header.
    const next = () => {
      const [found] = engine.damage().slice(before);
      if (found === undefined) return engine.nextSnapshotChunk(snapshot);
      throw damagedError(found);
    };
    try {
      for (;;) {
        let chunk = next();
        if (chunk instanceof PartsNeeded) chunk = await parts.loadAndRetry(chunk, next, "steps");
        if (chunk === undefined) return;
        yield chunk;
        await yieldToEventLoop();
      }
    } finally {
      ignoringErrors(() => engine.endSnapshot(snapshot));
    }
  }

  // Restores a snapshot. `call` is the id of a call that may be sent twice (RestoreCallOptions). It
  // is applied once if it replaces the content.
  restore(
    file: ChunkedFile,
    mode: RestoreCallMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const restoring = this.#lastRestore.then(() => this.#restore(file, mode, call));
    this.#lastRestore = restoring.catch(() => {});
    return restoring;
  }

  // Rejects restores that read their files, or have not begun, and cancels the sources. Their parts
  // stay, because another owner may already write; they are deleted when the store opens again.
  stop(error: Error): void {
    this.#stopError ??= error;
    this.#stopReading(error);
  }

  async #restore(
    file: ChunkedFile,
    mode: RestoreCallMode,
    call: Uint8Array | undefined,
  ): Promise<RestoreReport> {
    const { engine, queue, replace, deleteParts } = this.#options;
    await engine.loadDeferredModule("rest"); // checks the file's service properties
    await engine.loadDeferredModule("snapshot");
    if (this.#stopError !== undefined) throw this.#stopError;
    const isSeed = typeof mode === "object";
    engine.beginRestore(isSeed ? mode.synced : []);
    try {
      const report = await this.#storeParts(file);
      if (mode === "merge") await this.#merge();
      else
        await queue.runExclusively(async () => {
          if (isSeed) requireNoTables(engine);
          await this.#requireNoPendingOperations();
          await replace(call);
        });
      return report;
    } finally {
      const unused = ignoringErrors(() => engine.endRestore());
      if (unused !== undefined && this.#stopError === undefined) await deleteParts(unused);
    }
  }

  // Rejects if the remote of a synced table does not have all local writes: the restore would end
  // syncing, and lose them.
  async #requireNoPendingOperations(): Promise<void> {
    const { engine, parts } = this.#options;
    if (!engine.hasSyncedTables) return;
    const ask = () => engine.hasPendingOperations();
    let pending = ask();
    if (pending instanceof PartsNeeded) pending = await parts.loadAndRetry(pending, ask);
    if (!pending) return;
    const message =
      "A synced table has changes that its remote table does not have yet. They would be lost.";
    const hint =
      "Restore with mode merge, or wait until they are pushed, or stop syncing the table and " +
      "discard them.";
    throw serviceError(409, "TableHasPendingOperations", message, hint);
  }

  // Reads and checks the whole file, and stores its parts.
  async #storeParts(file: ChunkedFile): Promise<RestoreReport> {
    const { engine, putPart } = this.#options;
    const chunks = file.chunks();
    try {
      for (;;) {
        const { done, value } = await this.#orStopped(chunks.next());
        if (done) return engine.finishRestoreInput();
        engine.restoreChunk(value);
        for (;;) {
          const part = engine.nextRestoredPart();
          if (part === undefined) break;
          await putPart(part.id, part.bytes);
        }
      }
    } catch (error) {
      throw snapshotError(error);
    } finally {
      file.cancel();
      chunks.return(undefined).catch(() => {});
    }
  }

  // Rejects when stop() is called, because the source may never supply another chunk.
  #orStopped<T>(next: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#stopReading = reject;
      if (this.#stopError !== undefined) reject(this.#stopError);
      next.then(resolve, reject);
    });
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

// Runs `end` and ignores its errors, because the engine may already be closed or broken. It has
// then released everything.
function ignoringErrors<T>(end: () => T): T | undefined {
  try {
    return end();
  } catch {
    return undefined;
  }
}
