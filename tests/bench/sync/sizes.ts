// What entitable/sync adds to a page that opens a store.

import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { packageFolder } from "../../web/support/package.ts";
import { sizeOfSync } from "../../web/support/size-of-sync.ts";
import type { Measured } from "./measured.ts";

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`;

export async function sizes(): Promise<Measured[]> {
  const { all, first } = await sizeOfSync();
  const row = (what: string, target: string, bytes: number): Measured => ({
    what,
    target,
    values: { chromium: kilobytes(bytes) },
  });
  return [
    row("`entitable/sync` with brotli, loaded with the page", "", first),
    row("loaded by `startSync`", "≤ 12 KB", all - first),
    row("its planner alone, in one file", "", await sizeOfPlanner()),
  ];
}

/**
 * The rules of the protocol (web/src/sync), without those of feeds and of whole partitions, and
 * with nothing that sends a request or reads a store.
 */
async function sizeOfPlanner(): Promise<number> {
  const classes = { Puller: "puller", Pusher: "pusher", Requests: "requests" };
  const exported = Object.entries(classes).map(
    ([name, file]) => `export { ${name} } from "./${file}.js";`,
  );
  const resolveDir = fileURLToPath(new URL("dist/sync/", packageFolder));
  const { outputFiles } = await build({
    stdin: { contents: exported.join("\n"), resolveDir },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    legalComments: "none",
  });
  return outputFiles.reduce((sum, { contents }) => sum + brotliCompressSync(contents).length, 0);
}
