// Opens, deletes and lists stores: the one place that wires module, storage, host and clients together, and that
// looks at the globals of its environment. Importing it looks at none.

import { AbortError, StoreError } from "./errors.ts";
import {
  LocalHost,
  type LocalHostOptions,
  type LogOwnership,
  readOnlyError,
} from "./host/local-host.ts";
import { own } from "./host/ownership.ts";
import { noPage, pageLife } from "./host/page-life.ts";
import { checkAccount, loadHmac } from "./rest/account.ts";
import { IdbfsStorage } from "./storage/idbfs.ts";
import { deleteDatabase, listDatabases, mountPoint } from "./storage/idbfs-database.ts";
import { type LogStorage, StorageError } from "./storage/log-storage.ts";
import { MemoryStorage } from "./storage/memory.ts";
import { StoreHandle } from "./store.ts";
import { broadcastChannels } from "./tabs/channel.ts";
import { SharedHost, type SharedHostOptions } from "./tabs/shared-host.ts";
import type { Host } from "./transport.ts";
import type {
  OpenOptions,
  Persistence,
  Store,
  StoreInfo,
  StoreLocation,
  StoreWarning,
} from "./types.ts";
import { createEngine, type Engine } from "./wasm/engine.ts";

const lockWaitMs = 3000; // a reloaded page, or a restarted process, meets the lock of the one before it
const ownerSilenceMs = 5000; // of a tab that is frozen or hangs
const deferredDelayMaxMs = 1000;
const openAttemptsMax = 5;

/**
 * Opens a store, making it if need be. Rejects with StoreError: ValidationFailed (an option), PersistenceUnavailable,
 * StoreLocked (open in another tab or process), FormatTooNew (stored by a newer version), WasmLoadFailed, WasmVersionMismatch; or
 * with AbortError.
 */
export async function openStore(options: OpenOptions = {}): Promise<Store> {
  const settings = check(options);
  if (options.signal?.aborted) throw new AbortError();
  if (settings.persistence === "memory") return await openInMemory(settings);
  if (settings.persistence === "file") return await openInFiles(settings);
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined) {
    const missing = unavailable("There is no IndexedDB here.");
    if (settings.persistence === "indexeddb") throw missing;
    return await openInMemory(settings, missing);
  }
  try {
    return await openInIndexedDb(settings, factory);
  } catch (error) {
    // Only where the browser forbids IndexedDB altogether. If it merely fails, data may well be there, and an empty
    // store in memory would pass for its loss.
    if (settings.persistence === "auto" && isForbidden(error)) {
      return await openInMemory(settings, error);
    }
    throw error;
  }
}

/** Deletes a store and all that is in it, whether it exists or not. Rejects with StoreLocked if it is open. */
export async function deleteStore(name: string, options: StoreLocation = {}): Promise<void> {
  checkName(name);
  const path = checkLocation(options);
  if (path !== undefined) {
    const { deleteFileStore } = await fileStores();
    return await deleteFileStore({ path, name, waitMs: lockWaitMs });
  }
  const factory = databases(options.persistence);
  if (factory === undefined) return; // a store in memory ends with close()
  const ownership = await own(name, { locks: locks(), waitMs: lockWaitMs });
  try {
    await deleteDatabase(factory, mountPoint(name), lockWaitMs);
  } finally {
    ownership.release();
  }
}

/** The stores of this origin, or of a folder. Stores in memory are known to whoever opened them only. */
export async function listStores(options: StoreLocation = {}): Promise<StoreInfo[]> {
  const path = checkLocation(options);
  if (path !== undefined) {
    const { listFileStores } = await fileStores();
    return (await listFileStores(path)).map((name) => ({ name, persistence: "file" }));
  }
  const factory = databases(options.persistence);
  if (factory === undefined) return [];
  const names = await listDatabases(factory);
  return names.map((name) => ({ name, persistence: "indexeddb" }));
}

// ---- Opening ----------------------------------------------------------------------------------------------------------

type Settings = ReturnType<typeof check>;

async function openInMemory(settings: Settings, instead?: StoreError): Promise<Store> {
  const engine = await startEngine(settings);
  const host = await LocalHost.open({
    ...settings,
    engine,
    storage: new MemoryStorage(),
    persistence: "memory",
    ownership: { release() {} },
    persisted: false,
    life: noPage,
  });
  if (instead !== undefined) {
    const message = `${instead.message} The store is in memory and ends with this page.`;
    settings.onWarning({ code: "PersistenceUnavailable", message });
  }
  return new StoreHandle(settings.name, host);
}

