// Runs every ```ts block of the READMEs and of the site's pages as a module, with the built
// package. A comment after a line states what the line must print: console.log(x); // text. If the
// line runs several times, the comment lists the outputs separated by ", ". tests/browser runs the
// blocks for pages, for frameworks and for Playwright.
//
// Each block runs twice, as in a page that is reloaded: stores are in IndexedDB unless the block
// says otherwise, and are closed after each run.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import type { Store } from "../../web/src/index.ts";
import { linkFrameworks, newProject } from "./support/project.ts";
import { examplesOf, pagesWithExamples } from "./support/readme.ts";

// The blocks are written into a project where their imports resolve to the built package and its
// peer dependencies.
const project = newProject(["@azure/data-tables", "msw"]);
linkFrameworks(project);
after(() => rmSync(project, { recursive: true }));

declare global {
  var readmePrinted: (line: number, ...values: unknown[]) => void;
  var readmeStores: Store[]; // that the running block has opened
}

// The blocks import this module in place of "entitable".
writeFileSync(
  join(project, "entitable.ts"),
  `import { openStore as open } from "entitable";
export * from "entitable";
export async function openStore(options) {
  const store = await open(options);
  globalThis.readmeStores.push(store);
  return store;
}
`,
);

const readmes = ["README.md", "web/README.md", "demo/example/README.md"];

test("the site's pages have examples", () => assert(pagesWithExamples().length > 40));

for (const name of [...readmes, ...pagesWithExamples()]) {
  describe(name, () => {
    const blocks = examplesOf(name);

    test("has blocks to run", () => assert(blocks.length > 0));

    for (const { line: first, source } of blocks) {
      const runBlock = async (run: number) => {
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
        const module = join(project, `${name.replaceAll("/", "-")}-${first}-${run}.ts`);
        writeFileSync(
          module,
          lines.join("\n").replace('from "entitable";', 'from "./entitable.ts";'),
        );
        globalThis.readmeStores = [];
        try {
          await import(pathToFileURL(module).href);
        } finally {
          for (const store of globalThis.readmeStores) await store.close();
        }
        for (const [line, text] of expected) {
          assert.equal(printed.get(line)?.join(", "), text, `${name}:${line}`);
        }
      };

      test(`the block at line ${first}, twice`, async () => {
        await runBlock(1);
        await runBlock(2);
      });
    }
  });
}
