// The outbox of @tanstack/offline-transactions, on IndexedDB. As its documentation recommends: an
// offline transaction for each edit, which the mutation function sends to the server. The outbox
// sends one transaction after the other. The collection has the rows in memory from the start,
// because the package does not read from a remote. It sends all edits from one tab, which leads.

import { type Document, documentAt, documentId } from "./document.ts";
import type { Peer } from "./peer.ts";
import { postRows } from "./post-rows.ts";

// The parts of the packages that are used.
interface Library {
  createCollection(options: object): Collection;
  startOfflineExecutor(options: object): Executor;
}
interface Collection {
  preload(): Promise<void>;
  update(id: string, change: (draft: { version: number }) => void): void;
}
interface Executor {
  waitForInit(): Promise<void>;
  createOfflineTransaction(options: object): OfflineTransaction;
  getPendingCount(): number;
  dispose(): void;
}
interface OfflineTransaction {
  mutate(edit: () => void): void;
  commit(): Promise<unknown>;
}
interface Mutation {
  readonly modified: Document;
  readonly original: Document;
}
interface Source {
  begin(): void;
  write(change: { type: "insert"; value: Document }): void;
  commit(): void;
  markReady(): void;
}

const pollMs = 20;

/** Returns how the outbox asks whether the page is online, and a function that says so. */
function connection() {
  const listeners = new Set<() => void>();
  let isOnline = false;
  const notify = () => {
    for (const listener of listeners) listener();
  };
  return {
    detector: {
      isOnline: () => isOnline,
      subscribe(listener: () => void) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      notifyOnline: notify,
      dispose: () => listeners.clear(),
    },
    connect() {
      isOnline = true;
      notify();
    },
  };
}

export function tanstack(): Peer {
  const { detector, connect } = connection();
  let library: Library;
  let collection: Collection;
  let executor: Executor;
  let url: string;
  const commits: Promise<unknown>[] = [];

  async function send({ transaction }: { transaction: { mutations: readonly Mutation[] } }) {
    const rows = transaction.mutations.map(({ modified, original }) => ({
      newDocumentState: modified,
      assumedMasterState: original,
    }));
    const conflicts = await postRows(url, rows);
    if (conflicts.length > 0) throw new Error("An edit is in conflict.");
  }

  return {
    async open(remote) {
      url = remote;
      library = await import("/library/tanstack.js" as string);
    },
    async download(rows) {
      collection = library.createCollection({
        id: "rows",
        getKey: ({ id }: Document) => id,
        sync: { sync: (source: Source) => fill(source, rows) },
      });
      await collection.preload();
      executor = library.startOfflineExecutor({
        collections: { rows: collection },
        mutationFns: { send },
        onlineDetector: detector,
      });
      await executor.waitForInit();
    },
    async editOffline(rows, version) {
      for (let i = 0; i < rows; ++i) {
        const edit = executor.createOfflineTransaction({
          mutationFnName: "send",
          autoCommit: false,
        });
        edit.mutate(() => {
          collection.update(documentId(i), (draft) => {
            draft.version = version;
          });
        });
        commits.push(edit.commit());
      }
      while (executor.getPendingCount() < rows)
        await new Promise((resolve) => setTimeout(resolve, pollMs));
    },
    async push() {
      connect();
      await Promise.all(commits);
    },
    close: async () => executor.dispose(),
  };
}

function fill({ begin, write, commit, markReady }: Source, rows: number): void {
  begin();
  for (let i = 0; i < rows; ++i) write({ type: "insert", value: documentAt(i) });
  commit();
  markReady();
}
