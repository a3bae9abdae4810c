// What the code of sync uses of the owner of a store: reads of synced tables, and commits between
// the writes of clients. Only the owner syncs, so what sync remembers has one writer. Loaded by
// LocalHost.startSync().

import type { RestError, StoreError } from "../errors.ts";
import type { StorageError } from "../storage/log-storage.ts";
import type { yieldToEventLoop } from "../util/event-loop.ts";
import type { Engine, PartsNeeded } from "../wasm/engine.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { PartLoader } from "./part-loader.ts";

// What a page has loaded anyway (StoreHandle.import() explains why it is passed).
export interface SyncEnvironment {
  readonly PartsNeeded: typeof PartsNeeded;
  readonly RestError: typeof RestError;
  readonly StorageError: typeof StorageError;
  readonly StoreError: typeof StoreError;
  readonly yieldToEventLoop: typeof yieldToEventLoop;
}

export interface SyncHostOptions {
  engine: Pick<
    Engine,
    | "loadDeferredModule"
    | "enableSync"
    | "setSynced"
    | "readSynced"
    | "applySynced"
    | "matchesFilter"
    | "lastCommit"
    | "onCommit"
  >;
  queue: Pick<CommitQueue, "stageTask" | "runExclusively" | "flush">;
  parts: Pick<PartLoader, "loadAndRetry">;
  now: () => number;
  requireOpen: () => void; // throws once the store closes
}

/** What a task staged. */
export interface StagedCommit {
  readonly changes: boolean; // false: there is no commit
  readonly bytes: number; // the size of its messages
  /** It is stored with strict durability, and with it all commits before it. */
  readonly isStrict?: boolean;
}

const noResponse = new Uint8Array();
const largeCommitBytes = 100_000;

export class SyncHost {
  readonly #options: SyncHostOptions;
  readonly #environment: SyncEnvironment;
  #enabling: Promise<void> | undefined;
  #lastCommit = Promise.resolve();
  readonly #watchers = new Set<() => void>();

  constructor(options: SyncHostOptions, environment: SyncEnvironment) {
    this.#options = options;
    this.#environment = environment;
  }

  get engine(): SyncHostOptions["engine"] {
    return this.#options.engine;
  }

  // Loads the code of sync in the engine. Rejects like Engine.loadDeferredModule().
  enable(): Promise<void> {
    this.#enabling ??= this.#enable().catch((error) => {
      this.#enabling = undefined;
      throw error;
    });
    return this.#enabling;
  }

  async #enable(): Promise<void> {
    const { engine, queue } = this.#options;
    await engine.loadDeferredModule("sync");
    await queue.runExclusively(async () => engine.enableSync());
  }

  // Calls the listener after commits, once for those of one turn of the event loop, also for those
  // that this host makes. Returns a function that ends this.
  watchCommits(listener: () => void): () => void {
    const { engine } = this.#options;
    this.#watchers.add(listener);
    engine.onCommit ??= this.#commitWatch();
    return () => {
      this.#watchers.delete(listener);
      if (this.#watchers.size === 0) engine.onCommit = undefined;
    };
  }

  #commitWatch(): () => void {
    let isWaiting = false;
    return () => {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        for (const listener of [...this.#watchers]) listener();
      });
    };
  }

  // Begins or ends syncing a table (Engine.setSynced). Rejects with the store's reason if it
  // refuses.
  async setSynced(table: string, how: "begin" | "end" | "discard"): Promise<void> {
    await this.commit((publishes, nowMs) => {
      const needed = this.#setSynced(table, how, publishes, nowMs);
      return needed ?? { changes: true, bytes: table.length };
    });
  }

  // The core's texts are those of the service, which does not know synced tables. Ours are here,
  // because the core is loaded by all pages.
  #setSynced(...call: Parameters<Engine["setSynced"]>): PartsNeeded | undefined {
    const { RestError, StoreError } = this.#environment;
    try {
      return this.#options.engine.setSynced(...call);
    } catch (error) {
      if (error instanceof RestError && error.code === "TableAlreadyExists")
        throw new RestError("The table is synced already.", { statusCode: 409, code: error.code });
      if (!(error instanceof StoreError && error.code === "ValidationFailed")) throw error;
      const message = "The table has rows. Only an empty table can begin to sync.";
      const hint = "Sync a new table, then write the rows of this one into it.";
      throw new StoreError(error.code, message, { hint });
    }
  }

  // Calls `look` with the published version, and again after parts that it needs are loaded.
  async read<T>(look: () => T | PartsNeeded): Promise<T> {
    const { parts, requireOpen } = this.#options;
    const { PartsNeeded } = this.#environment;
    const lookIfOpen = () => {
      requireOpen();
      return look();
    };
    const result = lookIfOpen();
    return result instanceof PartsNeeded ? await parts.loadAndRetry(result, lookIfOpen) : result;
  }

  // Makes one commit, which follows the published version. `stage` stages it, and publishes it if
  // `publishes`; it may be called again after parts that it needs are loaded. Resolves when the
  // commit is published, or if there is nothing to change, to what `stage` returned. Rejects if the
  // commit was refused, with what `stage` throws, or like a deferred write. Several pages of a
  // table often wait until something is stored: each is committed in a turn of its own.
  commit<T extends StagedCommit>(
    stage: (publishes: boolean, nowMs: number) => T | PartsNeeded,
  ): Promise<T> {
    const made = this.#lastCommit.then(() => this.#commit(stage));
    this.#lastCommit = made.then(
      ({ bytes }) => (bytes >= largeCommitBytes ? this.#environment.yieldToEventLoop() : undefined),
      () => {},
    );
    return made;
  }

  async #commit<T extends StagedCommit>(
    stage: (publishes: boolean, nowMs: number) => T | PartsNeeded,
  ): Promise<T> {
    const { queue, now, requireOpen } = this.#options;
    const { PartsNeeded } = this.#environment;
    requireOpen();
    const last: { staged: T | undefined; refusal: { error: unknown } | undefined } = {
      staged: undefined,
      refusal: undefined,
    };
    await queue.stageTask({
      durability: "deferred",
      stage: (how) => {
        last.staged = last.refusal = undefined;
        try {
          const staged = stage(how === "stageAndPublish", now());
          if (staged instanceof PartsNeeded) return staged;
          last.staged = staged;
        } catch (error) {
          // The queue stops after an error that it does not know.
          if (isOfStore(error, this.#environment)) throw error;
          last.refusal = { error };
        }
        const changes = last.staged?.changes === true;
        return { responses: [noResponse], failed: [!changes], onlyDeletes: [false], changes };
      },
      taskBytes: () => last.staged?.bytes ?? 0,
      isStrict: () => last.staged?.isStrict === true,
    });
    if (last.refusal !== undefined) throw last.refusal.error;
    return last.staged as T;
  }

  // Resolves when all commits so far are stored. Those up to the last strict one then survive a
  // power failure.
  async stored(): Promise<void> {
    this.#options.requireOpen();
    await this.#options.queue.flush("relaxed");
  }
}

// Whether the engine or the storage failed. Otherwise the engine refused the commit, or the code
// that decides about it has failed.
function isOfStore(
  error: unknown,
  { RestError, StorageError, StoreError }: SyncEnvironment,
): boolean {
  if (error instanceof StoreError) return error.code !== "ValidationFailed";
  return (
    error instanceof StorageError ||
    (error instanceof RestError && (error.statusCode ?? 500) >= 500)
  );
}
