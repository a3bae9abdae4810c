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
  const isOfFeed = ({ path }: { path: string }) => {
    const inputs = outputs.find(([name]) => name.endsWith(path))?.[1].inputs ?? {};
    return Object.keys(inputs).some((name) => /(feed-work|account-feed)\.js$/.test(name));
  };
  const sizeOf = (files: typeof outputFiles) => brotli(files.map((file) => file.contents));
  return {
    first: sizeOf(outputFiles.filter(isFirst)),
    all: sizeOf(outputFiles.filter((file) => !isOfFeed(file))),
    feed: sizeOf(outputFiles.filter(isOfFeed)),
  };
}

test("entitable/sync adds at most 2.5 KB to the first load, and 35 KB in all", async (t) => {
  const [without, both] = [await bundle(core), await bundle(core + sync)];
  const added = { first: both.first - without.first, all: both.all - without.all };
  t.diagnostic(JSON.stringify({ ...added, feed: both.feed }));
  assert(added.first > 0 && added.first <= 2560, `${added.first} bytes at first`);
  assert(added.all > added.first && added.all <= 35_840, `${added.all} bytes in all`);
  // Loaded if the remote has a feed of changes.
  assert(both.feed > 1000 && both.feed <= 5120, `${both.feed} bytes for feeds`);
});
