// Runs every ```ts block of the READMEs as a module, with the built package. A comment after a line
// states what the line must print: console.log(x); // text. If the line runs several times, the
// comment lists the outputs separated by ", ". tests/browser runs the blocks for pages and for
// Playwright.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import { newProject } from "./support/project.ts";
import { codeBlocksOf } from "./support/readme.ts";

// The blocks are written into a project where their imports resolve to the built package and its
// peer dependencies.
const project = newProject(["@azure/data-tables", "msw"]);
after(() => rmSync(project, { recursive: true }));

declare global {
  var readmePrinted: (line: number, ...values: unknown[]) => void;
}

for (const name of ["README.md", "web/README.md", "demo/example/README.md"]) {
  describe(name, () => {
    const blocks = codeBlocksOf(name, "ts");

    test("has blocks to run", () => assert(blocks.length > 0));

    for (const { line: first, source } of blocks) {
      test(`the block at line ${first}`, async () => {
        const expected = new Map<number, string>();
        const printed = new Map<number, string[]>();
        globalThis.readmePrinted = (line, ...values) => {
          const lines = printed.get(line) ?? [];
          lines.push(format(...values));
          printed.set(line, lines);
        };
        const lines = source.split("\n").map((text, i) => {
          const comment = /console\.log\(.*\);.*?\/\/ (.*)$/.exec(text)?.[1];
          if (comment === undefined) return text;
          expected.set(first + i, comment);
          return text.replace("console.log(", `readmePrinted(${first + i}, `);
        });
        const module = join(project, `${name.replaceAll("/", "-")}-${first}.ts`);
        writeFileSync(module, lines.join("\n"));
        await import(pathToFileURL(module).href);
        for (const [line, text] of expected) {
          assert.equal(printed.get(line)?.join(", "), text, `${name}:${line}`);
        }
      });
    }
  });
}
