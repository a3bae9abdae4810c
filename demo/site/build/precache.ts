// The Service Worker of the site: its script, with the list of what was built.
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Large: kept when the site itself is, and the page has nothing better to do.
const later = ["cities.json"];
// For pages that can't load the module's file, which these have: kept when it was asked for.
const onDemand = /^assets\/entitable-wasm-inline-.*$/;

/** Writes sw.js into `folder`, where the built site is. */
export function serviceWorker(script: string, folder: string): void {
  const files = globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file !== "sw.js" && !later.includes(file) && !onDemand.test(file))
    .sort();
  const hash = createHash("sha256");
  for (const file of [...files, ...later])
    hash.update(file).update(readFileSync(join(folder, file)));
  const version = hash.digest("hex").slice(0, 16);
  const constants = Object.entries({ version, files, later })
    .map(([name, value]) => `const ${name} = ${JSON.stringify(value)};\n`)
    .join("");
  writeFileSync(join(folder, "sw.js"), constants + readFileSync(script, "utf8"));
}
