// The code of a page that opens a store and syncs it: JavaScript, and the modules that it loads.

import { readFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";
import { packageFolder } from "../../../web/support/package.ts";
import { sizeOfSync } from "../../../web/support/size-of-sync.ts";

const modules = ["entitable.core.wasm", "entitable.sync.wasm"];

/** In bytes, compressed by brotli. */
export async function sizeOfEntitable(): Promise<number> {
  const { core, all } = await sizeOfSync();
  const wasm = modules.map((name) => readFileSync(new URL(`dist/wasm/${name}`, packageFolder)));
  return wasm.reduce((sum, bytes) => sum + brotliCompressSync(bytes).length, core + all);
}
