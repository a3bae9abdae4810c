// Sites that serve the built package as an application's bundler makes it: a few files instead of
// more than a hundred modules, whose requests took a third of the time of tests that open many
// pages. package.test.ts and worker.test.ts load the modules as they are published.

import { readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { type Site, type SiteOptions, type SiteResponse, serve } from "./server.ts";

/** The folder of the built package. */
export const staging = fileURLToPath(new URL("../../../build/package/staging", import.meta.url));

// The modules that pages import. Each is served under its own path in dist.
const entries = [
  "index",
  "data-tables/index",
  "explorer/index",
  "start-sync/index",
  "testing/index",
  // not entries of the package
  "client/live-rows",
  "explorer/sync-tab",
].map((name) => join(staging, `dist/${name}.js`));

/** Serves the package, and what `options` say, under "/". `folder`: has `dist` of the package. */
export async function servePackage(options: SiteOptions = {}, folder = staging): Promise<Site> {
  responses ??= bundlePackage();
  const scripts = await responses;
  return await serve(folder, {
    ...options,
    override: (path) => options.override?.(path) ?? scripts.get(path),
  });
}

let responses: Promise<Map<string, SiteResponse>> | undefined; // by path

async function bundlePackage(): Promise<Map<string, SiteResponse>> {
  const { metafile, outputFiles } = await build({
    entryPoints: entries,
    outdir: join(staging, "dist"),
    outbase: join(staging, "dist"),
    chunkNames: "bundled-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"' },
    external: ["node:*"],
    plugins: [absoluteUrls],
    metafile: true,
    write: false,
  });
  // A page that loaded a module beside the bundle would have it twice, with two states.
  const twice = { status: 404, body: "This module is bundled. Add it to the entries." };
  const modules = Object.keys(metafile.inputs).map(
    (path) => [pathOf(resolve(path)), twice] as const,
  );
  const headers = { "cache-control": "max-age=3600" };
  const bundled = outputFiles.map(({ path, text }) => {
    return [pathOf(path), { type: "text/javascript", headers, body: text }] as const;
  });
  return new Map<string, SiteResponse>([...modules, ...bundled]);
}

// Returns the path of a file's URL.
function pathOf(file: string): string {
  return `/${relative(staging, file)}`;
}

// Makes the URLs of the package's files independent of the file that a module is bundled into.
const absoluteUrls: Plugin = {
  name: "absolute-urls",
  setup: ({ onLoad }) => {
    const relativeUrl = /new URL\("(\.[\w./-]+)", import\.meta\.url\)/g;
    onLoad({ filter: /\/dist\/.*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const absoluteUrl = (_: string, file: string) =>
        `new URL("${pathOf(join(dirname(path), file))}", import.meta.url)`;
      return { contents: text.replace(relativeUrl, absoluteUrl) };
    });
  },
};
