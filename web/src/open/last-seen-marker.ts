// The trace that a store's data leaves in a page (host/eviction.ts). When space runs out a browser
// evicts all that an origin has in IndexedDB, in caches and of Service Workers. Chromium leaves
// localStorage be, so the trace is there; where a browser takes that along, an eviction goes
// unheard.
//
// Workers have no localStorage. One that a page started asks the page. One of the site's own leaves
// no trace, but may delete a store that has one: it leaves a note of that in the Cache API, for the
// next page that misses the data.

import type { LastSeenMarker } from "../host/eviction-detector.ts";

const deletedNotesCache = "entitable-deleted"; // the name of a cache

export function lastSeenMarker(store: string): LastSeenMarker | undefined {
  if (!isPage()) return undefined;
  const key = storageKey(store);
  return {
    async lastSeen() {
      const found = withLocalStorage((storage) => storage.getItem(key));
      if (found === null || found === undefined) return undefined;
      const lastSeen = new Date(found);
      const deleted = Number.isNaN(lastSeen.getTime()) || (await wasDeleted(store));
      if (!deleted) return lastSeen;
      withLocalStorage((storage) => storage.getItem(key) === found && storage.removeItem(key));
      await removeDeletedNote(store);
      return undefined;
    },
    set: (at) => void withLocalStorage((storage) => storage.setItem(key, at.toISOString())),
    clear: () => void withLocalStorage((storage) => storage.removeItem(key)),
  };
}

// For deleteStore. Never rejects.
export async function clearLastSeen(store: string): Promise<void> {
  const marker = lastSeenMarker(store);
  if (marker !== undefined) marker.clear();
  else await addDeletedNote(store);
}

function isPage(): boolean {
  return typeof document !== "undefined";
}

function storageKey(store: string): string {
  return `entitable/${store}/last-seen`;
}

// A browser may forbid it, and it may be full.
function withLocalStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(globalThis.localStorage);
  } catch {
    return undefined;
  }
}

// ---- Notes --------------------------------------------------------------------------------------

function deletedNoteUrl(store: string): string {
  // a cache's keys are URLs; nothing is ever asked for it
  return `https://${deletedNotesCache}.invalid/${store}`;
}

async function addDeletedNote(store: string): Promise<void> {
  await withCaches(async (caches) => {
    await (await caches.open(deletedNotesCache)).put(deletedNoteUrl(store), new Response());
  });
}

async function wasDeleted(store: string): Promise<boolean> {
  const note = await withCaches((caches) =>
    caches.match(deletedNoteUrl(store), { cacheName: deletedNotesCache }),
  );
  return note !== undefined;
}

async function removeDeletedNote(store: string): Promise<void> {
  await withCaches(async (caches) =>
    (await caches.open(deletedNotesCache)).delete(deletedNoteUrl(store)),
  );
}

// They are missing on plain HTTP, and may be forbidden.
async function withCaches<T>(use: (caches: CacheStorage) => Promise<T>): Promise<T | undefined> {
  try {
    const { caches } = globalThis as { caches?: CacheStorage };
    return caches && (await use(caches));
  } catch {
    return undefined;
  }
}
