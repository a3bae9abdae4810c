// Gives the demonstration of sync its own copy of the package's modules. Otherwise, the modules
// that sync shares with the rest of the package would become chunks of their own, and every page
// that runs code would load more files.
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

const mark = "?separate";

/** `folder`: whose modules import the copy. */
export function separateCopy(folder: string): Plugin {
  return {
    name: "separate-copy",
    enforce: "pre",
    async resolveId(source, importer = "") {
      const isCopy = importer.endsWith(mark);
      if (!isCopy && !importer.includes(folder)) return null;
      const original = isCopy ? importer.slice(0, -mark.length) : importer;
      const found = await this.resolve(source, original, { skipSelf: true });
      if (found === null || !/\/entitable\/dist\/.*\.m?js$/.test(found.id)) return found;
      return { ...found, id: found.id + mark };
    },
    load: (id) => (id.endsWith(mark) ? readFileSync(id.slice(0, -mark.length), "utf8") : null),
  };
}
