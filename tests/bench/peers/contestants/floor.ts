// The least that a durable write of as many bytes as entitable stores for it can take: one IndexedDB put or, in Node, an append to an
// open file. Nobody that keeps its data there can be quicker.

import type { FileHandle } from "node:fs/promises";
import type { Level } from "../contestant.ts";

export interface Floor {
  put(i: number): Promise<unknown>;
  remove(): Promise<void>;
}

// The median of such segments.
const insertBytes = 300;
const groupBytes = 14_700; // of 100 entities

// `folder`: in Node.
export function floorIn(
  folder: string | undefined,
  level: Level,
  write: "insert" | "group" = "insert",
): Promise<Floor> {
  const bytes = new Uint8Array(write === "insert" ? insertBytes : groupBytes);
  return folder === undefined ? inIndexedDB(level, bytes) : inFile(folder, level, bytes);
}

async function inIndexedDB(level: Level, bytes: Uint8Array): Promise<Floor> {
  const request = indexedDB.open("floor");
  request.onupgradeneeded = () => request.result.createObjectStore("rows");
  const db = await resultOf(request);
  const durability = level === "strict" ? "strict" : "relaxed";
  return {
    put: (i) =>
      new Promise<void>((resolve, reject) => {
        const transaction = db.transaction("rows", "readwrite", { durability });
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
        transaction.objectStore("rows").put(bytes.slice(), i);
        transaction.commit();
      }),
    async remove() {
      db.close();
      await resultOf(indexedDB.deleteDatabase("floor"));
    },
  };
}

const resultOf = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function inFile(folder: string, level: Level, bytes: Uint8Array): Promise<Floor> {
  const { open, unlink } = await import("node:fs/promises");
  const path = `${folder}/floor`;
  const file: FileHandle = await open(path, "w");
  return {
    async put() {
      await file.write(bytes);
      if (level === "strict") await file.datasync();
    },
    async remove() {
      await file.close();
      await unlink(path);
    },
  };
}
