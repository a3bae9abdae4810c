// How much entitable/sync adds to a page that opens a store.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { packageFolder } from "../support/package.ts";

const core = 'export * from "entitable";';
const sync = 'export * from "entitable/sync";';
const brotli = (files: readonly Uint8Array[]) => brotliCompressSync(Buffer.concat(files)).length;

/** Bundles a page. Returns the files that it loads at first, and those that it loads later. */
async function bundle(source: string) {
  const { metafile, outputFiles } = await build({
    stdin: { contents: source, resolveDir: fileURLToPath(packageFolder), sourcefile: "page.js" },
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    write: false,
    metafile: true,
    outdir: "/out",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    logLevel: "error",
  });
  const outputs = Object.entries(metafile.outputs);
  const first = new Set<string>();
  const visit = (path: string) => {
    if (first.has(path)) return;
    first.add(path);
    for (const { path: next, kind } of metafile.outputs[path]?.imports ?? [])
      if (kind === "import-statement") visit(next);
  };
  visit(outputs.find(([, { entryPoint }]) => entryPoint?.endsWith("page.js"))?.[0] ?? "");
  const isFirst = ({ path }: { path: string }) => [...first].some((name) => name.endsWith(path));
  const contents = outputFiles.filter(isFirst).map((file) => file.contents);
  const ofWorkers = outputs
    .filter(([, { inputs }]) => Object.keys(inputs).some((name) => /worker-store-sync/.test(name)))
    .map(([path]) => path);
  const isOfWorkers = ({ path }: { path: string }) => ofWorkers.some((name) => name.endsWith(path));
  const [worker, page] = [true, false].map((which) =>
    brotli(outputFiles.filter((file) => isOfWorkers(file) === which).map((file) => file.contents)),
  ) as [number, number];
  return { first: brotli(contents), all: page, worker };
}

test("entitable/sync adds at most 2.5 KB to the first load, 34.5 KB in all, and 3 KB for workers", async (t) => {
  const [without, both] = [await bundle(core), await bundle(core + sync)];
  const { worker } = both;
  const added = { first: both.first - without.first, all: both.all - without.all, worker };
  t.diagnostic(JSON.stringify(added));
  assert(added.first > 0 && added.first <= 2560, `${added.first} bytes at first`);
  assert(added.all > added.first && added.all <= 35_328, `${added.all} bytes in all`);
  assert(worker > 100 && worker <= 3072, `${worker} bytes for stores in workers`);
});
