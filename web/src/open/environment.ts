// The environment in which a store is opened: a page, a worker or Node. Importing this file does
// not access the environment.

import { StoreError } from "../errors.ts";
import type { LastSeenMarker } from "../host/eviction-detector.ts";
import { type PageLifecycle, pageLifecycle } from "../host/page-lifecycle.ts";
import type { Persistence } from "../types.ts";
import { nodeProcess } from "../util/node.ts";
import { lastSeenMarker } from "./last-seen-marker.ts";

// a reloaded page, or a restarted process, meets the lock of the one before it
export const lockWaitMs = 3000;

// What only the page knows and can do. A worker asks its page.
export interface PageServices {
  lifecycle: PageLifecycle;
  // Asks the browser not to evict this origin's storage. Resolves to whether it promised; some
  // browsers ask the user.
  persist(): Promise<boolean>;
  // How much of its storage this origin uses; undefined where the browser does not say.
  estimate(): Promise<StorageEstimate | undefined>;
  lastSeenMarker(store: string): LastSeenMarker | undefined;
}

export function currentPage(): PageServices {
  return { lifecycle: pageLifecycle(), persist, estimate, lastSeenMarker };
}

// The databases that the option means; undefined for stores in memory.
export function indexedDbFactory(persistence: Persistence = "auto"): IDBFactory | undefined {
  if (persistence === "memory") return undefined;
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined && persistence === "indexeddb") {
    throw persistenceUnavailableError("There is no IndexedDB here.");
  }
  return factory;
}

export function locks(): LockManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.locks;
}

function storageManager(): StorageManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.storage;
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

// Of the origin: a worker's is its page's.
export async function estimate(): Promise<StorageEstimate | undefined> {
  try {
    return await storageManager()?.estimate?.();
  } catch {
    return undefined;
  }
}

// Loaded only when needed, and left out where it is bundled for browsers ("browser" in
// package.json). Rejects where there are no files.
export async function loadFileStores(): Promise<typeof import("../storage/file-stores.ts")> {
  const stores = await import("../storage/file-stores.ts");
  if (nodeProcess() === undefined || stores.openFileStore === undefined) {
    throw new StoreError("PersistenceUnavailable", "There are no files here: they take Node.", {
      hint: 'In a browser stores are kept with persistence: "indexeddb".',
    });
  }
  return stores;
}

export function persistenceUnavailableError(message: string, cause?: unknown): StoreError {
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Open the store with persistence: "memory", or where the browser allows IndexedDB.',
  });
}
