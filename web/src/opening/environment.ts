// What a store finds where it is opened: in a page, a worker, or Node. Importing this looks at none of it.

import { StoreError } from "../errors.ts";
import type { Trace } from "../host/eviction.ts";
import { type PageLife, pageLife } from "../host/page-life.ts";
import { nodeProcess } from "../node.ts";
import type { Persistence } from "../types.ts";
import { traceOf } from "./trace.ts";

export const lockWaitMs = 3000; // a reloaded page, or a restarted process, meets the lock of the one before it

// What only the page knows and can do. A worker asks its page.
export interface Surroundings {
  life: PageLife;
  // Asks the browser not to evict this origin's storage. Resolves to whether it promised; some browsers ask the user.
  persist(): Promise<boolean>;
  // How much of its storage this origin uses; undefined where the browser does not say.
  estimate(): Promise<StorageEstimate | undefined>;
  traceOf(store: string): Trace | undefined;
}

export function thisPage(): Surroundings {
  return { life: pageLife(), persist, estimate, traceOf };
}

// The databases that the option means; undefined for stores in memory.
export function databases(persistence: Persistence = "auto"): IDBFactory | undefined {
  if (persistence === "memory") return undefined;
  const factory = globalThis.indexedDB as IDBFactory | undefined;
  if (factory === undefined && persistence === "indexeddb") {
    throw unavailable("There is no IndexedDB here.");
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

// Loaded only when needed, and left out where it is bundled for browsers ("browser" in package.json). Rejects where there are no files.
export async function fileStores(): Promise<typeof import("../storage/file-stores.ts")> {
  const stores = await import("../storage/file-stores.ts");
  if (nodeProcess() === undefined || stores.openFileStore === undefined) {
    throw new StoreError("PersistenceUnavailable", "There are no files here: they take Node.", {
      hint: 'In a browser stores are kept with persistence: "indexeddb".',
    });
  }
  return stores;
}

export function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Open the store with persistence: "memory", or where the browser allows IndexedDB.',
  });
}
