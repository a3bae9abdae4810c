// Opens a store where this runs, in a page, a worker or Node: the one place that wires module, storage and host together.

import { AbortError, StoreError } from "../errors.ts";
import { nextTurn } from "../event-loop.ts";
import {
  damageMessage,
  LocalHost,
  type LocalHostOptions,
  type LogOwnership,
  readOnlyError,
} from "../host/local-host.ts";
import { own } from "../host/ownership.ts";
import { noPage } from "../host/page-life.ts";
import { QuotaWatch } from "../host/quota-watch.ts";
import { loadHmac } from "../rest/account.ts";
import { IdbfsStorage } from "../storage/idbfs.ts";
import { openExisting } from "../storage/idbfs-database.ts";
import { type LogStorage, StorageError } from "../storage/log-storage.ts";
import { MemoryStorage } from "../storage/memory.ts";
import { broadcastChannels } from "../tabs/channel.ts";
import { SharedHost, type SharedHostOptions } from "../tabs/shared-host.ts";
import type { Host } from "../transport.ts";
import type { StoreWarning } from "../types.ts";
import { createEngine, type Engine } from "../wasm/engine.ts";
import { prepareModule } from "../wasm/module.ts";
import {
  fileStores,
  isPersisted,
  locks,
  lockWaitMs,
  type Surroundings,
  unavailable,
} from "./environment.ts";
import type { Settings } from "./options.ts";

const ownerSilenceMs = 5000; // of a tab that is frozen or hangs
const openAttemptsMax = 5;

// Rejects as openStore says.
export async function openHost(settings: Settings, around: Surroundings): Promise<Host> {
  if (settings.persistence === "memory") return await openInMemory(settings);
  if (settings.persistence === "file") return await openInFiles(settings);
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined) {
    const missing = unavailable("There is no IndexedDB here.");
    if (settings.persistence === "indexeddb") throw missing;
    return await openInMemory(settings, missing);
  }
  try {
    return await openInIndexedDb(settings, factory, around);
  } catch (error) {
    // Only where the browser forbids IndexedDB altogether. If it merely fails, data may well be there, and an empty
    // store in memory would pass for its loss.
    if (settings.persistence === "auto" && isForbidden(error)) {
      return await openInMemory(settings, error);
    }
    throw error;
  }
}

export async function openInMemory(settings: Settings, instead?: StoreError): Promise<LocalHost> {
  const engine = await startEngine(settings);
  const host = await LocalHost.open({
    ...settings,
    memoryLimit: 0, // there is nowhere to read from what was let go
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
  return host;
}

async function openInIndexedDb(
  settings: Settings,
  factory: IDBFactory,
  { life, persist, estimate, traceOf }: Surroundings,
): Promise<Host> {
  const { name, requestPersistence: request } = settings;
  prepareModule(settings.wasm);
  const persisting = isPersisted();
  let host: SharedHost | LocalHost | undefined;
  const ask = () =>
    void persist().then((granted) => {
      if (granted) host?.setPersisted();
    });
  const quota = new QuotaWatch({ estimate, tell: (event) => host?.tellQuota(event) });
  const askFirst = request === "on-first-write" ? ask : undefined;
  const open = async (logOwnership?: LogOwnership, ownership = { release() {} }) =>
    openLog(settings, factory, {
      readOnly: logOwnership === undefined && settings.readOnly,
      persisted: await persisting,
      onFirstWrite: askFirst,
      logOwnership,
      ownership,
      life,
      trace: traceOf(name),
      onCheckpoint: () => void quota.check(),
    });
  const shared = { locks: locks(), channels: broadcastChannels() };
  if (shared.locks !== undefined && shared.channels !== undefined) {
    host = await openShared(settings, {
      locks: shared.locks,
      channels: shared.channels,
      life,
      open,
    });
  } else {
    const ownership = await own(name, { ...shared, waitMs: lockWaitMs, signal: settings.signal });
    host = await open(undefined, ownership);
  }
  host.on("quota", (event) => quota.heard(event));
  void nextTurn().then(() => quota.check()); // once there can be listeners
  if (request === "on-open") ask();
  else if (!(await persisting)) warnOfEviction(settings.onWarning);
  warnOfDamage(host, settings);
  return host;
}

async function openShared(
  settings: Settings,
  { open, ...way }: Pick<SharedHostOptions, "locks" | "channels" | "life"> & { open: OpenLog },
): Promise<SharedHost> {
  const { name, tabs, account, durability, clock, signal, readOnly } = settings;
  return await SharedHost.open({
    name,
    exclusive: tabs === "exclusive",
    account: JSON.stringify(account),
    durability,
    clock,
    refusal: readOnly ? readOnlyError(name) : undefined,
    ...way,
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
    | "readOnly"
    | "persisted"
    | "onFirstWrite"
    | "logOwnership"
    | "ownership"
    | "life"
    | "trace"
    | "onCheckpoint"
  >,
): Promise<LocalHost> {
  const { signal } = settings;
  for (let attempt = 1; ; ++attempt) {
    let host: LocalHost | undefined;
    let engine: Engine | undefined;
    let storage: LogStorage | undefined;
    try {
      [engine, storage] = await startBoth(settings, factory, () => host?.reopened());
      if (signal?.aborted) throw new AbortError();
      const persistence = "indexeddb";
      host = await LocalHost.open({ ...settings, ...more, engine, storage, persistence });
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

async function openInFiles(settings: Settings): Promise<LocalHost> {
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
  return host;
}

async function closeOf(opening: Promise<{ close(): unknown }>): Promise<void> {
  await opening.then((opened) => opened.close()).catch(() => {});
}

function warnOfDamage({ status }: Host, { name, onWarning }: Settings): void {
  if (status.damage.length === 0) return;
  onWarning({ code: "Damaged", message: damageMessage(name, status.damage) });
}

async function startEngine({ wasm, account }: Settings): Promise<Engine> {
  const hmac = account.authorize ? await loadHmac() : undefined;
  const engine = await createEngine({ wasm });
  engine.configure(account, hmac);
  return engine;
}

async function startBoth(
  settings: Settings,
  factory: IDBFactory,
  onReopened: () => void,
): Promise<[Engine, LogStorage]> {
  const starting = startEngine(settings);
  const connecting = connect(starting, settings.name, factory, onReopened);
  try {
    return await Promise.all([starting, connecting]);
  } catch (error) {
    // The other one may still come, in its own time.
    void closeOf(starting);
    void closeOf(connecting);
    throw error;
  }
}

// A database that is there is opened while the module is still being compiled. One that isn't, IDBFS makes; one that can't be opened is
// tried again by it, and what it says of that is reported.
async function connect(
  starting: Promise<Engine>,
  store: string,
  factory: IDBFactory,
  onReopened: () => void,
): Promise<LogStorage> {
  try {
    const connect = (mount: string) =>
      openExisting(factory, mount).catch(async () => (await starting).idbfs(mount));
    return await IdbfsStorage.open({ store, factory, connect, onReopened });
  } catch (cause) {
    throw cause instanceof StoreError
      ? cause
      : unavailable("IndexedDB could not be opened.", cause);
  }
}

function isForbidden(error: unknown): error is StoreError {
  if (!(error instanceof StoreError && error.code === "PersistenceUnavailable")) return false;
  const name = (error.cause as { name?: string } | undefined)?.name;
  return name === "SecurityError" || name === "InvalidStateError";
}

function warnOfEviction(onWarning: (warning: StoreWarning) => void): void {
  const message =
    "The browser may delete this origin's data when space runs out; " +
    "the option requestPersistence asks it not to.";
  onWarning({ code: "StorageNotPersisted", message });
}
