// The IndexedDB database of a store: its name and layout; opening and deleting it. The layout is
// that of Emscripten's IDBFS (library_idbfs.js), a file system in IndexedDB. Database name = mount
// point, version 21, one object store FILE_DATA with an index on timestamp, key = full path, value
// = { timestamp: Date, mode, contents: Uint8Array }.

import { StoreError } from "../errors.ts";
import { StorageError } from "./log-storage.ts";

export const databaseVersion = 21;
export const fileStoreName = "FILE_DATA";
const mountFolder = "/entitable/";

export interface FileEntry {
  timestamp: Date;
  mode: number;
  contents: Uint8Array;
}

export function mountPoint(store: string): string {
  return mountFolder + store;
}

// Opens a database. Rejects with "gone" if it does not exist, instead of creating it: if the
// browser deleted the database of an open store, a new one would make the store look empty.
export function openExisting(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, databaseVersion);
    let isNew = false;
    request.onupgradeneeded = () => {
      isNew = true;
      request.transaction?.abort(); // otherwise an empty database would remain
    };
    request.onsuccess = () => resolve(request.result);
    request.addEventListener("error", () => {
      const gone = new StorageError("gone", `The database ${name} was deleted while it was open.`);
      reject(isNew ? gone : request.error);
    });
  });
}

// Deletes a database. Resolves also if it does not exist. The browser sends "versionchange" to
// other connections, which should then close. If one stays open for `waitMs`, rejects with
// StoreLocked; the browser then deletes the database later.
export function deleteDatabase(factory: IDBFactory, name: string, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = factory.deleteDatabase(name);
    let timer: ReturnType<typeof setTimeout> | undefined;
    request.onblocked = () => {
      timer = setTimeout(() => {
        reject(new StoreError("StoreLocked", `Another tab has the database ${name} open.`));
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

// Returns the names of the stores of this origin, sorted.
export async function listDatabaseStores(factory: IDBFactory): Promise<string[]> {
  if (typeof factory.databases !== "function") {
    throw new StoreError("NotSupported", "This browser does not list its databases.");
  }
  const names: string[] = [];
  for (const { name } of await factory.databases()) {
    if (name?.startsWith(mountFolder)) names.push(name.slice(mountFolder.length));
  }
  return names.sort();
}
