// The databases that are compared: where each one runs, and which files a site sends for it.

export type DatabaseId =
  | "entitable"
  | "entitable-worker"
  | "entitable-node"
  | "entitable-node-memory"
  | "plain"
  | "lokijs"
  | "tinybase"
  | "alasql"
  | "sqlite-memory"
  | "sqlite-opfs"
  | "idb"
  | "dexie";

// Not a database but the lower limit (adapters/floor.ts). It runs like one.
export type FloorId = "floor";

export interface ComparedDatabase {
  readonly id: DatabaseId;
  readonly title: string;
  readonly runsIn: "page" | "worker" | "node"; // where the code that uses the database runs
  readonly ours?: true;
}

export const databases: readonly ComparedDatabase[] = [
  { id: "entitable", title: "entitable", runsIn: "page", ours: true },
  { id: "entitable-worker", title: "entitable, worker", runsIn: "page", ours: true },
  { id: "entitable-node", title: "entitable, Node, files", runsIn: "node", ours: true },
  { id: "entitable-node-memory", title: "entitable, Node, memory", runsIn: "node", ours: true },
  { id: "plain", title: "plain JS", runsIn: "page" },
  { id: "lokijs", title: "LokiJS", runsIn: "page" },
  { id: "tinybase", title: "TinyBase", runsIn: "page" },
  { id: "alasql", title: "AlaSQL", runsIn: "page" },
  { id: "sqlite-memory", title: "SQLite, memory", runsIn: "page" },
  { id: "sqlite-opfs", title: "SQLite, OPFS", runsIn: "worker" },
  { id: "idb", title: "idb", runsIn: "page" },
  { id: "dexie", title: "Dexie", runsIn: "page" },
];

export interface Library {
  // An entry script that exports what the database's adapter needs. It is bundled and minified.
  readonly script: string;
  // Files that are served unchanged next to the script. For entitable, paths are relative to its
  // package.
  readonly files?: readonly string[];
}

// By the name that the adapters import. Paths are relative to the folder with the packages.
export const libraries: Readonly<Record<string, Library>> = {
  entitable: {
    script: 'export { deleteStore, openStore } from "entitable";',
    files: ["dist/wasm/entitable.core.wasm", "dist/worker/entitable-worker.js"],
  },
  lokijs: {
    script: `export { default as Loki } from "lokijs";
      export { default as IncrementalIndexedDBAdapter } from "lokijs/src/incremental-indexeddb-adapter.js";`,
  },
  tinybase: {
    script: `export { createStore } from "tinybase/store";
      export { createIndexes } from "tinybase/indexes";
      export { createIndexedDbPersister } from "tinybase/persisters/persister-indexed-db";`,
  },
  alasql: { script: 'export { default } from "alasql";' },
  sqlite: {
    script: 'export { default } from "@sqlite.org/sqlite-wasm";',
    files: ["@sqlite.org/sqlite-wasm/dist/sqlite3.wasm"],
  },
  idb: { script: 'export { deleteDB, openDB } from "idb";' },
  dexie: { script: 'export { Dexie } from "dexie";' },
};
