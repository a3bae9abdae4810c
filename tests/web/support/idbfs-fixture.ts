// A store's database in a simulated IndexedDB. Several storages can be opened on it: one after
// another, or at the same time as by two tabs.

import "fake-indexeddb/auto";
import { IdbfsStorage } from "../../../web/src/storage/idbfs.ts";
import {
  databaseVersion,
  fileStoreName,
  mountPoint,
} from "../../../web/src/storage/idbfs-database.ts";
import type { LogStorage } from "../../../web/src/storage/log-storage.ts";
import type { StorageFixture } from "./storage-contract.ts";

// Opens a database as IDBFS.getDB of the wasm module does.
export function idbfsDatabase(mount: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(mount, databaseVersion);
    request.onupgradeneeded = () => {
      const files = request.result.createObjectStore(fileStoreName);
      files.createIndex("timestamp", "timestamp", { unique: false });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

let fixtures = 0;

export class IdbfsFixture implements StorageFixture {
  readonly store = `fixture-${++fixtures}`;
  databases: IDBDatabase[] = [];
  reopened = 0;
  now = 0;

  open(now = () => this.now): Promise<IdbfsStorage> {
    return IdbfsStorage.open({
      store: this.store,
      factory: indexedDB,
      connect: async (mount) => {
        const database = await idbfsDatabase(mount);
        this.databases.push(database);
        return database;
      },
      onReopened: () => {
        this.reopened += 1;
      },
      now,
    });
  }

  async entries(): Promise<Map<string, Record<string, unknown>>> {
    const database = await idbfsDatabase(mountPoint(this.store));
    const files = database.transaction(fileStoreName).objectStore(fileStoreName);
    const entries = new Map<string, Record<string, unknown>>();
    await new Promise<void>((resolve, reject) => {
      const cursor = files.openCursor();
      cursor.onerror = () => reject(cursor.error);
      cursor.onsuccess = () => {
        if (cursor.result === null) return resolve();
        entries.set(String(cursor.result.key), cursor.result.value);
        cursor.result.continue();
      };
    });
    database.close();
    return entries;
  }
}

// A storage that can be used while it is still being opened: calls wait.
export class OpeningStorage implements LogStorage {
  readonly #opening: Promise<LogStorage>;

  constructor(opening: Promise<LogStorage>) {
    this.#opening = opening;
  }

  load: LogStorage["load"] = async (...a) => (await this.#opening).load(...a);
  readParts: LogStorage["readParts"] = async (...a) => (await this.#opening).readParts(...a);
  readSegments: LogStorage["readSegments"] = async (...a) =>
    (await this.#opening).readSegments(...a);
  readWhileInUse: LogStorage["readWhileInUse"] = async (...a) =>
    (await this.#opening).readWhileInUse(...a);
  claim: LogStorage["claim"] = async (...a) => (await this.#opening).claim(...a);
  addSegments: LogStorage["addSegments"] = async (...a) => (await this.#opening).addSegments(...a);
  putPart: LogStorage["putPart"] = async (...a) => (await this.#opening).putPart(...a);
  commitManifest: LogStorage["commitManifest"] = async (...a) =>
    (await this.#opening).commitManifest(...a);
  deleteParts: LogStorage["deleteParts"] = async (...a) => (await this.#opening).deleteParts(...a);
  deleteLog = async () => (await this.#opening).deleteLog();
  close = async () => (await this.#opening).close();
}
