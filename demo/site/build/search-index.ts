// Builds the search index: a file that src/search.ts loads when a reader opens the search.
import MiniSearch from "minisearch";
import { type SearchEntry, searchOptions } from "../src/search-options.ts";
import type { Page } from "./pages.ts";
import { sectionsOf } from "./sections.ts";

const excerptLength = 140;

/** Returns the index of all sections of these pages, as JSON. `texts`: the HTML of each page. */
export function searchIndex(texts: ReadonlyMap<Page, string>): string {
  const index = new MiniSearch(searchOptions);
  let id = 0;
  for (const [page, html] of texts) {
    for (const section of sectionsOf(html, page.title)) {
      const text = section.id === "" ? `${page.summary} ${section.text}` : section.text;
      const entry: SearchEntry = {
        id: id++,
        path: section.id === "" ? page.path : `${page.path}#${section.id}`,
        page: plain(page.title),
        title: plain(section.title),
        text: plain(text),
        excerpt: excerptOf(plain(text)),
      };
      index.add(entry);
    }
  }
  return JSON.stringify(index);
}

function excerptOf(text: string): string {
  if (text.length <= excerptLength) return text;
  return `${text.slice(0, text.lastIndexOf(" ", excerptLength))} …`;
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

function plain(html: string): string {
  return html
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
    .replace(/&(amp|lt|gt|quot);/g, (_, name) => entities[name] ?? "");
}
