// node stamp.mjs <folder> <version> [<copy to>]
//
// Removes unused methods from the glue (prune-glue.mjs). Then writes one build id into the glue and
// the modules, so that a module of another build (from an HTTP cache, or an old copy next to a
// bundle) is detected before it is instantiated. The glue exports `buildId`; each module has it in
// the custom section "entitable". The id is the version and a hash of these files. Also writes the
// inline copy of the complete module.

import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prune } from "./prune-glue.mjs";
import { customSection } from "./wasm-binary.mjs";

const [folder, version, copyTo] = process.argv.slice(2);
const glueFile = join(folder, "entitable.mjs");
const modules = JSON.parse(readFileSync(join(import.meta.dirname, "modules.json"), "utf8"));
const binaries = Object.values(modules);
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
const complete = readFileSync(join(folder, modules.complete)).toString("base64");
writeFileSync(inlineFile, `export default "${complete}";\n`);

const outputs = ["entitable.mjs", ...binaries, "entitable-wasm-inline.js"];
for (const name of outputs) {
  const file = join(folder, name);
  if (copyTo) copyFileSync(file, join(copyTo, name));
  process.stdout.write(`${statSync(file).size.toString().padStart(8)} bytes  ${file}\n`);
}
