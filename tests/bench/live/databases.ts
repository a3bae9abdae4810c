// The databases that are compared, and the files of each that a site sends.

import type { Library } from "../peers/databases.ts";
import type { LiveDatabaseId } from "./live-adapter.ts";

export interface ComparedLiveDatabase {
  readonly id: LiveDatabaseId;
  readonly title: string;
}

export const liveDatabases: readonly ComparedLiveDatabase[] = [
  { id: "entitable", title: "entitable" },
  { id: "dexie", title: "Dexie" },
  { id: "rxdb", title: "RxDB" },
  { id: "tinybase", title: "TinyBase" },
  { id: "tanstack", title: "TanStack DB" },
  { id: "pglite", title: "PGlite" },
  { id: "signaldb", title: "SignalDB" },
];

const pgliteFiles = ["pglite.wasm", "initdb.wasm", "pglite.data"];

// By the name that the adapters import.
export const liveLibraries: Readonly<Record<string, Library>> = {
  entitable: {
    script: 'export { openStore } from "entitable";',
    files: [
      "dist/wasm/entitable.core.wasm",
      "dist/wasm/entitable.live.wasm",
      "dist/wasm/entitable.rest.wasm",
    ],
  },
  dexie: { script: 'export { Dexie, liveQuery } from "dexie";' },
  rxdb: {
    script: `export { createRxDatabase } from "rxdb/plugins/core";
      export { getRxStorageDexie } from "rxdb/plugins/storage-dexie";`,
  },
  tinybase: {
    script: `export { createMergeableStore } from "tinybase/mergeable-store";
      export { createStore } from "tinybase/store";
      export { createQueries } from "tinybase/queries";
      export { createBroadcastChannelSynchronizer }
        from "tinybase/synchronizers/synchronizer-broadcast-channel";`,
  },
  tanstack: {
    script: `export { and, BTreeIndex, createCollection, createIndexedDB,
      createLiveQueryCollection, eq, gte, indexedDBCollectionOptions,
      localOnlyCollectionOptions, lt } from "@tanstack/db";`,
  },
  pglite: {
    script: `export { PGlite } from "@electric-sql/pglite";
      export { live } from "@electric-sql/pglite/live";
      export { PGliteWorker } from "@electric-sql/pglite/worker";`,
    files: pgliteFiles.map((file) => `@electric-sql/pglite/dist/${file}`),
  },
  "pglite-worker": {
    script: `import { PGlite } from "@electric-sql/pglite";
      import { worker } from "@electric-sql/pglite/worker";
      worker({
        init: ({ dataDir }) => PGlite.create(dataDir, { relaxedDurability: true }),
      });`,
  },
  signaldb: { script: 'export { Collection, createIndex } from "@signaldb/core";' },
  react: {
    script: `export { createElement, memo, useSyncExternalStore } from "react";
      export { createRoot } from "react-dom/client";
      export { useLive } from "entitable/react";`,
  },
};
