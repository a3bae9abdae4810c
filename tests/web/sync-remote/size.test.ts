// Limits the size of the remote of sync, which pages load.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";

const folder = fileURLToPath(new URL("../../../web/src/sync-remote", import.meta.url));
const kibibyte = 1024;

test("the remote is small, and has nothing that only measures", async (t) => {
  const names = ["http-remote", "http", "probe", "profile", "split-range"];
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
  const inputs = Object.keys(metafile.inputs).join("\n");
  for (const only of ["measure", "scratch-table", "cors", "doctor-report", "sas-advice"]) {
    assert(!inputs.includes(`/${only}.ts`), only);
  }
  const [main] = outputFiles.filter(({ path }) => path.endsWith("/stdin.js"));
  const { length } = brotliCompressSync(main?.contents ?? "");
  t.diagnostic(`the remote of sync: ${length} bytes with brotli`);
  assert(length < 9 * kibibyte);
});
