// Importing the package must not run anything or change globals, so that it can be imported while
// rendering on a server.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { packageFolder } from "./support/package.ts";

const names = {
  "dist/index.js":
    "RestError,StoreError,TableTransaction,deleteStore,edm,listStores,odata,openStore,where",
  "dist/data-tables/index.js":
    "AzureNamedKeyCredential,AzureSASCredential,KnownGeoReplicationStatusType,RestError,TableClient," +
    "TableServiceClient,TableTransaction,edm,generateAccountSas,generateTableSas,odata," +
    "registerAccount,setDefaultStore",
  "dist/bulk/index.js": "BulkError,bulk",
  "dist/devtools.js": "entitableDevtools",
  "dist/encryption/index.js": "EntityCipher,encryptedTable",
  "dist/keys/index.js":
    "compositeKey,compositePrefix,escapeKey,invertedTicks,paddedNumber,parseCompositeKey,parseInvertedTicks," +
    "parsePaddedNumber,parseTimeKey,prefixRange,rangeFilter,timeKey,unescapeKey",
  "dist/explorer/index.js": "TableExplorer,TablePlayground,highlight",
  "dist/large-values/index.js": "LargeValues",
  "dist/queue/index.js": "TableQueue",
  "dist/start-sync/index.js": "startSync",
  "dist/testing/index.js": "VirtualClock,faultyFetch,mockStore,parity",
};

for (const [entry, exported] of Object.entries(names)) {
  test(`importing ${entry} works with nothing but the language's globals`, () =>
    importInNothing(entry, exported));
}

async function importInNothing(entry: string, exported: string): Promise<void> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL(entry, packageFolder))],
    bundle: true,
    format: "iife",
    globalName: "entitable",
    write: false,
    logLevel: "silent",
  });
  const context = createContext(Object.create(null));
  const before = runInContext("Object.getOwnPropertyNames(globalThis)", context) as string[];
  runInContext(bundle.outputFiles[0]?.text ?? "", context);
  const after = runInContext("Object.getOwnPropertyNames(globalThis)", context) as string[];
  const added = Array.from(after).filter((name) => !before.includes(name));
  assert.deepEqual(added, ["entitable"]);
  const found = runInContext("Object.keys(entitable).sort().join()", context);
  assert.equal(found, exported);
}

test("importing adds no listener to the process", async () => {
  const before = process.eventNames();
  await import(new URL("dist/index.js", packageFolder).href);
  assert.deepEqual(process.eventNames(), before);
});

test("a bundler drops unused exports", async () => {
  const bundle = await build({
    stdin: {
      contents: `export { RestError } from "./dist/index.js";`,
      resolveDir: fileURLToPath(packageFolder),
    },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    logLevel: "silent",
  });
  const bytes = bundle.outputFiles[0]?.contents.length ?? 0;
  assert(bytes < 1500, `${bytes} bytes`);
});

test("a page loads one file when a bundler splits by importers alone", async () => {
  const bundle = await build({
    stdin: {
      contents: `export { openStore } from "./dist/index.js";`,
      resolveDir: fileURLToPath(packageFolder),
      sourcefile: "page.js",
    },
    bundle: true,
    splitting: true,
    format: "esm",
    outdir: "out",
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  const outputs = Object.values(bundle.metafile.outputs);
  const [page] = outputs.filter(({ entryPoint }) => entryPoint?.endsWith("page.js"));
  const kinds = new Set(page?.imports.map(({ kind }) => kind));
  assert.deepEqual([...kinds], ["dynamic-import"]);
  const inputs = outputs.flatMap((output) => Object.keys(output.inputs));
  assert.deepEqual(
    inputs.filter((name) => /node-files|folder-lock/.test(name)),
    [],
  );
});
