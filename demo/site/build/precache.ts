// Generates the Service Worker of the site: its script, preceded by the list of built files.
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Large files. The Service Worker caches them after the site itself, when the page is idle.
const later = ["cities.json", "search.json"];

/** Writes sw.js into `folder`, the folder of the built site. */
export function writeServiceWorker(script: string, folder: string): void {
  const files = globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file !== "sw.js" && !later.includes(file))
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
