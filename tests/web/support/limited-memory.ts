// The module's binary with a lower memory limit, so that a test runs out of memory quickly and
// without gigabytes.

import { readFile } from "node:fs/promises";

const folder = new URL("../../../web/src/wasm/", import.meta.url);
const memorySection = 5;

// Pages are 64 KB; the module starts with 256.
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
      bytes[i] = (rest & 0x7f) | (i + 1 < at ? 0x80 : 0); // the same number of bytes as before
    }
    return bytes;
  }
  throw new Error("the module has no memory of its own");
}
