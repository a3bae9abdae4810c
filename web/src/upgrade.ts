// The version of a store's data (openStore's options `version` and `upgrade`).
//
// The version is a row of the table `EntitableVersion`. It is written after upgrade() has resolved
// and everything that it wrote is stored. After a crash before that, the next open runs upgrade()
// again.
//
// Tabs coordinate by a Web Lock. A tab holds it shared while it has the store open. upgrade() runs
// with the lock held exclusively, so it runs once, while no other tab has the store open. Tabs with
// an older version release the lock: they are told over a BroadcastChannel, and close their store.

import type { AbortError, StoreError } from "./errors.ts";
import type { StoreHandle } from "./store.ts";
import type { broadcastChannelFactory } from "./tabs/channel.ts";
import type { Host } from "./transport.ts";
import type { AbortSignalLike, OpenOptions, Store } from "./types.ts";

const versionTable = "EntitableVersion";
const versionKey = ["store", "version"] as const;

// What this module uses of the package. It is passed in, so that a bundler that splits code by
// importers puts nothing of it into a file of its own.
export interface Dependencies {
  readonly AbortError: typeof AbortError;
  readonly StoreError: typeof StoreError;
  readonly broadcastChannelFactory: typeof broadcastChannelFactory;
}

export interface VersionOptions extends Dependencies {
  readonly name: string;
  readonly version: number;
  readonly upgrade: OpenOptions["upgrade"];
  readonly readOnly: boolean;
  readonly signal: AbortSignalLike | undefined;
  readonly locks: LockManager | undefined; // undefined: no other tab can have the store open
  readonly waitMs: number; // how long to wait for other tabs to close the store
}

/**
 * Brings the store of `host` to the version, and returns its handle, which `createHandle` creates.
 * Rejects with VersionConflict if the stored version is newer, with StoreLocked if an older tab
 * does not close the store, and with the error of upgrade(). The caller then closes the host.
 */
export async function openVersion(
  host: Host,
  createHandle: (host: Host) => StoreHandle,
  options: VersionOptions,
): Promise<StoreHandle> {
  const versioned = new VersionedHost(host);
  const store = createHandle(versioned);
  const lock = new VersionLock(options);
  const channel = options.broadcastChannelFactory()?.(lock.name, (message) => {
    if (typeof message === "number" && message > options.version) {
      void versioned.end(newerVersionError(options, message));
    }
  });
  versioned.onClose = () => {
    lock.release();
    channel?.close();
  };
  try {
    await lock.acquire("shared");
    while ((await storedVersion(store)) < options.version) {
      lock.release();
      channel?.post(options.version);
      await lock.acquire("exclusive", () => channel?.post(options.version));
      await upgradeTo(store, options);
      lock.release();
      await lock.acquire("shared");
    }
    const stored = await storedVersion(store);
    if (stored > options.version) throw newerVersionError(options, stored);
    return store;
  } catch (error) {
    versioned.onClose();
    throw error;
  }
}

async function storedVersion(store: Store): Promise<number> {
  try {
    const row = await store.table<{ version: number }>(versionTable).getEntity(...versionKey);
    return row.version;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return 0;
    throw error;
  }
}

// Another tab may have upgraded the store while this one waited for the lock.
async function upgradeTo(store: Store, options: VersionOptions): Promise<void> {
  const { version, upgrade } = options;
  const oldVersion = await storedVersion(store);
  if (oldVersion >= version) return;
  if (options.readOnly) {
    const message = `The store "${options.name}" has version ${oldVersion}, not ${version}.`;
    throw new options.StoreError("VersionConflict", message, {
      hint: "Open it once without readOnly, so that it can be upgraded.",
    });
  }
  await upgrade?.({ store, oldVersion, newVersion: version });
  await store.flush();
  const table = store.table<{ version: number }>(versionTable, { durability: "strict" });
  await table.createTable();
  const [partitionKey, rowKey] = versionKey;
  await table.upsertEntity({ partitionKey, rowKey, version });
}

function newerVersionError(options: VersionOptions, stored: number): StoreError {
  const { name, version, StoreError } = options;
  const message = `The data of the store "${name}" has version ${stored}, but this tab needs version ${version}.`;
  return new StoreError("VersionConflict", message, {
    hint: "Reload the page, so that it runs the code of the newer version.",
  });
}

