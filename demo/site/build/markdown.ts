// Converts Markdown to the HTML of a page. It extends CommonMark by live fences, which become
// runnable code blocks:
//
//     ```js live setup title="…"      runs once, before all other blocks of the page; shown folded
//     ```js live                      a runnable code block
//     ```js live naive title="…"      the two panes of a chapter, side by side, with heat maps of
//     ```js live pattern title="…"    the partitions
//     ```js live heat                 a block with a heat map
//     ```js live … throttle           on a store that enforces the service's scalability targets
//     ```js live … servers            with the simulation of servers below it
//     ```js live kept                 on a store that is persisted in IndexedDB
//     ```ts title="notes.ts"          code with the name of its file
import { highlight } from "entitable/explorer";
import MarkdownIt, { type Token } from "markdown-it";
import { type Page, pathOf } from "./pages.ts";

interface Fence {
  readonly language: string;
  readonly words: readonly string[];
  readonly title: string | undefined;
  readonly code: string;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/**
 * Returns Markdown as HTML. `text` is the page's, or belongs to the page. `html`: whether it may
 * contain HTML. Links between Markdown files become links between pages. The
 * text of a heading links to the heading.
 */
export function render(page: Page, text = page.markdown, html = true): string {
  const markdown = new MarkdownIt({ html, typographer: true });
  const { rules } = markdown.renderer;
  const setup = /^```js live setup\b/m.test(text);
  let inVersus = false;
  rules["fence"] = (tokens, index) => {
    const fence = parseFence(tokens[index]?.info ?? "", tokens[index]?.content ?? "");
    const { words } = fence;
    if (!words.includes("live")) return plain(fence);
    if (words.includes("setup")) return setupBlock(fence);
    const isPane = words.includes("naive") || words.includes("pattern");
    const opening = isPane && !inVersus ? '<div class="versus">\n' : "";
    inVersus = isPane && isPaneFence(tokens[index + 1]?.info);
    const closing = isPane && !inVersus ? `</div>\n${costComparison}` : "";
    const heading = tokens.findLast(
      ({ type }, place) => place < index && type === "inline" && isHeading(tokens[place - 1]?.type),
    );
    return opening + liveBlock(fence, setup, heading?.content ?? page.title) + closing;
  };
  rules["link_open"] = (tokens, index, options, _, self) => {
    const token = tokens[index];
    const target = String(token?.attrGet("href") ?? "");
    if (/^[^:]+\.md(#|$)/.test(target)) token?.attrSet("href", linkTo(page, target));
    return self.renderToken(tokens, index, options);
  };
  rules["heading_open"] = (tokens, index, options, _, self) => {
    const id = slug(tokens[index + 1]?.content ?? "");
    tokens[index]?.attrSet("id", id);
    return `${self.renderToken(tokens, index, options)}<a class="anchor" href="#${id}">`;
  };
  rules["heading_close"] = (tokens, index) => `</a></${tokens[index]?.tag}>\n`;
  rules["td_open"] = (tokens, index) => {
    const id = codeId(tokens, index);
    return id === undefined ? "<td>" : `<td id="${id}">`;
  };
  rules["table_open"] = () =>
    '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';
  rules["table_close"] = () => "</table></div>\n";
  return markdown.render(text);
}

/** In a table of codes, such as error codes, each code has an id: its heading's, and its name. */
function codeId(tokens: readonly Token[], index: number): string | undefined {
  const [, code] = /^`(\w+)`$/.exec(tokens[index + 1]?.content ?? "") ?? [];
  const start = tokens.findLastIndex(({ type }, place) => place < index && type === "table_open");
  const head = tokens.slice(start, index).filter(({ type }) => type === "inline");
  if (code === undefined || !head.some(({ content }) => content === "code")) return undefined;
  const heading = tokens.findLastIndex(({ type }, place) => place < start && isHeading(type));
  return `${slug(tokens[heading + 1]?.content ?? "")}-${code}`;
}

function parseFence(info: string, content: string): Fence {
  const title = /title="([^"]*)"/.exec(info)?.[1];
  const [language = "", ...words] = info
    .replace(/title="[^"]*"/, "")
    .trim()
    .split(/\s+/);
  return { language, words, title, code: content.replace(/\n$/, "") };
}

function isHeading(type: string | undefined): boolean {
  return type === "heading_open";
}

function isPaneFence(info: string | undefined): boolean {
  return /^js live (naive|pattern)\b/.test(info ?? "");
}

/** Returns code as HTML, with the syntax highlighting of the playground. */
function highlighted(code: string): string {
  return highlight(code)
    .map(({ kind, text }) =>
      kind === "plain" ? escapeHtml(text) : `<span class="${kind}">${escapeHtml(text)}</span>`,
    )
    .join("");
}

function plain({ language, code, title }: Fence): string {
  const body = language === "text" || language === "" ? escapeHtml(code) : highlighted(code);
  const caption = title === undefined ? "" : `<p class="file">${escapeHtml(title)}</p>`;
  return `${caption}${codeBlock(body)}\n`;
}

/** Returns a block of code, which is HTML. */
export function codeBlock(html: string): string {
  return `<pre class="code" tabindex="0"><code>${html}</code></pre>`;
}

function setupBlock({ code, title }: Fence): string {
  return (
    `<details class="setup"><summary>${escapeHtml(title ?? "Setup for every code block")}</summary>` +
    `<pre class="code" tabindex="0"><code id="setup">${highlighted(code)}</code></pre></details>\n`
  );
}

// The comparison below two panes; src/cost-comparison.ts fills it.
const costComparison =
  '<div class="cost-comparison"><button type="button" hidden>Run both</button><div class="bars" aria-live="polite"></div></div>\n';

const paneTitles = { naive: "Naive design", pattern: "Pattern" };

function liveBlock({ code, words, title }: Fence, setup: boolean, heading: string): string {
  const kind = words.includes("naive") ? "naive" : words.includes("pattern") ? "pattern" : "";
  const label = title ?? (kind === "" ? heading : paneTitles[kind]);
  const attributes = [
    ` label="${escapeHtml(label)}"`,
    setup ? ' setup="setup"' : "",
    kind !== "" || words.includes("heat") ? " data-heat" : "",
    words.includes("servers") ? " data-servers" : "",
    words.includes("throttle") ? ' throttle="azure"' : "",
    words.includes("kept") ? ' store="guide"' : "",
  ].join("");
  const element = `<table-playground${attributes}><pre>${highlighted(code)}</pre></table-playground>\n`;
  if (kind === "") return `<div class="live">${element}</div>\n`;
  return `<section class="pane ${kind}"><h3><span class="label">${kind}</span> ${escapeHtml(label)}</h3>${element}</section>\n`;
}

function linkTo(from: Page, target: string): string {
  const [file = "", fragment] = target.split("#");
  const folder = new URL(from.file, "http://pages/");
  const path = pathOf(new URL(file, folder).pathname.slice(1));
  return `${upFrom(from)}${path}${fragment === undefined ? "" : `#${fragment}`}` || "./";
}

/** Returns the relative URL from a page to the start page: "./" or "../../". */
export function upFrom({ path }: Pick<Page, "path">): string {
  return "../".repeat(path.split("/").length - 1) || "./";
}

function slug(title: string): string {
  const letters = title.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, "");
  return letters.replaceAll(" ", "-");
}
