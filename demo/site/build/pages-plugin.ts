// The Vite plugin that generates the site's pages and its search index. It presents each Markdown
// file under pages/ to Vite as an HTML file.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { apiReference } from "./api.ts";
import { withFigures } from "./figures.ts";
import { documentOf } from "./layout.ts";
import { render } from "./markdown.ts";
import { type Page, readPages } from "./pages.ts";
import { writeServiceWorker } from "./precache.ts";
import { searchIndex } from "./search-index.ts";

export function pagesPlugin(root: string): Plugin {
  const pages = readPages(join(root, "pages"));
  const installed = join(root, "node_modules/entitable");
  const addresses = addressesOf(installed);
  const reference = apiReference(installed, pages);
  const bench = readFileSync(join(root, "../../tests/bench/README.md"), "utf8");
  const textOf = (page: Page) =>
    page.entry === undefined ? withFigures(render(page), bench) : reference(page);
  const texts = new Map(pages.map((page) => [page, textOf(page)]));
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
      return page && documentOf(page, texts.get(page) ?? "", pages, addresses);
    },
    generateBundle() {
      // A classic script, because a module would run only after the first paint.
      const source = readFileSync(join(root, "src/theme.js"), "utf8");
      this.emitFile({ type: "asset", fileName: "theme.js", source });
      this.emitFile({ type: "asset", fileName: "search.json", source: searchIndex(texts) });
    },
    writeBundle({ dir = "" }) {
      writeServiceWorker(join(root, "src/offline.js"), dir);
    },
  };
}

// Only the installed package knows where it is published.
function addressesOf(installed: string) {
  const { repository } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  return { repository: repository?.url?.replace(/^git\+|\.git$/g, "") };
}
