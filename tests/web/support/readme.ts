// Extracts the code blocks of a README.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface CodeBlock {
  line: number; // number of its first line in the file
  source: string;
}

/** `name` is relative to the repository's root. */
export function codeBlocksOf(name: string, language: "js" | "sh" | "ts"): CodeBlock[] {
  const file = fileURLToPath(new URL(`../../../${name}`, import.meta.url));
  const markdown = readFileSync(file, "utf8");
  const fenced = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms");
  return [...markdown.matchAll(fenced)].map(({ index, 1: source = "" }) => {
    return { line: markdown.slice(0, index).split("\n").length + 1, source };
  });
}

/** Returns the source of the only block that contains this text. */
export function codeBlockWith(name: string, language: "js" | "sh" | "ts", text: string): string {
  const [block, ...more] = codeBlocksOf(name, language).filter(({ source }) =>
    source.includes(text),
  );
  if (block === undefined || more.length > 0) throw new Error(`${name} has not one with ${text}`);
  return block.source;
}
