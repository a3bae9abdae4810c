// The database of an IDBFS mount: its name, layout and life. What Emscripten's library_idbfs.js
// writes and reads: database = mount point, version 21, one store FILE_DATA with an index on
// timestamp, key = full path, value = { timestamp: Date, mode, contents: Uint8Array }.

import { StoreError } from "../errors.ts";
import { StorageError } from "./log-storage.ts";

export const databaseVersion = 21;
export const fileStoreName = "FILE_DATA";
const mountFolder = "/entitable/";
// a database that is never there for longer than a moment
const scratchDatabase = "entitable-scratch";
const scratchWaitMs = 1000;

export interface FileEntry {
  timestamp: Date;
  mode: number;
  contents: Uint8Array;
}

export function mountPoint(store: string): string {
  return mountFolder + store;
}

// Opens a database that exists. It is not made anew: if it was open before, then the browser
// deleted it under the store, and an empty log in its place would pass for a store that was always
// empty.
export function openExisting(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, databaseVersion);
    let isNew = false;
    request.onupgradeneeded = () => {
      isNew = true;
      request.transaction?.abort(); // leaves no empty database behind
    };
    request.onsuccess = () => resolve(request.result);
    request.addEventListener("error", () => {
      const gone = new StorageError("gone", `The database ${name} was deleted while it was open.`);
      reject(isNew ? gone : request.error);
    });
  });
}

// Deletes a database, whether it exists or not. Other connections are asked to close (the browser
// sends them "versionchange"); one that stays for `waitMs` makes it reject with StoreLocked, and
// the deletion stays queued.
export function deleteDatabase(factory: IDBFactory, name: string, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = factory.deleteDatabase(name);
    let timer: ReturnType<typeof setTimeout> | undefined;
    request.onblocked = () => {
      timer = setTimeout(() => {
        reject(new StoreError("StoreLocked", `Another tab keeps the database ${name} open.`));
      }, waitMs);
    };
    request.onsuccess = () => {
      clearTimeout(timer);
      resolve();
    };
    request.onerror = () => {
      clearTimeout(timer);
      reject(request.error);
    };
  });
}

// Chromium killed in the middle of writing to its disk's log leaves half a record at the end. When
// it starts again it appends to that log, and all goes well; but the time after, it takes the half
// record for corruption and deletes every database of the origin (google/leveldb issue 1287).
// Deleting a database makes it begin a new log, so one is made and deleted before the first write
// of a session. It takes some 3 ms. Never rejects: without it the store works as well.
export async function forceNewLevelDbLog(factory: IDBFactory): Promise<void> {
  if (!/Chrom(e|ium)\//.test(globalThis.navigator?.userAgent ?? "")) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, scratchWaitMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const opening = factory.open(scratchDatabase);
    opening.onerror = done;
    opening.onsuccess = () => {
      opening.result.close();
      const deleting = factory.deleteDatabase(scratchDatabase);
      deleting.onsuccess = done;
      deleting.onerror = done;
    };
  }).catch(() => {}); // the factory itself may throw
}

// The names of the stores of this origin, sorted.
export async function listDatabases(factory: IDBFactory): Promise<string[]> {
  if (typeof factory.databases !== "function") {
    throw new StoreError("NotSupported", "This browser does not list its databases.");
  }
  const names: string[] = [];
  for (const { name } of await factory.databases()) {
    if (name?.startsWith(mountFolder)) names.push(name.slice(mountFolder.length));
  }
  return names.sort();
}
