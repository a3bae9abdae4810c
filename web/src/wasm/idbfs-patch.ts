// IDBFS of Emscripten 3.1.6 never calls back when its database can't be opened: its error handler reads `this` where
// there is none. Here such an error reaches the callback of getDB; in newer versions, which handle it, nothing changes.

import type { EntitableModule } from "./entitable.mjs";

type Opener = Pick<IDBFactory, "open">;

export function patchIdbfs(original: EntitableModule["IDBFS"]): void {
  const idbfs = original as typeof original & { indexedDB(): Opener }; // what getDB opens databases with
  const getDB = idbfs.getDB;
  idbfs.getDB = (mountPoint, callback) => {
    idbfs.indexedDB = () => factoryReportingErrors((error) => callback(error, undefined));
    getDB(mountPoint, callback);
  };
}

// All that getDB asks of a factory.
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
