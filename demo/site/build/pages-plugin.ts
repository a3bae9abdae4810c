// The Vite plugin that generates the site's pages. It presents each Markdown file under pages/ to
// Vite as an HTML file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { apiPages } from "./api.ts";
import { documentOf } from "./layout.ts";
import { type Page, readPages } from "./pages.ts";
import { writeServiceWorker } from "./precache.ts";

export function pagesPlugin(root: string): Plugin {
  const pages = [
    ...readPages(join(root, "pages")),
    ...apiPages(join(root, "node_modules/entitable")),
  ];
  const htmlOf = ({ path }: Page) => join(root, path, "index.html");
  return {
    name: "guide",
    enforce: "pre",
    config: () => ({
      build: {
        rolldownOptions: {
          input: [...pages.map(htmlOf), join(root, "workbench/index.html")],
        },
      },
    }),
    resolveId: (id) => (pages.some((page) => htmlOf(page) === id) ? id : undefined),
    load(id) {
      const page = pages.find((one) => htmlOf(one) === id);
      return page && documentOf(page, pages);
    },
    // A classic script, because a module would run only after the first paint.
    generateBundle() {
      const source = readFileSync(join(root, "src/theme.js"), "utf8");
      this.emitFile({ type: "asset", fileName: "theme.js", source });
    },
    writeBundle({ dir = "" }) {
      writeServiceWorker(join(root, "src/offline.js"), dir);
    },
  };
}
