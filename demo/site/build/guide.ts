// The Vite plugin that makes the site's pages: each Markdown file under pages/ is an HTML file for Vite, which does the rest.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { apiPages } from "./api.ts";
import { documentOf } from "./layout.ts";
import { type Page, readPages } from "./pages.ts";
import { serviceWorker } from "./precache.ts";

export function guide(root: string): Plugin {
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
    // Before anything is painted, so not a module.
    generateBundle() {
      const source = readFileSync(join(root, "src/theme.js"), "utf8");
      this.emitFile({ type: "asset", fileName: "theme.js", source });
    },
    writeBundle({ dir = "" }) {
      serviceWorker(join(root, "src/offline.js"), dir);
    },
  };
}
