// The marker that a store held data (host/eviction-detector.ts), in the page's localStorage. When
// space runs out, a browser evicts an origin's IndexedDB databases, caches and Service Workers.
// Chromium keeps localStorage, and with it the marker. If a browser also evicts localStorage, the
// eviction is not detected.
//
// Workers have no localStorage. A worker that openStore() started uses its page's marker. Other
// workers set no marker, but they may delete a store that has one. In this case they leave a note
// of the deletion in the Cache API, so that the next page does not report an eviction.

import type { LastSeenMarker } from "../host/eviction-detector.ts";

const deletedNotesCache = "entitable-deleted"; // a cache with an entry for each deleted store

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

// Clears the marker of a store that is being deleted. Never rejects.
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

// Calls `use`. Returns undefined if localStorage is forbidden or full.
function withLocalStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(globalThis.localStorage);
  } catch {
    return undefined;
  }
}

// ---- Notes of deletions -------------------------------------------------------------------------

function deletedNoteUrl(store: string): string {
  // A cache's keys are URLs. This one is never fetched.
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

// Calls `use`. Returns undefined if the Cache API is missing (on plain HTTP) or forbidden.
async function withCaches<T>(use: (caches: CacheStorage) => Promise<T>): Promise<T | undefined> {
  try {
    const { caches } = globalThis as { caches?: CacheStorage };
    return caches && (await use(caches));
  } catch {
    return undefined;
  }
}
