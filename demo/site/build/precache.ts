// The Service Worker of the site: its script, with the list of what was built.
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Large, and of use to few: kept when they were asked for.
const onDemand = /^(cities\.json|assets\/entitable-wasm-inline-.*)$/;

/** Writes sw.js into `folder`, where the built site is. */
export function serviceWorker(script: string, folder: string): void {
  const files = globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file !== "sw.js" && !onDemand.test(file))
    .sort();
  const hash = createHash("sha256");
  for (const file of files) hash.update(file).update(readFileSync(join(folder, file)));
  const version = JSON.stringify(hash.digest("hex").slice(0, 16));
  const constants = `const version = ${version};\nconst files = ${JSON.stringify(files)};\n`;
  writeFileSync(join(folder, "sw.js"), constants + readFileSync(script, "utf8"));
}
