// node stamp.mjs <folder> <version> [<copy to>]
//
// Gives glue and binary one build id, so that a stale binary (an old file in an HTTP cache, an old copy beside a bundle) is told
// apart before it is instantiated: the glue exports `buildId`, the binary carries it in the custom section "entitable". The id
// is the version and a hash of both files. Takes out of the glue before what is never called (prune.mjs). Writes the inline copy of the binary too.

import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prune } from "./prune.mjs";

const [folder, version, copyTo] = process.argv.slice(2);
const glueFile = join(folder, "entitable.mjs");
const wasmFile = join(folder, "entitable.wasm");
const inlineFile = join(folder, "entitable-wasm-inline.js");

const stampLine = /\nexport const buildId = "[^"]*";\n$/;
const glue = prune(readFileSync(glueFile, "utf8").replace(stampLine, ""));
const wasm = readFileSync(wasmFile);
const hash = createHash("sha256").update(glue).update(wasm).digest("hex").slice(0, 16);
const buildId = `${version}-${hash}`;

writeFileSync(glueFile, `${glue}\nexport const buildId = "${buildId}";\n`);
const stamped = Buffer.concat([wasm, customSection("entitable", buildId)]);
writeFileSync(wasmFile, stamped);
writeFileSync(inlineFile, `export default "${stamped.toString("base64")}";\n`);

if (copyTo) {
  for (const name of ["entitable.mjs", "entitable.wasm", "entitable-wasm-inline.js"]) {
    copyFileSync(join(folder, name), join(copyTo, name));
  }
}
for (const file of [wasmFile, glueFile]) {
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
