// How much entitable/sync adds to a page that opens a store.

import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { packageFolder } from "./package.ts";

const core = 'export * from "entitable";';
const sync = 'export * from "entitable/sync";';
const brotli = (files: readonly Uint8Array[]) => brotliCompressSync(Buffer.concat(files)).length;

/** Bundles a page. Returns the sizes of the files that it loads at first, and of all. */
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
  const inputsOf = (path: string) =>
    Object.keys(outputs.find(([name]) => name.endsWith(path))?.[1].inputs ?? {});
  const hasInput = (path: string, pattern: RegExp) =>
    inputsOf(path).some((name) => pattern.test(name));
  // Names of chunks are hashes. In their order, the same code could differ by 100 bytes.
  const orderOf = ({ path }: { path: string }) => inputsOf(path).join();
  outputFiles.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const isOfFeed = ({ path }: { path: string }) => hasInput(path, /(feed-work|account-feed)\.js$/);
  const isOfWorkers = ({ path }: { path: string }) => hasInput(path, /worker-store-sync/);
  const ofOptions = /(seed|table-filter|row-filter|estimate)\.js$/;
  const isOfOptions = ({ path }: { path: string }) => hasInput(path, ofOptions);
  const isOfConsistent = ({ path }: { path: string }) => hasInput(path, /consistent-reading\.js$/);
  const apart = [isOfFeed, isOfWorkers, isOfOptions, isOfConsistent];
  const isOfAll = (file: { path: string }) => !apart.some((isOf) => isOf(file));
  const sizeOf = (files: typeof outputFiles) => brotli(files.map((file) => file.contents));
  return {
    first: sizeOf(outputFiles.filter(isFirst)),
    all: sizeOf(outputFiles.filter(isOfAll)),
    feed: sizeOf(outputFiles.filter(isOfFeed)),
    worker: sizeOf(outputFiles.filter(isOfWorkers)),
    options: sizeOf(outputFiles.filter(isOfOptions)),
    consistent: sizeOf(outputFiles.filter(isOfConsistent)),
  };
}

export interface SizeOfSync {
  readonly core: number; // loaded with a page that has only `entitable`
  readonly first: number; // loaded with the page
  readonly all: number; // with what startSync() loads, too, but for the others
  readonly feed: number; // loaded if the remote has a feed of changes
  readonly worker: number; // loaded if the store is in a worker
  readonly options: number; // loaded if a seed, a filter or estimate() is used
  readonly consistent: number; // loaded if whole partitions are read
}

/** In bytes. */
export async function sizeOfSync(): Promise<SizeOfSync> {
  const [without, both] = [await bundle(core), await bundle(core + sync)];
  const [first, all] = [both.first - without.first, both.all - without.all];
  return { ...both, core: without.first, first, all };
}
