// Opens a store in the current page, worker or Node process. This file connects the wasm module,
// the storage and the host.

import { AbortError, StoreError } from "../errors.ts";
import { acquireOwnership } from "../host/exclusive-lock.ts";
import {
  damageMessage,
  LocalHost,
  type LocalHostOptions,
  type LogOwnership,
  readOnlyError,
} from "../host/local-host.ts";
import { noPageLifecycle } from "../host/page-lifecycle.ts";
import { QuotaWatch } from "../host/quota-watch.ts";
import { loadHmac } from "../rest/account.ts";
import { type LogStorage, StorageError } from "../storage/log-storage.ts";
import { MemoryStorage } from "../storage/memory.ts";
import { broadcastChannelFactory } from "../tabs/channel.ts";
import { SharedHost, type SharedHostOptions } from "../tabs/shared-host.ts";
import type { Host } from "../transport.ts";
import type { StoreWarning } from "../types.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { createEngine, type DeferredModuleName, type Engine } from "../wasm/engine.ts";
import { prefetchModule } from "../wasm/module.ts";
import {
  isPersisted,
  loadFileStores,
  locks,
  lockWaitMs,
  type PageServices,
  persistenceUnavailableError,
} from "./environment.ts";
import type { Settings } from "./options.ts";
import { closeWhenOpened, Preconnect } from "./preconnect.ts";

const ownerSilenceMs = 5000; // an owner that does not answer for this long counts as frozen
const openAttemptsMax = 5;

// Opens the store's host. Rejects like openStore().
export async function openHost(settings: Settings, pageServices: PageServices): Promise<Host> {
  if (settings.persistence === "memory") return await openInMemory(settings);
  if (settings.persistence === "file") return await openInFiles(settings);
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined) {
    const missing = persistenceUnavailableError("IndexedDB is not available here.");
    if (settings.persistence === "indexeddb") throw missing;
    return await openInMemory(settings, { instead: missing });
  }
  try {
    return await openInIndexedDb(settings, factory, pageServices);
  } catch (error) {
    // Falls back to memory only if the browser forbids IndexedDB. If IndexedDB failed for another
    // reason, data may exist, and an empty store in memory would look as if that data were lost.
    if (settings.persistence === "auto" && isForbidden(error)) {
      return await openInMemory(settings, { instead: error });
    }
    throw error;
  }
}

// Opens a store in memory. `instead`: why it replaces a persistent store, which is reported as a
// warning. `preload`: the deferred wasm modules to load at once.
export async function openInMemory(
  settings: Settings,
  { instead, preload }: { instead?: StoreError; preload?: readonly DeferredModuleName[] } = {},
): Promise<LocalHost> {
  const engine = await startEngine(settings, preload);
  const host = await LocalHost.open({
    ...settings,
    memoryLimit: 0, // no limit: unloaded parts could not be read again
    engine,
    storage: new MemoryStorage(),
    persistence: "memory",
    ownership: { release() {} },
    persisted: false,
    lifecycle: noPageLifecycle,
  });
  if (instead !== undefined) {
    const message =
      `${instead.message} The store "${settings.name}" is in memory only, and is lost with this ` +
      'page. If this is intended, open it with persistence: "memory".';
    settings.onWarning({ code: "PersistenceUnavailable", message });
  }
  return host;
}

async function openInIndexedDb(
  settings: Settings,
  factory: IDBFactory,
  { lifecycle, persist, estimate, lastSeenMarker }: PageServices,
): Promise<Host> {
  const { name, requestPersistence: request } = settings;
  const preconnect = new Preconnect({
    store: name,
    factory,
    startEngine: () => startEngine(settings),
  });
  const canStartEarly = prefetchModule(settings.wasm);
  let host: SharedHost | LocalHost | undefined;
  let persisting: Promise<boolean> | undefined;
  const requestPersistentStorage = () =>
    void persist().then((granted) => {
      if (granted) host?.setPersisted();
    });
  const quota = new QuotaWatch({ estimate, onNearlyFull: (event) => host?.emitQuota(event) });
  const requestOnFirstWrite = request === "on-first-write" ? requestPersistentStorage : undefined;
  const open = async (logOwnership?: LogOwnership, ownership = { release() {} }) =>
    openLog(settings, preconnect, {
      readOnly: logOwnership === undefined && settings.readOnly,
      persisted: (await persisting) ?? false,
      onFirstWrite: requestOnFirstWrite,
      logOwnership,
      ownership,
      lifecycle,
      marker: lastSeenMarker(name),
      onCheckpoint: () => void quota.check(),
      estimate,
    });
  const shared = { locks: locks(), channels: broadcastChannelFactory() };
  try {
    let opening: Promise<SharedHost | LocalHost>;
    if (shared.locks !== undefined && shared.channels !== undefined) {
      const { locks, channels } = shared;
      opening = openShared(settings, { locks, channels, lifecycle, open });
    } else {
      opening = acquireOwnership(name, {
        ...shared,
        waitMs: lockWaitMs,
        signal: settings.signal,
      }).then((ownership) => open(undefined, ownership));
    }
    // after requesting the lock, because the lock takes longest
    if (canStartEarly) preconnect.start();
    persisting = isPersisted();
    host = await opening;
  } finally {
    preconnect.discard(); // has an effect if another tab is the owner, or if opening failed
  }
  host.on("quota", (event) => quota.noteReported(event));
  // later, so that the caller can first add listeners
  void yieldToEventLoop().then(() => quota.check());
  if (request === "on-open") requestPersistentStorage();
  else if (!(await persisting)) warnStorageNotPersisted(settings.onWarning);
  warnDamaged(host, settings);
  return host;
}

