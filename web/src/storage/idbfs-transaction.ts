// One IndexedDB transaction on the files of an IDBFS mount, and what its errors mean.

import { fileStoreName } from "./idbfs-database.ts";
import { type SegmentDurability, StorageError } from "./log-storage.ts";

export class ConnectionLost extends Error {
  readonly database: IDBDatabase;
  readonly mayHaveCommitted: boolean;

  constructor(database: IDBDatabase, mayHaveCommitted: boolean, cause: unknown) {
    super("The connection to IndexedDB was lost.", { cause });
    this.database = database;
    this.mayHaveCommitted = mayHaveCommitted;
  }
}

// Resolves when the transaction is complete, not when its requests succeed: a full disk shows only
// at the end. A read-only transaction resolves earlier, with its result, because it stores nothing.
// `body` may await only requests of this transaction; otherwise the browser ends it early.
export function runTransaction<T>(
  database: IDBDatabase,
  mode: IDBTransactionMode,
  durability: SegmentDurability | undefined,
  body: (files: IDBObjectStore) => T | Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let running: IDBTransaction;
    try {
      running = database.transaction(fileStoreName, mode, durability && { durability });
    } catch (error) {
      const closed = errorName(error) === "InvalidStateError"; // the connection is closed
      reject(closed ? new ConnectionLost(database, false, error) : error);
      return;
    }
    let value: T;
    let thrown: unknown;
    const fail = (error: unknown) => {
      thrown ??= error;
      try {
        running.abort();
      } catch {
        // The transaction had ended already. If a request failed because of that, onabort follows.
        if (errorName(error) !== "AbortError") reject(thrown);
      }
    };
    // A browser that closes the connection should abort its transactions. On a full disk it may
    // never end them instead.
    const onClose = () => reject(new ConnectionLost(database, true, thrown));
    database.addEventListener("close", onClose);
    running.oncomplete = () => {
      database.removeEventListener("close", onClose);
      resolve(value);
    };
    running.onabort = () => {
      database.removeEventListener("close", onClose);
      // A request that failed with AbortError does not say why the transaction ended. If neither we
      // nor a request caused the abort, the browser closed the connection.
      const error = errorName(thrown) === "AbortError" ? running.error : (thrown ?? running.error);
      const lost = error === null || errorName(error) === "AbortError";
      reject(lost ? new ConnectionLost(database, true, error) : error);
    };
    const finish = (v: T) => {
      value = v;
      if (mode === "readonly") resolve(v);
      try {
        running.commit?.(); // saves the browser from waiting for further requests
      } catch {
        // The transaction has ended already; its events report how.
      }
    };
    try {
      const done = body(running.objectStore(fileStoreName));
      if (done instanceof Promise) done.then(finish, fail);
      else finish(done);
    } catch (error) {
      fail(error);
    }
  });
}

export function requestResult<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// Like requestResult(), but the result may be ignored: the transaction reports a failure too.
export function ignorableResult<T>(request: IDBRequest<T>): Promise<T> {
  const promise = requestResult(request);
  promise.catch(() => {});
  return promise;
}

// ---- Errors -------------------------------------------------------------------------------------

export function storageErrorFrom(error: unknown): StorageError {
  if (isQuotaError(error)) {
    return new StorageError("quota", "The storage quota of this origin is used up.", error);
  }
  return new StorageError("aborted", `IndexedDB failed: ${String(error)}`, error);
}

// QuotaExceededError means that the origin's quota is used up. On a full disk, Chromium reports
// "DataError: Failed to write blobs (IOError)", for large values, which it writes to files, or
// "UnknownError: … FILE_ERROR_NO_SPACE …". Our entries cause no other DataError.
function isQuotaError(error: unknown): boolean {
  const name = errorName(error);
  return (
    name === "QuotaExceededError" ||
    name === "DataError" ||
    (name === "UnknownError" && String(error).includes("NO_SPACE"))
  );
}

export function errorName(error: unknown): string {
  return (error as { name?: string } | null | undefined)?.name ?? "";
}
