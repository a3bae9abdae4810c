// node stamp.mjs <folder> <version> [<copy to>]
//
// Gives glue and binaries one build id, so that a stale binary (an old file in an HTTP cache, an old copy beside a bundle) is told
// apart before it is instantiated: the glue exports `buildId`, each binary carries it in the custom section "entitable". The id
// is the version and a hash of all these files. Takes out of the glue before what is never called (prune.mjs). Writes the inline copy of the binary too.

import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prune } from "./prune.mjs";

const [folder, version, copyTo] = process.argv.slice(2);
const glueFile = join(folder, "entitable.mjs");
const binaries = ["entitable.wasm", "entitable.core.wasm", "entitable.rest.wasm"]; // the first is both others
const inlineFile = join(folder, "entitable-wasm-inline.js");

const stampLine = /\nexport const buildId = "[^"]*";\n$/;
const glue = prune(readFileSync(glueFile, "utf8").replace(stampLine, ""));
const read = binaries.map((name) => [name, readFileSync(join(folder, name))]);
const hash = createHash("sha256").update(glue);
for (const [, wasm] of read) hash.update(wasm);
const buildId = `${version}-${hash.digest("hex").slice(0, 16)}`;

writeFileSync(glueFile, `${glue}\nexport const buildId = "${buildId}";\n`);
const stamp = customSection("entitable", buildId);
for (const [name, wasm] of read) writeFileSync(join(folder, name), Buffer.concat([wasm, stamp]));
const complete = readFileSync(join(folder, binaries[0])).toString("base64");
writeFileSync(inlineFile, `export default "${complete}";\n`);

const outputs = ["entitable.mjs", ...binaries, "entitable-wasm-inline.js"];
for (const name of outputs) {
  const file = join(folder, name);
  if (copyTo) copyFileSync(file, join(copyTo, name));
  process.stdout.write(`${statSync(file).size.toString().padStart(8)} bytes  ${file}\n`);
}

// id 0, then the length of: a name with its length, and the contents.
function customSection(name, contents) {
  const payload = Buffer.concat([leb128(name.length), Buffer.from(name), Buffer.from(contents)]);
  return Buffer.concat([Buffer.from([0]), leb128(payload.length), payload]);
}

function leb128(value) {
  const bytes = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) {
      bytes.push(rest);
      return Buffer.from(bytes);
    }
    bytes.push((rest & 0x7f) | 0x80);
  }
}
