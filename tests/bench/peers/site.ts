// The site on which databases are measured: an empty page, its script, and each library bundled as
// its users would.

import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { serve } from "../../browser/support/server.ts";
import type { Library } from "./databases.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = join(root, "build/bench/site");
export const libraryFolder = join(folder, "library");
const modules = join(root, "tests/bench/node_modules");
export const staging = join(root, "build/package/staging");

export interface PeerSite {
  // An origin, and by that a process and storage, of its own for each name.
  urlOf(name: string): string;
  // Kilobytes of the libraries that were sent since the last call, each once, compressed by brotli.
  takeSent(): number;
  close(): Promise<void>;
}

export interface SiteOptions {
  page: URL; // the script of the page
  libraries: Readonly<Record<string, Library>>;
  unpacked: string; // the folder of the measured package
  named: boolean; // keeps the names of functions and files, for profiles
}

export async function peerSite(options: SiteOptions): Promise<PeerSite> {
  await buildSite(options);
  const sent = new Set<string>();
  const compressed = new Map<string, number>(); // cached, because compressing takes seconds
  // Cross-origin isolation, which SQLite recommends. It also makes the page's clock more precise.
  const headers = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
  };
  const site = await serve(folder, {
    headers,
    override: (path) => {
      if (path.startsWith("/library/")) sent.add(path);
      if (path === "/")
        return { body: '<!doctype html><script type="module" src="/page.js"></script>' };
      return path === "/favicon.ico" ? { status: 204, body: "" } : undefined;
    },
  });
  return {
    urlOf: (name) => site.url.replace("127.0.0.1", `${name}.localhost`),
    takeSent() {
      let bytes = 0;
      for (const path of sent) {
        const length =
          compressed.get(path) ?? brotliCompressSync(readFileSync(join(folder, path))).length;
        compressed.set(path, length);
        bytes += length;
      }
      sent.clear();
      return bytes / 1000;
    },
    close: () => site.close(),
  };
}

async function buildSite({ page, libraries, unpacked, named }: SiteOptions): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(libraryFolder, { recursive: true });
  const dist = (file: string) => resolve(unpacked, "dist", file);
  const common = { bundle: true, format: "esm", target: "es2022" } as const;
  await build({
    ...common,
    entryPoints: [fileURLToPath(page)],
    outfile: join(folder, "page.js"),
    external: ["/library/*", "node:*"],
  });
  for (const [name, { script, files }] of Object.entries(libraries)) {
    await build({
      ...common,
      stdin: { contents: script, resolveDir: modules, sourcefile: `${name}.js` },
      outdir: libraryFolder,
      entryNames: name,
      splitting: true,
      minifySyntax: true,
      minifyWhitespace: !named, // keeps the comments that mark where each file begins
      minifyIdentifiers: !named,
      legalComments: "none",
      nodePaths: [modules], // for a library that the package imports
      define: { "process.env.NODE_ENV": '"production"' },
      alias: { entitable: dist("index.js"), "entitable/react": dist("frameworks/react.js") },
      external: ["node:*"],
    });
    for (const file of files ?? []) {
      const from = name === "entitable" ? resolve(unpacked, file) : join(modules, file);
      copyFileSync(from, join(libraryFolder, basename(file)));
    }
  }
}
