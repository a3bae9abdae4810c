// Works around a bug of LevelDB, in which Chromium keeps IndexedDB (google/leveldb issue 1287): if
// Chromium is killed while it writes, or the disk is full, LevelDB's log may end with half a
// record. Chromium appends to that log when it opens the origin's databases again, even within one
// session. The time after that, it takes the half record for corruption, and deletes all databases
// of the origin.

import { withTimeLimit } from "../util/time-limit.ts";
import { errorName } from "./idbfs-transaction.ts";

// forceNewLevelDbLog() creates this database and immediately deletes it.
const scratchDatabase = "entitable-scratch";
const probeCache = "entitable-space-probe";
// LevelDB's log has at most 4 MiB. To begin a new one, LevelDB writes the content of the old one
// to a table.
const probeBytes = 8 * 1024 * 1024;
const probeWaitMs = 5000;
const refusalMs = 1000;
const randomBytesMax = 65536; // of one call of crypto.getRandomValues()

// Makes Chromium begin a new log, by creating and deleting a database. Must be called before the
// first write on a connection. Rejects if there may be no new log. May never settle, for example on
// a full disk, or while a tab is frozen that does the same.
export async function forceNewLevelDbLog(factory: IDBFactory): Promise<void> {
  if (!usesLevelDb()) return;
  await new Promise<void>((resolve, reject) => {
    const opening = factory.open(scratchDatabase);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      opening.result.close();
      const deleting = factory.deleteDatabase(scratchDatabase);
      deleting.onsuccess = () => resolve();
      deleting.onerror = () => reject(deleting.error);
    };
  });
}

// Rejects if the disk has too little space for a new log. Must be called before a database is
// opened again whose connection was lost: on a full disk, opening it and beginning a new log append
// to the old log, and then fail. Writes a file with the Cache API, because Chromium keeps its
// entries in files, and not in LevelDB; navigator.storage.estimate() says nothing about the disk.
// Calls share a probe, and a refusal counts for a second, because a probe fills the disk for a
// moment. Resolves if this page may not use the Cache API, or if the origin's quota is used up.
export function requireSpaceForNewLog(): Promise<void> {
  if (!usesLevelDb() || !globalThis.caches) return Promise.resolve();
  if (probing === undefined || performance.now() >= refusedUntil) {
    refusedUntil = Number.POSITIVE_INFINITY;
    probing = withTimeLimit(probeWaitMs, probeDisk()).then(
      () => {
        probing = undefined;
      },
      (error: unknown) => {
        refusedUntil = performance.now() + refusalMs;
        throw error;
      },
    );
  }
  return probing;
}

let probing: Promise<void> | undefined; // the running probe, or one that was refused
let refusedUntil = 0; // until then, `probing` counts

async function probeDisk(): Promise<void> {
  try {
    const cache = await caches.open(probeCache);
    await probe(cache).finally(() => caches.delete(probeCache));
  } catch (error) {
    if (!/^(Quota|Security)/.test(errorName(error))) throw error;
  }
}

async function probe(cache: Cache): Promise<void> {
  const url = `https://entitable.invalid/${crypto.randomUUID()}`; // other tabs make probes, too
  try {
    await cache.put(url, new Response(randomBytes(probeBytes)));
  } finally {
    await cache.delete(url); // frees the space at once, unlike caches.delete()
  }
}

function usesLevelDb(): boolean {
  return /Chrom(e|ium)\//.test(globalThis.navigator?.userAgent ?? "");
}

// Disks may compress other bytes.
function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i += randomBytesMax) {
    crypto.getRandomValues(bytes.subarray(i, i + randomBytesMax));
  }
  return bytes;
}
