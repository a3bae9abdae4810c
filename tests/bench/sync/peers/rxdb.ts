// RxDB with its free storage on IndexedDB (Dexie), and handlers that fetch. As its documentation
// recommends: a live replication, no validation in production. Chosen here: the batches are as
// large as entitable's, the store belongs to one tab (no election, no messages to other tabs), and
// the pull has no stream of events, so that a push is not sent back to its client.

import { documentId } from "./document.ts";
import type { Checkpoint, Page, Pushed } from "./json-remote.ts";
import { type Peer, pullRows, pushRows } from "./peer.ts";
import { postRows } from "./post-rows.ts";

// The parts of the package that are used.
interface Library {
  createRxDatabase(options: object): Promise<Database>;
  getRxStorageDexie(): unknown;
  replicateRxCollection(options: object): Replication;
}
interface Database {
  addCollections(schemas: object): Promise<{ rows: Collection }>;
  close(): Promise<unknown>;
}
interface Collection {
  count(): { exec(): Promise<number> };
  findByIds(ids: readonly string[]): { exec(): Promise<Map<string, Row>> };
}
interface Row {
  incrementalPatch(changes: object): Promise<unknown>;
}
interface Replication {
  readonly error$: { subscribe(listener: (error: Error) => void): void };
  awaitInitialReplication(): Promise<void>;
  awaitInSync(): Promise<unknown>;
  pause(): Promise<void>;
  start(): Promise<void>;
}

const text = { type: "string" } as const;
const number = { type: "number" } as const;
const schema = {
  version: 0,
  primaryKey: "id",
  type: "object",
  properties: {
    id: { ...text, maxLength: 40 },
    ...{ partitionKey: text, rowKey: text, name: text, city: text, note: text },
    ...{ count: number, rank: number, ratio: number, active: { type: "boolean" } },
    ...{ when: number, big: text, bytes: text, version: number },
  },
};
const editedAtOnce = 1000;

export function rxdb(): Peer {
  let library: Library;
  let database: Database;
  let collection: Collection;
  let replication: Replication;
  let failed: Promise<never>; // the replication would repeat what failed
  let url: string;
  return {
    async open(remote) {
      url = remote;
      library = await import("/library/rxdb.js" as string);
      const storage = library.getRxStorageDexie();
      database = await library.createRxDatabase({ name: "rows", storage, multiInstance: false });
      collection = (await database.addCollections({ rows: { schema } })).rows;
    },
    async download(rows) {
      replication = library.replicateRxCollection({
        collection,
        replicationIdentifier: `rows of ${url}`,
        live: true,
        pull: { handler: pullFrom(url), batchSize: pullRows },
        push: { handler: pushTo(url), batchSize: pushRows },
      });
      failed = new Promise((_, reject) => replication.error$.subscribe(reject));
      await Promise.race([replication.awaitInitialReplication(), failed]);
      const found = await collection.count().exec();
      if (found !== rows) throw new Error(`${found} of ${rows} rows are here.`);
    },
    async editOffline(rows, version) {
      await replication.awaitInSync();
      await replication.pause();
      for (let first = 0; first < rows; first += editedAtOnce) {
        const length = Math.min(editedAtOnce, rows - first);
        const ids = Array.from({ length }, (_, k) => documentId(first + k));
        const found = await collection.findByIds(ids).exec();
        await Promise.all([...found.values()].map((row) => row.incrementalPatch({ version })));
      }
    },
    async push() {
      await replication.start();
      await Promise.race([replication.awaitInSync(), failed]);
    },
    async close() {
      await database.close();
    },
  };
}

function pullFrom(url: string) {
  return async (checkpoint: Checkpoint | undefined, limit: number): Promise<Page> => {
    const response = await fetch(`${url}/pull?after=${checkpoint?.sequence ?? 0}&limit=${limit}`);
    return await response.json();
  };
}

const pushTo = (url: string) => (rows: readonly Pushed[]) => postRows(url, rows);
