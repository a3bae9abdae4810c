// The layout that all pages share: head, navigation, text, outline, and links to the previous and
// next page.
import { escapeHtml, upFrom } from "./markdown.ts";
import { areas, type Page, pagesOfArea } from "./pages.ts";
import { headingsOf } from "./sections.ts";

const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' blob:; style-src 'self'; img-src 'self' data:; connect-src 'self' blob:; worker-src 'self'; base-uri 'none'; form-action 'none'";

const bars =
  "<rect x='1' y='2' width='14' height='3' rx='1'/><rect x='1' y='6.5' width='14' height='3' rx='1'/><rect x='1' y='11' width='9' height='3' rx='1'/>";
// Only "#" must be escaped. The bars are then the same text as in the header, so a page compresses
// better.
const icon = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='%230b6e69'>${bars}</svg>`;

// Elements that run code or open a store.
const runs = /<table-(playground|explorer)\b/;

/** What the pages link to outside of the site. */
export interface Addresses {
  /** The repository's page, if the installed package names one. */
  readonly repository?: string | undefined;
}

/** Returns the HTML document of a page. `text` is the HTML of its body. */
export function documentOf(
  page: Page,
  text: string,
  pages: readonly Page[],
  { repository }: Addresses,
): string {
  const up = upFrom(page);
  const isHome = page.path === "";
  const title = isHome
    ? "entitable: a table store inside the browser"
    : `${page.title} · entitable`;
  const live = runs.test(text)
    ? "All code on this page runs in your browser; there is no server. "
    : "";
  // Two panes side by side leave no space for an outline beside them.
  const panes = text.includes('<div class="versus">') ? ' class="panes"' : "";
  const source =
    repository === undefined ? "" : ` <a href="${escapeHtml(repository)}">Source code</a>.`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(page.summary)}">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/src/site.css">
<script vite-ignore src="${up}theme.js"></script>
<script type="module" src="/src/site.ts"></script>
</head>
<body data-up="${up}">
<a class="skip" href="#text">Skip to content</a>
<header class="top">
<a class="brand" href="${up}"><svg viewBox='0 0 16 16' aria-hidden="true">${bars}</svg>entitable</a>
<nav class="areas" aria-label="Site">${areaLinks(page, pages)}</nav>
<button type="button" id="search">Search <kbd>Ctrl K</kbd></button>
<button type="button" id="theme" aria-label="Colours: system default"></button>
</header>
<div class="frame">
<nav class="guide" aria-label="Contents"><details id="menu"><summary>Contents</summary>${contents(page, pages)}</details></nav>
<main id="text"${panes} tabindex="-1">
${outline(text)}<article>
<header class="title"><p class="group">${escapeHtml(page.group)}</p><h1>${escapeHtml(page.title)}</h1><p class="summary">${escapeHtml(page.summary)}</p></header>
${text}
</article>
${previousAndNext(page, pagesOfArea(page, pages))}
</main>
</div>
<footer class="end"><p>${live}<a href="${up}workbench/">The cities workbench</a> lets you query 135,233 rows.${source}</p></footer>
</body>
</html>
`;
}

// Each area is entered at its first page.
function areaLinks(page: Page, pages: readonly Page[]): string {
  return areas
    .map(({ title, groups }) => {
      const first = pages.find(({ group }) => groups.includes(group));
      const current = groups.includes(page.group) ? ' aria-current="true"' : "";
      return `<a href="${upFrom(page)}${first?.path}"${current}>${title}</a>`;
    })
    .join("");
}

function contents(page: Page, pages: readonly Page[]): string {
  const groups = Map.groupBy(pagesOfArea(page, pages), ({ group }) => group);
  return [...groups]
    .map(
      ([group, members]) =>
        `<h2>${escapeHtml(group)}</h2><ul>${members.map((one) => entry(one, page)).join("")}</ul>`,
    )
    .join("");
}

function entry(target: Page, from: Page): string {
  const current = target === from ? ' aria-current="page"' : "";
  return `<li><a href="${upFrom(from)}${target.path}"${current}>${escapeHtml(target.title)}</a></li>`;
}

// The headings of the page. A page with only one is short enough without.
function outline(html: string): string {
  const headings = headingsOf(html);
  if (headings.length < 2) return "";
  const items = headings.map(
    ({ level, id, title }) => `<li class="level-${level}"><a href="#${id}">${title}</a></li>`,
  );
  return `<nav class="outline" aria-label="On this page"><details id="outline"><summary>On this page</summary><ul>${items.join("")}</ul></details></nav>
`;
}

function previousAndNext(page: Page, pages: readonly Page[]): string {
  const index = pages.indexOf(page);
  const link = (target: Page | undefined, word: string, rel: string) =>
    target === undefined
      ? ""
      : `<a rel="${rel}" href="${upFrom(page)}${target.path}"><span>${word}</span> ${escapeHtml(target.title)}</a>`;
  return `<nav class="around" aria-label="Previous and next">${link(pages[index - 1], "Previous", "prev")}${link(pages[index + 1], "Next", "next")}</nav>`;
}