async function openInIndexedDb(settings: Settings, factory: IDBFactory): Promise<Store> {
  const { name, requestPersistence: request } = settings;
  const persisted = await isPersisted();
  let host: SharedHost | LocalHost | undefined;
  const askFirst = request === "on-first-write" ? () => requestPersistence(host) : undefined;
  const open = (logOwnership?: LogOwnership, ownership = { release() {} }) =>
    openLog(settings, factory, {
      readOnly: logOwnership === undefined && settings.readOnly,
      persisted,
      onFirstWrite: askFirst,
      logOwnership,
      ownership,
    });
  const shared = { locks: locks(), channels: broadcastChannels() };
  if (shared.locks !== undefined && shared.channels !== undefined) {
    host = await openShared(settings, { locks: shared.locks, channels: shared.channels, open });
  } else {
    const ownership = await own(name, { ...shared, waitMs: lockWaitMs, signal: settings.signal });
    host = await open(undefined, ownership);
  }
  if (request === "on-open") requestPersistence(host);
  else if (!persisted) warnOfEviction(settings.onWarning);
  warnOfDamage(host, settings);
  return new StoreHandle(name, host);
}

async function openShared(
  settings: Settings,
  { locks, channels, open }: Pick<SharedHostOptions, "locks" | "channels"> & { open: OpenLog },
): Promise<SharedHost> {
  const { name, tabs, account, durability, clock, signal, readOnly } = settings;
  return await SharedHost.open({
    name,
    exclusive: tabs === "exclusive",
    account: JSON.stringify(account),
    durability,
    clock,
    refusal: readOnly ? readOnlyError(name) : undefined,
    locks,
    channels,
    life: pageLife(),
    waitMs: lockWaitMs,
    silenceMs: ownerSilenceMs,
    signal,
    openLocal: (logOwnership) => open(logOwnership),
  });
}

type OpenLog = (logOwnership?: LogOwnership) => Promise<LocalHost>;

// The engine over the log in IndexedDB. Whoever was given up and wakes may write while it is read; then it is read again.
async function openLog(
  settings: Settings,
  factory: IDBFactory,
  more: Pick<
    LocalHostOptions,
    "readOnly" | "persisted" | "onFirstWrite" | "logOwnership" | "ownership"
  >,
): Promise<LocalHost> {
  const { name, signal } = settings;
  for (let attempt = 1; ; ++attempt) {
    let host: LocalHost | undefined;
    let engine: Engine | undefined;
    let storage: LogStorage | undefined;
    try {
      engine = await startEngine(settings);
      storage = await connect(engine, name, factory, () => host?.reopened());
      if (signal?.aborted) throw new AbortError();
      const life = pageLife();
      const persistence = "indexeddb";
      host = await LocalHost.open({ ...settings, ...more, engine, storage, persistence, life });
      return host;
    } catch (error) {
      await storage?.close();
      engine?.close();
      const again = error instanceof StorageError && error.failure === "fenced";
      const wanted = more.logOwnership?.isOwner() !== false;
      if (!again || !wanted || attempt === openAttemptsMax) {
        more.ownership.release();
        throw error;
      }
    }
  }
}

