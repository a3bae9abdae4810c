// Access to the APIs of the environment: a page, a worker or Node. Importing this file does not use
// any of them.

import { StoreError } from "../errors.ts";
import type { LastSeenMarker } from "../host/eviction-detector.ts";
import { type PageLifecycle, pageLifecycle } from "../host/page-lifecycle.ts";
import type { Persistence } from "../types.ts";
import { nodeProcess } from "../util/node.ts";
import { lastSeenMarker } from "./last-seen-marker.ts";

// How long opening waits for a lock. After a reload or a restart, the previous page or process may
// still hold it.
export const lockWaitMs = 3000;

// What only a page can do. In a worker, these functions call the page.
export interface PageServices {
  lifecycle: PageLifecycle;
  // Requests persistent storage, which the browser does not evict. Resolves to whether it was
  // granted. Some browsers ask the user.
  persist(): Promise<boolean>;
  // Resolves to this origin's storage usage and quota; undefined if the browser does not report
  // them.
  estimate(): Promise<StorageEstimate | undefined>;
  lastSeenMarker(store: string): LastSeenMarker | undefined;
}

export function currentPage(): PageServices {
  return { lifecycle: pageLifecycle(), persist, estimate, lastSeenMarker };
}

// Returns the IndexedDB factory; undefined for a store in memory, or if "auto" finds no IndexedDB.
// Throws PersistenceUnavailable for "indexeddb" if there is no IndexedDB.
export function indexedDbFactory(persistence: Persistence = "auto"): IDBFactory | undefined {
  if (persistence === "memory") return undefined;
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined && persistence === "indexeddb") {
    throw persistenceUnavailableError("IndexedDB is not available here.");
  }
  return factory;
}

export function locks(): LockManager | undefined {
  // happy-dom has the property, but its value is null.
  return (globalThis.navigator as Navigator | undefined)?.locks ?? undefined;
}

function storageManager(): StorageManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.storage ?? undefined;
}

export async function isPersisted(): Promise<boolean> {
  try {
    return (await storageManager()?.persisted?.()) ?? false;
  } catch {
    return false;
  }
}

async function persist(): Promise<boolean> {
  try {
    return (await storageManager()?.persist?.()) ?? false;
  } catch {
    return false;
  }
}

// Returns the storage usage and quota. In a worker, these are its page's, because they have the
// same origin.
export async function estimate(): Promise<StorageEstimate | undefined> {
  try {
    return await storageManager()?.estimate?.();
  } catch {
    return undefined;
  }
}

// Loads the module for stores in files. It is loaded on demand, because bundles for browsers leave
// it out ("browser" in package.json). Rejects with PersistenceUnavailable outside Node.
export async function loadFileStores(): Promise<typeof import("../storage/file-stores.ts")> {
  const stores = await import("../storage/file-stores.ts");
  if (nodeProcess() === undefined || stores.openFileStore === undefined) {
    throw new StoreError("PersistenceUnavailable", "Stores in files need Node.", {
      hint: 'In a browser, use persistence: "indexeddb".',
    });
  }
  return stores;
}

export function persistenceUnavailableError(message: string, cause?: unknown): StoreError {
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Use persistence: "memory", or a browser mode that allows IndexedDB.',
  });
}
