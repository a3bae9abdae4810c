// The trace that a store's data leaves in a page (host/eviction.ts). When space runs out a browser evicts all that an origin has in IndexedDB,
// in caches and of Service Workers. Chromium leaves localStorage be, so the trace is there; where a browser takes that along, an
// eviction goes unheard.
//
// Workers have no localStorage. One that a page started asks the page. One of the site's own leaves no trace, but may delete
// a store that has one: it leaves a note of that in the Cache API, for the next page that misses the data.

import type { Trace } from "../host/eviction.ts";

const notes = "entitable-deleted"; // the name of a cache

export function traceOf(store: string): Trace | undefined {
  if (!isPage()) return undefined;
  const key = keyOf(store);
  return {
    async lastSeen() {
      const found = within((storage) => storage.getItem(key));
      if (found === null || found === undefined) return undefined;
      const lastSeen = new Date(found);
      const deleted = Number.isNaN(lastSeen.getTime()) || (await wasDeleted(store));
      if (!deleted) return lastSeen;
      within((storage) => storage.getItem(key) === found && storage.removeItem(key));
      await dropNote(store);
      return undefined;
    },
    leave: (at) => void within((storage) => storage.setItem(key, at.toISOString())),
    wipe: () => void within((storage) => storage.removeItem(key)),
  };
}

// For deleteStore. Never rejects.
export async function wipeTrace(store: string): Promise<void> {
  const trace = traceOf(store);
  if (trace !== undefined) trace.wipe();
  else await leaveNote(store);
}

function isPage(): boolean {
  return typeof document !== "undefined";
}

function keyOf(store: string): string {
  return `entitable/${store}/last-seen`;
}

// A browser may forbid it, and it may be full.
function within<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(globalThis.localStorage);
  } catch {
    return undefined;
  }
}

// ---- Notes ------------------------------------------------------------------------------------------------------------

function noteOf(store: string): string {
  return `https://${notes}.invalid/${store}`; // a cache's keys are URLs; nothing is ever asked for it
}

async function leaveNote(store: string): Promise<void> {
  await withCaches(async (caches) => {
    await (await caches.open(notes)).put(noteOf(store), new Response());
  });
}

async function wasDeleted(store: string): Promise<boolean> {
  const note = await withCaches((caches) => caches.match(noteOf(store), { cacheName: notes }));
  return note !== undefined;
}

async function dropNote(store: string): Promise<void> {
  await withCaches(async (caches) => (await caches.open(notes)).delete(noteOf(store)));
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
