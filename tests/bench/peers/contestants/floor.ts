// The least that a durable write of as many bytes as entitable stores for it can take: one IndexedDB put or, in Node, an append to an
// open file. Nobody that keeps its data there can be quicker. And the least that a page can take that does what entitable is loaded or
// opened for.

import type { FileHandle } from "node:fs/promises";
import type { Contestant, Database, Level } from "../contestant.ts";
import { now } from "../timing.ts";
import { type Entity, groupRows, packed } from "../workload.ts";

export interface Floor {
  put(i: number): Promise<unknown>;
  // As a file of IDBFS, whose database has an index over their timestamps; undefined: there is no such database here.
  putFile: ((i: number) => Promise<unknown>) | undefined;
  remove(): Promise<void>;
}

// The median of such segments.
const insertBytes = 300;
const groupBytes = 14_700; // of 100 entities
const pieceBytes = 65_000;
export const bytesOfEntity = groupBytes / groupRows; // as it is logged beside others

// `folder`: in Node.
export function floorIn(
  folder: string | undefined,
  level: Level,
  write: "insert" | "group" = "insert",
): Promise<Floor> {
  const bytes = bytesOf(write === "insert" ? insertBytes : groupBytes);
  return folder === undefined ? inIndexedDB(level, bytes) : inFile(folder, level, bytes);
}

// What the page's thread takes to hand over so many bytes, milliseconds: as entitable hands over what waited to be stored, in pieces that Chromium keeps
// with their keys, as files of IDBFS, in one transaction.
export async function handOver(size: number): Promise<number> {
  const db = await openDatabase("floor");
  const bytes = bytesOf(pieceBytes);
  const pieces = Array.from({ length: Math.ceil(size / pieceBytes) }, (_, i) => fileOf(bytes(i)));
  const started = now();
  const transaction = db.transaction("files", "readwrite", { durability: "relaxed" });
  for (const [i, piece] of pieces.entries())
    transaction.objectStore("files").put(piece, fileName(i));
  transaction.commit();
  const ms = now() - started;
  await new Promise((resolve) => transaction.addEventListener("complete", resolve));
  db.close();
  await resultOf(indexedDB.deleteDatabase("floor"));
  return ms;
}

// Of the i-th write. The bytes of entities: Chromium compresses what it stores, and zeros would be nothing.
type Bytes = (i: number) => Uint8Array<ArrayBuffer>;

function bytesOf(size: number): Bytes {
  const some = Array.from({ length: 16 }, (_, i) => packed(i * 100, size));
  return (i) => (some[i % some.length] as Uint8Array<ArrayBuffer>).slice();
}

async function inIndexedDB(level: Level, bytes: Bytes): Promise<Floor> {
  const db = await openDatabase("floor");
  const durability = level === "strict" ? "strict" : "relaxed";
  return {
    put: (i) => putIn(db, "rows", durability, bytes(i), i),
    putFile: (i) => putIn(db, "files", durability, fileOf(bytes(i)), fileName(i)),
    async remove() {
      db.close();
      await resultOf(indexedDB.deleteDatabase("floor"));
    },
  };
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

function putIn(
  db: IDBDatabase,
  store: "rows" | "files",
  durability: "relaxed" | "strict",
  value: unknown,
  key: IDBValidKey,
): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const transaction = db.transaction(store, "readwrite", { durability });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    transaction.objectStore(store).put(value, key);
    transaction.commit();
  });
}

const resultOf = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

// Holds no entities: loading it makes them and puts as many bytes, opening it imports entitable's bundle, compiles its module and opens
// a database, and its only point read gets what was put first.
export function floorContestant(): Contestant {
  return {
    levels: ["relaxed"],
    async prepare() {
      await import("/library/entitable.js" as string);
    },
    async open(name, _level, fresh) {
      const compile = () => WebAssembly.compileStreaming(fetch("/library/entitable-tables.wasm"));
      const [db] = await Promise.all([openDatabase(name), fresh ? undefined : compile()]);
      return floorDatabase(db) as Database;
    },
    async remove(name) {
      await resultOf(indexedDB.deleteDatabase(name));
    },
  };
}

function floorDatabase(db: IDBDatabase): Partial<Database> {
  const bytes = bytesOf(groupBytes);
  let puts = 0;
  return {
    insertGroup: (_entities: readonly Entity[]) =>
      putIn(db, "rows", "relaxed", bytes(puts), puts++),
    get: () => resultOf(db.transaction("rows").objectStore("rows").get(0)),
    close: () => db.close(),
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
