// Opens the IndexedDB connection of IDBFS.

import { StoreError } from "../errors.ts";
import { errorMessage } from "../util/platform-objects.ts";
import type { EntitableModule } from "./entitable.mjs";

// Mounts a folder in the module's file system, and returns the connection that IDBFS opens to its
// database. The caller owns the connection. IDBFS's cache must not keep it: IDBFS would use it
// again after the caller closed it. Rejects with StoreError PersistenceUnavailable.
export function openIdbfsConnection(
  module: EntitableModule,
  mountPoint: string,
): Promise<IDBDatabase> {
  const { FS, IDBFS } = module;
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) =>
      reject(
        new StoreError(
          "PersistenceUnavailable",
          `IndexedDB could not be opened: ${errorMessage(cause)}`,
          {
            cause,
          },
        ),
      );
    if (typeof indexedDB === "undefined") {
      fail("this environment has no IndexedDB");
      return;
    }
    try {
      if (!FS.analyzePath(mountPoint).exists) {
        FS.mkdirTree(mountPoint);
        FS.mount(IDBFS, {}, mountPoint);
      }
      IDBFS.getDB(mountPoint, (error, database) => {
        delete IDBFS.dbs[mountPoint];
        // Emscripten 3.1.6 may report a failed request without an error.
        if (database === undefined) fail(error ?? "the request failed");
        else resolve(database);
      });
    } catch (error) {
      fail(error);
    }
  });
}
