// PouchDB with the adapter on IndexedDB that its browser preset has. As its documentation
// recommends: a live sync in both directions that is repeated after errors. Chosen here: the
// batches are as large as entitable's. Edits are written by bulkDocs, each of them as a new
// revision of its row.

import { documentId } from "./document.ts";
import { type Peer, pullRows, pushRows } from "./peer.ts";

// The parts of the package that are used.
interface PouchDB {
  new (name: string): Database;
  sync(from: Database, to: Database, options: object): Sync;
}
interface Database {
  allDocs(options: { keys: readonly string[]; include_docs: true }): Promise<{
    rows: readonly { doc: object }[];
  }>;
  bulkDocs(documents: readonly object[]): Promise<readonly { error?: string }[]>;
  info(): Promise<{ doc_count: number }>;
  close(): Promise<void>;
}
interface Sync {
  on(event: "change", listener: (change: Change) => void): void;
  on(event: "paused", listener: () => void): void;
  on(event: "error" | "denied", listener: (error: unknown) => void): void;
  cancel(): void;
}
interface Change {
  readonly direction: "pull" | "push";
  readonly change: { readonly docs_written: number }; // since the sync began
}

const editedAtOnce = 1000;
const options = {
  live: true,
  retry: true,
  pull: { batch_size: pullRows },
  push: { batch_size: pushRows },
};

export function pouchdb(): Peer {
  let library: PouchDB;
  let database: Database;
  let remote: Database;
  let sync: Sync;
  let paused: Promise<void>;

  /** Starts to sync. Resolves when this many rows were written. */
  function written(direction: Change["direction"], rows: number): Promise<void> {
    sync = library.sync(database, remote, options);
    paused = new Promise((resolve) => sync.on("paused", resolve));
    return new Promise((resolve, reject) => {
      sync.on("error", reject);
      sync.on("denied", reject);
      sync.on("change", (event) => {
        if (event.direction === direction && event.change.docs_written >= rows) resolve();
      });
    });
  }

  return {
    async open(url) {
      library = (await import("/library/pouchdb.js" as string)).PouchDB as PouchDB;
      database = new library("rows");
      remote = new library(url);
      await database.info();
    },
    async download(rows) {
      await written("pull", rows);
      const { doc_count: found } = await database.info();
      if (found !== rows) throw new Error(`${found} of ${rows} rows are here.`);
    },
    async editOffline(rows, version) {
      await paused;
      sync.cancel();
      for (let first = 0; first < rows; first += editedAtOnce) {
        const length = Math.min(editedAtOnce, rows - first);
        const keys = Array.from({ length }, (_, k) => documentId(first + k));
        const found = await database.allDocs({ keys, include_docs: true });
        const results = await database.bulkDocs(found.rows.map(({ doc }) => ({ ...doc, version })));
        if (results.some(({ error }) => error !== undefined)) throw new Error("An edit failed.");
      }
    },
    push: (rows) => written("push", rows),
    async close() {
      sync.cancel();
      await database.close();
    },
  };
}