async function openShared(
  settings: Settings,
  {
    open,
    ...environment
  }: Pick<SharedHostOptions, "locks" | "channels" | "lifecycle"> & { open: OpenLog },
): Promise<SharedHost> {
  const { name, tabs, account, durability, clock, signal, readOnly } = settings;
  return await SharedHost.open({
    name,
    exclusive: tabs === "exclusive",
    account: JSON.stringify(account),
    durability,
    clock,
    writeError: readOnly ? readOnlyError(name) : undefined,
    ...environment,
    waitMs: lockWaitMs,
    ownerTimeoutMs: ownerSilenceMs,
    signal,
    openLocal: (logOwnership) => open(logOwnership),
  });
}

type OpenLog = (logOwnership?: LogOwnership) => Promise<LocalHost>;

// Opens an engine on the log in IndexedDB. If the previous owner resumes and writes while the log
// is read, this owner's claim is rejected (storage/FENCING.md). The log is then read again.
async function openLog(
  settings: Settings,
  preconnect: Preconnect,
  hostOptions: Pick<
    LocalHostOptions,
    | "readOnly"
    | "persisted"
    | "onFirstWrite"
    | "logOwnership"
    | "ownership"
    | "lifecycle"
    | "marker"
    | "onCheckpoint"
    | "estimate"
  >,
): Promise<LocalHost> {
  const { signal } = settings;
  for (let attempt = 1; ; ++attempt) {
    let host: LocalHost | undefined;
    let engine: Engine | undefined;
    let storage: LogStorage | undefined;
    try {
      [engine, storage] = await preconnect.openEngineAndStorage(() => host?.emitReopened());
      if (signal?.aborted) throw new AbortError();
      const persistence = "indexeddb";
      host = await LocalHost.open({ ...settings, ...hostOptions, engine, storage, persistence });
      return host;
    } catch (error) {
      await storage?.close();
      engine?.close();
      const again = error instanceof StorageError && error.failure === "fenced";
      const isStillOwner = hostOptions.logOwnership?.isOwner() !== false;
      if (!again || !isStillOwner || attempt === openAttemptsMax) {
        hostOptions.ownership.release();
        throw error;
      }
    }
  }
}

async function openInFiles(settings: Settings): Promise<LocalHost> {
  const { name, path = "", signal } = settings;
  const loading = startEngine(settings); // in parallel with opening the files
  loading.catch(() => {});
  const { openFileStore, estimateFileSystem } = await loadFileStores();
  const { storage, lock } = await openFileStore({ path, name, waitMs: lockWaitMs, signal }).catch(
    async (error: unknown) => {
      await closeWhenOpened(loading);
      throw error;
    },
  );
  let engine: Engine | undefined;
  try {
    engine = await loading;
    if (signal?.aborted) throw new AbortError();
  } catch (error) {
    await storage.close();
    engine?.close();
    lock.release();
    throw error;
  }
  const files = { storage, persistence: "file", ownership: lock, persisted: true } as const;
  const lifecycle = noPageLifecycle;
  const estimate = () => estimateFileSystem(path);
  const host = await LocalHost.open({ ...settings, ...files, lifecycle, engine, estimate });
  warnDamaged(host, settings);
  return host;
}

function warnDamaged({ status }: Host, { name, onWarning }: Settings): void {
  if (status.damage.length === 0) return;
  onWarning({ code: "Damaged", message: damageMessage(name, status.damage) });
}

async function startEngine(
  { wasm, deferredModuleUrls, account, memoryLimit }: Settings,
  preload: readonly DeferredModuleName[] = [],
): Promise<Engine> {
  const hmac = account.authorize ? await loadHmac() : undefined;
  const reusedBytesMax = memoryLimit === 0 ? Number.POSITIVE_INFINITY : 2 * memoryLimit;
  const engine = await createEngine({
    wasm,
    deferredModuleUrls,
    preload,
    reusedBytesMax,
  });
  engine.configureAccount(account, hmac);
  return engine;
}

function isForbidden(error: unknown): error is StoreError {
  if (!(error instanceof StoreError && error.code === "PersistenceUnavailable")) return false;
  const name = (error.cause as { name?: string } | undefined)?.name;
  return name === "SecurityError" || name === "InvalidStateError";
}

function warnStorageNotPersisted(onWarning: (warning: StoreWarning) => void): void {
  const message =
    "The browser may delete this origin's data when space runs out. " +
    "Use the option requestPersistence to request persistent storage.";
  onWarning({ code: "StorageNotPersisted", message });
}
