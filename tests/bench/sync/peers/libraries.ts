// The code of the peers, bundled as their users would: what syncs, and the store.

import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import type { PeerId } from "./page.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

interface Library {
  readonly script: string;
  /** From where packages are looked up, below node_modules. */
  readonly from?: string;
}

const libraries: Readonly<Record<PeerId, Library>> = {
  rxdb: {
    script: `export { createRxDatabase } from "rxdb/plugins/core";
      export { replicateRxCollection } from "rxdb/plugins/replication";
      export { getRxStorageDexie } from "rxdb/plugins/storage-dexie";`,
  },
  pouchdb: { script: 'export { default as PouchDB } from "pouchdb-browser";' },
  tanstack: {
    script: `export { startOfflineExecutor } from "@tanstack/offline-transactions";
      export { createCollection } from "@tanstack/db";`,
    from: "@tanstack/offline-transactions", // the outbox has a TanStack DB of its own
  },
};

/** Resolves to the script that a page loads. */
export async function bundled(id: PeerId): Promise<string> {
  const { script, from = "" } = libraries[id];
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: `${modules}/${from}`, sourcefile: `${id}.js` },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"', global: "globalThis" },
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

/** Resolves to bytes, compressed by brotli. */
export const sizeOf = async (id: PeerId): Promise<number> =>
  brotliCompressSync(await bundled(id)).length;
