// Opens, deletes and lists stores. Importing this file does not access any global.

import { AbortError, StoreError } from "./errors.ts";
import { acquireOwnership } from "./host/exclusive-lock.ts";
import {
  currentPage,
  indexedDbFactory,
  loadFileStores,
  locks,
  lockWaitMs,
  type PageServices,
} from "./open/environment.ts";
import { clearLastSeen } from "./open/last-seen-marker.ts";
import { openHost } from "./open/open-host.ts";
import { checkLocation, checkName, type Settings, settingsFromOptions } from "./open/options.ts";
import { deleteDatabase, listDatabaseStores, mountPoint } from "./storage/idbfs-database.ts";
import { StoreHandle } from "./store.ts";
import { broadcastChannelFactory } from "./tabs/channel.ts";
import type { Host } from "./transport.ts";
import type { OpenOptions, Store, StoreInfo, StoreLocation } from "./types.ts";
import { compileModule } from "./wasm/module.ts";
import { deferredModuleUrls, movedPackage } from "./wasm/module-urls.ts";
import { startWorker, WorkerUnavailable } from "./worker/start-worker.ts";
import { WorkerHost } from "./worker/worker-host.ts";

/**
 * Opens a store, creating it if needed. Rejects with AbortError, or with StoreError:
 * ValidationFailed (an option is invalid), PersistenceUnavailable, StoreLocked (the store is open
 * in another tab or process), FormatTooNew (a newer version has stored it), VersionConflict (the
 * data has a newer version than the option `version`), WasmLoadFailed, WasmVersionMismatch. Rejects
 * with the error of the option `upgrade` if that fails.
 */
export async function openStore(options: OpenOptions = {}): Promise<Store> {
  const settings = settingsFromOptions(options);
  if (settings.signal?.aborted) throw new AbortError();
  const open = settings.thread === "worker" ? openInWorker : openHost;
  const host = await open(settings, currentPage());
  if (!isOpenHere(settings.name)) openedHosts.set(settings.name, new WeakRef(host));
  const createHandle = (host: Host) =>
    new StoreHandle(settings.name, host, {
      account: settings.account.name,
      random: options.random,
      onWarning: settings.onWarning,
    });
  if (options.version === undefined) return createHandle(host);
  try {
    const { openVersion } = await import("./upgrade.ts");
    return await openVersion(host, createHandle, {
      name: settings.name,
      version: options.version,
      upgrade: options.upgrade,
      readOnly: settings.readOnly,
      signal: settings.signal,
      locks: host.status.persistence === "indexeddb" ? locks() : undefined,
      waitMs: lockWaitMs,
      AbortError,
      StoreError,
      broadcastChannelFactory,
    });
  } catch (error) {
    await host.close().catch(() => {}); // the first error tells why
    throw error;
  }
}

// A host of each store that was opened here, to explain why a store cannot be deleted.
const openedHosts = new Map<string, WeakRef<Host>>();

function isOpenHere(name: string): boolean {
  const status = openedHosts.get(name)?.deref()?.status;
  return status?.persistence === "indexeddb" && status.state !== "closed";
}

/**
 * Deletes a store with all its data. Resolves also if the store does not exist. Rejects with
 * StoreLocked if it is open.
 */
export async function deleteStore(name: string, options: StoreLocation = {}): Promise<void> {
  checkName(name);
  const path = checkLocation(options);
  if (path !== undefined) {
    const { deleteFileStore } = await loadFileStores();
    return await deleteFileStore({ path, name, waitMs: lockWaitMs });
  }
  const factory = indexedDbFactory(options.persistence);
  if (factory === undefined) return; // a store in memory is deleted by close()
  try {
    const ownership = await acquireOwnership(name, { locks: locks(), waitMs: lockWaitMs });
    try {
      await clearLastSeen(name);
      await deleteDatabase(factory, mountPoint(name), lockWaitMs);
    } finally {
      ownership.release();
    }
  } catch (error) {
    const isLocked = (error as { code?: unknown }).code === "StoreLocked";
    if (!isLocked || !isOpenHere(name)) throw error;
    throw new StoreError("StoreLocked", `The store "${name}" is open in this tab.`, {
      cause: error,
    });
  }
}

/**
 * Lists the stores of this origin, or of the folder `path`. Stores in memory are not listed.
 */
export async function listStores(options: StoreLocation = {}): Promise<StoreInfo[]> {
  const path = checkLocation(options);
  if (path !== undefined) {
    const { listFileStores } = await loadFileStores();
    return (await listFileStores(path)).map((name) => ({ name, persistence: "file" }));
  }
  const factory = indexedDbFactory(options.persistence);
  if (factory === undefined) return [];
  const names = await listDatabaseStores(factory);
  return names.map((name) => ({ name, persistence: "indexeddb" }));
}

// Opens the store in a worker, or in the page if a worker can't be started. The page compiles the
// primary wasm module and sends it to the worker, so that all stores share the compiled code. The
// worker gets the URLs of the deferred modules, if there are any.
async function openInWorker(given: Settings, pageServices: PageServices): Promise<Host> {
  let settings = given;
  try {
    const thread = startWorker(given, await movedScripts());
    try {
      const wasm = await compileModule(given.wasm);
      const urls = await deferredModuleUrls().catch(() => undefined);
      settings = { ...given, wasm, deferredModuleUrls: urls };
      return await WorkerHost.open({ settings, thread, pageServices, locks: locks() });
    } catch (error) {
      thread.end();
      throw error;
    }
  } catch (error) {
    if (!(error instanceof WorkerUnavailable)) throw error;
    const message = `${error.message} The store runs without a worker.`;
    given.onWarning({ code: "WorkerUnavailable", message });
    return await openHost(settings, pageServices);
  }
}

// Resolves to the package's folder if the worker's script is not next to the code.
function movedScripts(): Promise<URL | undefined> {
  return movedPackage().catch((error: unknown) => {
    const { message } = error as Error;
    throw new WorkerUnavailable(`The worker's script could not be found: ${message}.`);
  });
}
