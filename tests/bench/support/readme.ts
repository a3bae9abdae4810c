// Writes tables into README.md. Each table is between two comments that name the command which
// measured it.

import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../README.md", import.meta.url);

export function writeTable(name: string, markdown: string): void {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- end of ${name} -->\n`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`README.md has no place for the table of ${name}.`);
  const table = `${wrapProse(markdown.trimEnd())}\n`;
  writeFileSync(file, text.slice(0, from + begin.length) + table + text.slice(to));
}

const columnsMax = 100;

/** Wraps lines that are not table rows at 100 columns. Continued list items are indented. */
function wrapProse(markdown: string): string {
  return markdown
    .split("\n")
    .map((line) => (line.startsWith("|") ? line : wrapLine(line)))
    .join("\n");
}

function wrapLine(line: string): string {
  const indent = line.startsWith("- ") ? "  " : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && current.length + 1 + word.length > columnsMax) {
      lines.push(current);
      current = indent + word;
    } else {
      current = current === "" ? word : `${current} ${word}`;
    }
  }
  return [...lines, current].join("\n");
}

// Returns a table whose first column is text and whose other columns are numbers.
export function markdownTable(columns: readonly string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const rule = `|---|${columns
    .slice(1)
    .map(() => "---:|")
    .join("")}\n`;
  return line(columns) + rule + rows.map(line).join("");
}