// The Web Lock of a store's version, which one tab holds exclusively or several hold shared.
class VersionLock {
  readonly name: string;
  readonly #options: VersionOptions;
  #release = () => {};

  constructor(options: VersionOptions) {
    this.name = `entitable/${options.name}/version`;
    this.#options = options;
  }

  // Calls `remind` repeatedly while it waits: a tab may have opened the store since the last call.
  acquire(mode: "shared" | "exclusive", remind = () => {}): Promise<void> {
    const { locks, signal, waitMs, name, AbortError } = this.#options;
    if (locks === undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = new AbortController();
      let reason: Error | undefined;
      let isSettled = false;
      const cancel = (error: Error) => {
        reason = error;
        waiting.abort();
      };
      const reminder = setInterval(remind, waitMs / 10);
      // Tabs that have the store open must close it in time. An upgrade in another tab may take any
      // time.
      const onLate = async () => {
        const isAwaitingUpgrade = await isUpgrading(locks, this.name);
        if (isSettled) return;
        if (isAwaitingUpgrade) timer = setTimeout(onLate, waitMs);
        else cancel(openInOlderTabError(name, this.#options));
      };
      let timer = mode === "exclusive" ? setTimeout(onLate, waitMs) : undefined;
      const onAbort = () => cancel(new AbortError());
      signal?.addEventListener("abort", onAbort);
      const settled = () => {
        isSettled = true;
        clearInterval(reminder);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const onGranted = () => {
        settled();
        return new Promise<void>((release) => {
          this.#release = release;
          resolve();
        });
      };
      locks.request(this.name, { mode, signal: waiting.signal }, onGranted).catch((error) => {
        settled();
        reject(reason ?? error);
      });
    });
  }

  // Releases the lock; may be called again.
  release(): void {
    this.#release();
  }
}

// Whether a tab holds the lock of a store's version exclusively.
async function isUpgrading(locks: LockManager, lockName: string): Promise<boolean> {
  const { held = [] } = await locks.query();
  return held.some(({ name, mode }) => name === lockName && mode === "exclusive");
}

function openInOlderTabError(name: string, { StoreError }: Dependencies): StoreError {
  const message = `The store "${name}" must be upgraded, but is open in another tab.`;
  return new StoreError("StoreLocked", message, { hint: "Close or reload the other tabs." });
}

// Forwards calls to a host. If the data gets a newer version, calls throw VersionConflict instead.
class VersionedHost implements Host {
  readonly #host: Host;
  #error: StoreError | undefined;
  onClose = () => {};

  constructor(host: Host) {
    this.#host = host;
  }

  // Closes the host; later calls throw the error. If writes could not be stored, the host has
  // emitted "persist-error".
  async end(error: StoreError): Promise<void> {
    if (this.#error !== undefined) return;
    this.#error = error;
    await this.close().catch(() => {});
  }

  get #checked(): Host {
    if (this.#error !== undefined) throw this.#error;
    return this.#host;
  }

  get status() {
    return this.#host.status;
  }
  get allowsReadBatching(): boolean {
    return this.#host.allowsReadBatching === true;
  }

  read: Host["read"] = (...call) => this.#checked.read(...call);
  write: Host["write"] = (...call) => this.#checked.write(...call);
  readHttp: Host["readHttp"] = (...call) => this.#checked.readHttp(...call);
  runBeforeNextChange = (reads: () => void) => this.#host.runBeforeNextChange?.(reads);
  now = () => this.#host.now();
  listen: Host["listen"] = (listener) => this.#checked.listen(listener);
  get readerLocks(): Host["readerLocks"] {
    return this.#host.readerLocks;
  }
  flush = async () => await this.#checked.flush();
  stats = async () => await this.#checked.stats();
  verify = async () => await this.#checked.verify();
  compact = async () => await this.#checked.compact();
  async *snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield* this.#checked.snapshotChunks();
  }
  restore: Host["restore"] = async (...call) => await this.#checked.restore(...call);
  on: Host["on"] = (event, listener) => this.#host.on(event, listener);
  startSync = async () => (await this.#checked.startSync?.()) as object;

  async close(): Promise<void> {
    try {
      await this.#host.close();
    } finally {
      this.onClose();
    }
  }
}
