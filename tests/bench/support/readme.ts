// Tables of README.md are written by the commands that measured them, between two comments that
// name the command.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../README.md", import.meta.url);

export function writeTable(name: string, markdown: string): void {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->\n`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`README.md has no place for the table of ${name}.`);
  const table = `${markdown.trimEnd()}\n`;
  writeFileSync(file, text.slice(0, from + begin.length) + table + text.slice(to));
}

// With one column of words, and the others of numbers.
export function markdownTable(columns: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const rule = `|---|${columns
    .slice(1)
    .map(() => "---:|")
    .join("")}\n`;
  return line(columns) + rule + rows.map(line).join("");
}