async function openInFiles(settings: Settings): Promise<Store> {
  const { name, path = "", signal } = settings;
  const loading = startEngine(settings); // meanwhile
  loading.catch(() => {});
  const { openFileStore } = await fileStores();
  const { storage, lock } = await openFileStore({ path, name, waitMs: lockWaitMs, signal }).catch(
    async (error: unknown) => {
      await closeOf(loading);
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
  const kept = { storage, persistence: "file", ownership: lock, persisted: true } as const;
  const life = noPage;
  const host = await LocalHost.open({ ...settings, ...kept, life, engine });
  warnOfDamage(host, settings);
  return new StoreHandle(name, host);
}

// Loaded only when needed: pages have no files.
function fileStores(): Promise<typeof import("./storage/file-stores.ts")> {
  return import("./storage/file-stores.ts");
}

async function closeOf(loading: Promise<Engine>): Promise<void> {
  await loading.then((engine) => engine.close()).catch(() => {});
}

function warnOfDamage({ status }: Host, { name, onWarning }: Settings): void {
  const [damaged] = status.damage;
  if (damaged === undefined) return;
  const message = `Store "${name}" is damaged and read-only: ${damaged.file} ${damaged.message}`;
  onWarning({ code: "Damaged", message });
}

async function startEngine({ wasm, account }: Settings): Promise<Engine> {
  const hmac = account.authorize ? await loadHmac() : undefined;
  const engine = await createEngine({ wasm });
  engine.configure(account, hmac);
  return engine;
}

async function connect(
  engine: Engine,
  store: string,
  factory: IDBFactory,
  onReopened: () => void,
): Promise<LogStorage> {
  try {
    const connect = (mount: string) => engine.idbfs(mount);
    return await IdbfsStorage.open({ store, factory, connect, onReopened });
  } catch (cause) {
    throw cause instanceof StoreError
      ? cause
      : unavailable("IndexedDB could not be opened.", cause);
  }
}

// ---- Options ----------------------------------------------------------------------------------------------------------

function check(options: OpenOptions) {
  const {
    name = "default",
    persistence = "auto",
    durability = "strict",
    deferredDelayMs = 200,
    requestPersistence = "never",
    tabs = "shared",
  } = options;
  checkName(name);
  const path = checkLocation({ ...options, persistence });
  oneOf("durability", durability, ["strict", "relaxed", "deferred"]);
  oneOf("tabs", tabs, ["shared", "exclusive"]);
  oneOf("requestPersistence", requestPersistence, ["never", "on-open", "on-first-write"]);
  if (!(deferredDelayMs >= 0 && deferredDelayMs <= deferredDelayMaxMs)) {
    throw invalid(`deferredDelayMs must be from 0 to ${deferredDelayMaxMs}.`);
  }
  return {
    name,
    persistence,
    path,
    durability,
    deferredDelayMs,
    requestPersistence,
    tabs,
    wasm: options.wasm,
    clock: options.clock ?? { now: () => Date.now() },
    account: checkAccount(options.account ?? {}, name),
    readOnly: options.readOnly ?? false,
    signal: options.signal,
    onWarning: undisturbed(options.onWarning ?? (() => {})),
  };
}

// A listener that throws does not keep a store from opening or closing: its error is reported as an unhandled rejection,
// like those of events (host/emitter.ts).
function undisturbed(onWarning: (warning: StoreWarning) => void): (warning: StoreWarning) => void {
  return (warning) => {
    try {
      onWarning(warning);
    } catch (error) {
      void Promise.reject(error);
    }
  };
}

// The name becomes that of a folder, a database and a lock.
function checkName(name: string): void {
  if (!/^[A-Za-z0-9._-]{1,63}$/.test(name) || name === "." || name === "..") {
    throw invalid(`A store's name is 1 to 63 of A-Z a-z 0-9 . _ -, not ${JSON.stringify(name)}.`);
  }
}

// The path, if the store is one of files.
function checkLocation({ persistence = "auto", path }: StoreLocation): string | undefined {
  oneOf("persistence", persistence, ["auto", "memory", "indexeddb", "file"]);
  if (persistence !== "file") {
    if (path === undefined) return undefined;
    throw invalid(`path is for persistence: "file", not ${JSON.stringify(persistence)}.`);
  }
  if (typeof path === "string" && path !== "") return path;
  throw invalid('persistence: "file" needs path, the folder of its stores.');
}

function oneOf(option: string, value: string, allowed: readonly string[]): void {
  if (allowed.includes(value)) return;
  throw invalid(`${option} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}.`);
}

function invalid(message: string): StoreError {
  return new StoreError("ValidationFailed", message);
}

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Open the store with persistence: "memory", or where the browser allows IndexedDB.',
  });
}

function isForbidden(error: unknown): error is StoreError {
  if (!(error instanceof StoreError && error.code === "PersistenceUnavailable")) return false;
  const name = (error.cause as { name?: string } | undefined)?.name;
  return name === "SecurityError" || name === "InvalidStateError";
}

// ---- The environment ----------------------------------------------------------------------------------------------------

// The databases that the option means; undefined for stores in memory.
function databases(persistence: Persistence = "auto"): IDBFactory | undefined {
  if (persistence === "memory") return undefined;
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined && persistence === "indexeddb") {
    throw unavailable("There is no IndexedDB here.");
  }
  return factory;
}

function locks(): LockManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.locks;
}

function storageManager(): StorageManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.storage;
}

async function isPersisted(): Promise<boolean> {
  try {
    return (await storageManager()?.persisted?.()) ?? false;
  } catch {
    return false;
  }
}

// Not awaited: some browsers ask the user.
function requestPersistence(host: SharedHost | LocalHost | undefined): void {
  storageManager()
    ?.persist?.()
    .then((granted) => {
      if (granted) host?.setPersisted();
    })
    .catch(() => {});
}

let warnedOfEviction = false; // once per page, whatever the number of stores

function warnOfEviction(onWarning: (warning: StoreWarning) => void): void {
  if (warnedOfEviction) return;
  warnedOfEviction = true;
  const message =
    "The browser may delete this origin's data when space runs out; " +
    "the option requestPersistence asks it not to.";
  onWarning({ code: "StorageNotPersisted", message });
}
