// Measures the package's size, raw and compressed: the files that are shipped unchanged, and each
// entry as a user's bundler bundles it (minified, with everything that it always loads). With
// --write, the table goes into README.md.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";
import { markdownTable, writeTable } from "./support/readme.ts";

const staging = fileURLToPath(new URL("../../build/package/staging", import.meta.url));
const budget = 150_000; // in bytes, compressed by brotli, for a page

type Sizes = { raw: number; gzip: number; brotli: number };

// Returns the total sizes of files, each of which is compressed separately.
function sizesOf(files: readonly Uint8Array[]): Sizes {
  const sum = (size: (bytes: Uint8Array) => number) =>
    files.reduce((total, file) => total + size(file), 0);
  return {
    raw: sum((file) => file.length),
    gzip: sum((file) => gzipSync(file, { level: 9 }).length),
    brotli: sum((file) => brotliCompressSync(file).length),
  };
}

const shipped = (path: string) => readFileSync(resolve(staging, path));

// Bundles the scripts that this source needs before it runs. Code that is imported later is not
// included.
async function bundled(source: string, platform: BuildOptions["platform"] = "browser") {
  const outdir = "/out";
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: staging, sourcefile: "page.js" },
    outdir,
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    write: false,
    metafile: true,
    platform: platform ?? "browser",
    external: ["msw", "@playwright/test"], // installed by the user
    legalComments: "none",
    logLevel: "error",
  });
  // Code that is imported later has entry points too.
  const entry = Object.keys(metafile.outputs).find((path) =>
    metafile.outputs[path]?.entryPoint?.endsWith("/page.js"),
  );
  const wanted = new Set<string>();
  const visit = (path: string) => {
    if (wanted.has(path)) return;
    wanted.add(path);
    for (const { path: next, kind, external } of metafile.outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && !external) visit(next);
    }
  };
  visit(entry ?? "");
  return outputFiles
    .filter(({ path }) => [...wanted].some((name) => resolve(name) === path))
    .map(({ contents }) => contents);
}

const wasm = shipped("dist/wasm/entitable.core.wasm");
const page = await bundled(`
  import { openStore } from "entitable";
  const table = (await openStore({ name: "app" })).table("people");
  console.log(await table.getEntity("p", "r"));
`);
const everything = (name: string) => `import * as all from "${name}"; console.log(all);`;
const dropIn = await bundled(everything("entitable/data-tables"));

const rows: [string, readonly Uint8Array[]][] = [
  ["**a page that opens a store and uses a table, total**", [wasm, ...page]],
  ["of it entitable.core.wasm", [wasm]],
  ["of it JavaScript", page],
  ["with `entitable/data-tables` instead", [wasm, ...dropIn]],
  [
    "entitable.rest.wasm, with the first request, plan or restore",
    [shipped("dist/wasm/entitable.rest.wasm")],
  ],
  [
    "entitable.live.wasm, with the first live query or change feed",
    [shipped("dist/wasm/entitable.live.wasm")],
  ],
  [
    "entitable.snapshot.wasm, with the first snapshot, restore or `verify`",
    [shipped("dist/wasm/entitable.snapshot.wasm")],
  ],
  ["entitable.sync.wasm, for synced tables", [shipped("dist/wasm/entitable.sync.wasm")]],
  ["entitable.wasm, all in one, for Service Workers", [shipped("dist/wasm/entitable.wasm")]],
  ["`entitable`, all of it", await bundled(everything("entitable"))],
  ["`entitable/data-tables`", dropIn],
  [
    "`entitable/sync`, which loads the rest with the first `startSync()`",
    await bundled(everything("entitable/sync")),
  ],
  [
    "that rest, including what the core has, too",
    await bundled(everything("./dist/start-sync/begin.js")),
  ],
  ["`entitable/tanstack-db`", await bundled(everything("entitable/tanstack-db"))],
  ["`entitable/tanstack-query`", await bundled(everything("entitable/tanstack-query"))],
  ["`entitable/explorer`", await bundled(everything("entitable/explorer"))],
  ["`entitable/devtools`", await bundled(everything("entitable/devtools"))],
  ["`entitable/msw`", await bundled(everything("entitable/msw"))],
  ["`entitable/playwright`", await bundled(everything("entitable/playwright"), "node")],
  ["`entitable/server`", await bundled(everything("entitable/server"), "node")],
  ["`entitable/worker`, as shipped", [shipped("dist/worker/entitable-worker.js")]],
  ["`entitable/service-worker`, as shipped", [shipped("dist/wasm/service-worker.js")]],
  [
    "`entitable/inline`, for bundles that can't have files next to them",
    [shipped("dist/wasm/entitable-wasm-inline.js")],
  ],
];

const n = (bytes: number) => bytes.toLocaleString("en");
const table = markdownTable(
  ["bytes", "raw", "gzip", "brotli"],
  rows.map(([name, files]) => {
    const { raw, gzip, brotli } = sizesOf(files);
    return [name, n(raw), n(gzip), n(brotli)];
  }),
);
console.log(table);
const { brotli } = sizesOf([wasm, ...page]);
console.log(`${n(brotli)} of ${n(budget)} bytes: ${((100 * brotli) / budget).toFixed(0)} %`);
if (process.argv.includes("--write")) writeTable("sizes", table);
