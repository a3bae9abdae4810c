// Fixes IDBFS of Emscripten 3.1.6, which never calls back if its database can't be opened: its
// error handler uses an undefined `this`. With this patch, the callback of getDB gets the error.
// Newer versions have no such error, and behave as before.

import type { EntitableModule } from "./entitable.mjs";

type Opener = Pick<IDBFactory, "open">;

export function patchIdbfs(original: EntitableModule["IDBFS"]): void {
  // getDB opens databases with it
  const idbfs = original as typeof original & { indexedDB(): Opener };
  const getDB = idbfs.getDB;
  idbfs.getDB = (mountPoint, callback) => {
    idbfs.indexedDB = () => factoryReportingErrors((error) => callback(error, undefined));
    getDB(mountPoint, callback);
  };
}

// Returns an IDBFactory with the one method that getDB calls.
function factoryReportingErrors(failed: (error: unknown) => void): Opener {
  return {
    open(name, version) {
      const request = indexedDB.open(name, version);
      request.addEventListener("error", (event) => {
        event.stopImmediatePropagation(); // before IDBFS's own handler
        event.preventDefault();
        failed(request.error);
      });
      return request;
    },
  };
}
