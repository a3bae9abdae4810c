// Limits the size of the remote of sync, which pages load.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";

const folder = fileURLToPath(new URL("../../../web/src/sync-remote", import.meta.url));
const kibibyte = 1024;

test("the remote is small, and has nothing that is used once or for measuring", async (t) => {
  const names = ["http-remote", "http", "profile"];
  const { metafile, outputFiles } = await build({
    stdin: {
      contents: names.map((name) => `export * from "./${name}.ts";`).join(""),
      resolveDir: folder,
    },
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    write: false,
    metafile: true,
    outdir: "out",
  });
  const [main] = outputFiles.filter(({ path }) => path.endsWith("/stdin.js"));
  const output = Object.entries(metafile.outputs).find(([path]) => path.endsWith("stdin.js"))?.[1];
  const inputs = Object.keys(output?.inputs ?? {}).join("\n");
  for (const later of ["probe", "split-range", "header-authorization", "measure", "cors"]) {
    assert(!inputs.includes(`/${later}.ts`), later);
  }
  const { length } = brotliCompressSync(main?.contents ?? "");
  t.diagnostic(`the remote of sync: ${length} bytes with brotli`);
  assert(length > 0 && length < 8 * kibibyte);
});
