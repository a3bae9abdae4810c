// Lowers the memory limit in the wasm module's binary, so that a test runs out of memory quickly
// and without using gigabytes.

import { readFile } from "node:fs/promises";

const folder = new URL("../../../web/src/wasm/", import.meta.url);
const memorySection = 5;

// Returns the binary with a limit of `pagesMax` pages of 64 KB. The module starts with 256 pages.
export async function wasmWithMaxPages(
  pagesMax: number,
  name = "entitable.wasm",
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await readFile(new URL(name, folder)));
  let at = 8;
  const leb128 = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] as number;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const section = bytes[at++];
    const size = leb128();
    if (section !== memorySection) {
      at += size;
      continue;
    }
    leb128(); // number of memories: 1
    leb128(); // flags: has a maximum
    leb128(); // initial pages
    const maximumAt = at;
    leb128();
    for (let i = maximumAt, rest = pagesMax; i < at; ++i, rest >>>= 7) {
      bytes[i] = (rest & 0x7f) | (i + 1 < at ? 0x80 : 0); // encoded in as many bytes as before
    }
    return bytes;
  }
  throw new Error("the module has no memory of its own");
}
