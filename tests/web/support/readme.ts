// Extracts the code blocks of a README or of a page of the site.

import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export type Language = "js" | "sh" | "svelte" | "ts" | "tsx" | "vue";

export interface CodeBlock {
  line: number; // number of its first line in the file
  source: string;
  title: string; // the name of the file that the reader creates, or ""
}

/** `name` is relative to the repository's root. */
export function codeBlocksOf(name: string, language: Language): CodeBlock[] {
  const markdown = readFileSync(`${root}${name}`, "utf8");
  const fenced = new RegExp(`^\`\`\`${language}(?: title="([^"]*)")?\n(.*?)^\`\`\`$`, "gms");
  return [...markdown.matchAll(fenced)].map(({ index, 1: title = "", 2: source = "" }) => {
    return { line: markdown.slice(0, index).split("\n").length + 1, source, title };
  });
}

/**
 * Returns the examples of a README or a page, as modules. On a page of the API reference, the block
 * above the first heading is the beginning of each example.
 */
export function examplesOf(name: string): CodeBlock[] {
  const blocks = codeBlocksOf(name, "ts");
  const markdown = readFileSync(`${root}${name}`, "utf8");
  const introduction = markdown.slice(0, markdown.search(/^## /m)).split("\n").length;
  const [setup, ...examples] = blocks;
  if (!name.startsWith(referencePages) || setup === undefined || setup.line > introduction)
    return blocks;
  return examples.map(({ line, source, title }) => {
    const begun = `${setup.source}\n${source}`;
    return { line: line - setup.source.split("\n").length, source: begun, title };
  });
}

export const referencePages = "demo/site/pages/api/";

/** Returns the pages of the site that have examples. */
export function pagesWithExamples(): string[] {
  const names = globSync("demo/site/pages/**/*.md", { cwd: root });
  return names
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => codeBlocksOf(name, "ts").length > 0)
    .sort();
}

/** Returns the source of the only block that contains this text. */
export function codeBlockWith(name: string, language: Language, text: string): string {
  const [block, ...more] = codeBlocksOf(name, language).filter(({ source }) =>
    source.includes(text),
  );
  if (block === undefined || more.length > 0) throw new Error(`${name} has not one with ${text}`);
  return block.source;
}
