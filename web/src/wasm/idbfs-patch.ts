// Fixes a bug in IDBFS of Emscripten 3.1.6: if its database can't be opened, it never calls back,
// because its error handler uses an undefined `this`. With this patch, the callback of getDB gets
// the error. Newer versions do not have the bug, and the patch changes nothing there.

import type { EntitableModule } from "./entitable.mjs";

type Opener = Pick<IDBFactory, "open">;

export function patchIdbfs(original: EntitableModule["IDBFS"]): void {
  // getDB calls indexedDB() to get the factory.
  const idbfs = original as typeof original & { indexedDB(): Opener };
  const getDB = idbfs.getDB;
  idbfs.getDB = (mountPoint, callback) => {
    idbfs.indexedDB = () => factoryReportingErrors((error) => callback(error, undefined));
    getDB(mountPoint, callback);
  };
}

// Returns a factory that has only open(), the method that getDB calls.
function factoryReportingErrors(failed: (error: unknown) => void): Opener {
  return {
    open(name, version) {
      const request = indexedDB.open(name, version);
      request.addEventListener("error", (event) => {
        event.stopImmediatePropagation(); // IDBFS's handler must not run
        event.preventDefault();
        failed(request.error);
      });
      return request;
    },
  };
}
