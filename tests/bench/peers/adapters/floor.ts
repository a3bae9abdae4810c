// The floor: the shortest possible time of a durable write with as many bytes as entitable stores
// for it. It is one IndexedDB put or, in Node, an append to an open file. No database that stores
// data there can be faster. Also measures the minimum for a page that loads or opens as many bytes
// as entitable.

import type { FileHandle } from "node:fs/promises";
import type { Database, DatabaseAdapter, Level } from "../database-adapter.ts";
import { now } from "../timing.ts";
import { type Entity, groupRows, packed } from "../workload.ts";

export interface Floor {
  put(i: number): Promise<unknown>;
  // Writes a file in the layout of IDBFS, whose database has an index over timestamps. undefined:
  // IDBFS is not used here.
  putFile: ((i: number) => Promise<unknown>) | undefined;
  remove(): Promise<void>;
}

// Bytes that entitable stores for one insert: for one that is alone in its segment, for one among
// many, and for an entity in a transaction.
export const aloneBytes = 300;
export const insertBytes = 172;
export const entityBytes = 147;
// Longer values are divided into chunks of this size, as entitable does, because Chromium stores
// such values next to their keys.
const chunkBytes = 65_000;

// Returns functions that measure writes of `size` bytes. `folder`: for files, in Node.
export function floorIn(folder: string | undefined, level: Level, size: number): Promise<Floor> {
  const bytes = bytesOf(size);
  return folder === undefined ? inIndexedDB(level, bytes) : inFile(folder, level, bytes);
}

// Returns how many milliseconds the page's thread takes to pass this many bytes to the browser. The
// bytes are passed as entitable does: as files of IDBFS, in one transaction.
export async function handOverToBrowser(size: number): Promise<number> {
  const db = await openDatabase("floor");
  const files = chunksOf(packed(0, size)).map(fileOf);
  const started = now();
  const stored = putIn(db, "files", "relaxed", files, fileName(0));
  const ms = now() - started;
  await stored;
  db.close();
  await resultOf(indexedDB.deleteDatabase("floor"));
  return ms;
}

// Returns the bytes of the i-th write. They are the bytes of entities, because Chromium compresses
// values and would store almost nothing for zeros.
type Bytes = (i: number) => Uint8Array<ArrayBuffer>;

function bytesOf(size: number): Bytes {
  const some = Array.from({ length: 16 }, (_, i) => packed(i * 100, size));
  return (i) => (some[i % some.length] as Uint8Array<ArrayBuffer>).slice();
}

async function inIndexedDB(level: Level, bytes: Bytes): Promise<Floor> {
  const db = await openDatabase("floor");
  const durability = level === "strict" ? "strict" : "relaxed";
  return {
    put: (i) => putIn(db, "rows", durability, chunksOf(bytes(i)), i),
    putFile: (i) => putIn(db, "files", durability, chunksOf(bytes(i)).map(fileOf), fileName(i)),
    async remove() {
      db.close();
      await resultOf(indexedDB.deleteDatabase("floor"));
    },
  };
}

// Splits the bytes. Each chunk has its own buffer, because IndexedDB stores the whole buffer of a
// view.
function chunksOf(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length <= chunkBytes) return [bytes];
  const count = Math.ceil(bytes.length / chunkBytes);
  return Array.from({ length: count }, (_, i) => bytes.slice(i * chunkBytes, (i + 1) * chunkBytes));
}

const fileOf = (contents: Uint8Array) => ({ timestamp: new Date(), mode: 0o100644, contents });
const fileName = (i: number) => `/entitable/floor/wal-${String(i).padStart(16, "0")}`;

async function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("rows");
    request.result.createObjectStore("files").createIndex("timestamp", "timestamp");
  };
  return await resultOf(request);
}

// Puts all values in one transaction. The first gets the given key, the others get keys after it.
function putIn(
  db: IDBDatabase,
  store: "rows" | "files",
  durability: "relaxed" | "strict",
  values: readonly unknown[],
  key: string | number,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const transaction = db.transaction(store, "readwrite", { durability });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    const objects = transaction.objectStore(store);
    for (const [i, value] of values.entries()) objects.put(value, i === 0 ? key : `${key}-${i}`);
    transaction.commit();
  });
}

const resultOf = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Approximate sizes in a store of 100,000 entities.
const manifestBytes = 2900;
const partBytes = 213_000;

// An adapter without entities. Loading generates them and puts as many bytes as entitable would.
// Opening does what entitable does: it imports entitable's bundle, compiles its module, waits for a
// lock and a database, reads a manifest and a list of names, and puts a claim. Its only point read
// gets one part.
export function floorAdapter(): DatabaseAdapter {
  return {
    levels: ["relaxed"],
    async prepare() {
      await import("/library/entitable.js" as string);
    },
    async open(name, _level, fresh) {
      if (fresh) return floorDatabase(await filled(name)) as Database;
      const compiling = WebAssembly.compileStreaming(fetch("/library/entitable.core.wasm"));
      const [db, { release }] = await Promise.all([openDatabase(name), locked(name), compiling]);
      const files = db.transaction("files").objectStore("files");
      await Promise.all([resultOf(files.get(manifest)), resultOf(files.getAllKeys())]);
      await putIn(db, "files", "relaxed", [fileOf(new Uint8Array(insertBytes))], fileName(1));
      return floorDatabase(db, release) as Database;
    },
    async remove(name) {
      await resultOf(indexedDB.deleteDatabase(name));
    },
  };
}

const manifest = "/entitable/floor/manifest";
const part = "/entitable/floor/part";

async function filled(name: string): Promise<IDBDatabase> {
  const db = await openDatabase(name);
  await putIn(db, "files", "relaxed", [fileOf(packed(0, manifestBytes))], manifest);
  await putIn(db, "files", "relaxed", [fileOf(packed(0, partBytes))], part);
  return db;
}

function locked(name: string): Promise<{ release: () => void }> {
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((release) => resolve({ release }));
    navigator.locks.request(name, hold).catch(reject);
  });
}

function floorDatabase(db: IDBDatabase, release = () => {}): Partial<Database> {
  const bytes = bytesOf(entityBytes * groupRows);
  let puts = 0;
  return {
    insertGroup: (_entities: readonly Entity[]) =>
      putIn(db, "rows", "relaxed", [bytes(puts)], puts++),
    get: () => resultOf(db.transaction("files").objectStore("files").get(part)),
    close() {
      db.close();
      release();
    },
  };
}

async function inFile(folder: string, level: Level, bytes: Bytes): Promise<Floor> {
  const { open, unlink } = await import("node:fs/promises");
  const path = `${folder}/floor`;
  const file: FileHandle = await open(path, "w");
  return {
    async put(i) {
      await file.write(bytes(i));
      if (level === "strict") await file.datasync();
    },
    putFile: undefined,
    async remove() {
      await file.close();
      await unlink(path);
    },
  };
}
