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
import { highlight } from "entitable/explorer";
import MarkdownIt from "markdown-it";
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

/** Returns the body of a page. Links between Markdown files become links between pages. */
export function render(page: Page): string {
  const markdown = new MarkdownIt({ html: true, typographer: true });
  const { rules } = markdown.renderer;
  const setup = /^```js live setup\b/m.test(page.markdown);
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
    tokens[index]?.attrSet("id", slug(tokens[index + 1]?.content ?? ""));
    return self.renderToken(tokens, index, options);
  };
  rules["table_open"] = () =>
    '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';
  rules["table_close"] = () => "</table></div>\n";
  return markdown.render(page.markdown);
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

function plain({ language, code }: Fence): string {
  const body = language === "text" || language === "" ? escapeHtml(code) : highlighted(code);
  return `<pre class="code" tabindex="0"><code>${body}</code></pre>\n`;
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
