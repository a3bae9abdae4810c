// What the browser asks for one write: a single IndexedDB put of as many bytes as entitable stores for one insert. Nobody that keeps
// its data there can be quicker.

import type { Level } from "../contestant.ts";

export interface Floor {
  put(i: number): Promise<void>;
  close(): void;
}

const bytes = new Uint8Array(300); // the median of such segments

export async function openFloor(level: Level): Promise<Floor> {
  const request = indexedDB.open("floor");
  request.onupgradeneeded = () => request.result.createObjectStore("rows");
  const db = await new Promise<IDBDatabase>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const durability = level === "strict" ? "strict" : "relaxed";
  return {
    put: (i) =>
      new Promise((resolve, reject) => {
        const transaction = db.transaction("rows", "readwrite", { durability });
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error);
        transaction.objectStore("rows").put(bytes.slice(), i);
        transaction.commit();
      }),
    close: () => db.close(),
  };
}
