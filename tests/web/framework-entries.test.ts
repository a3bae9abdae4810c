// The entries for frameworks: what they add to a page that uses the core entry, and what they do
// where there is no framework around them. tests/browser/frameworks.test.ts tests what they do in
// components.

import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { build } from "esbuild";
import { newProject } from "./support/project.ts";

// How many bytes, compressed by brotli, each entry may add.
const budgets = {
  preact: 1024,
  react: 1024,
  solid: 1024,
  svelte: 1024,
  vue: 1024,
  "tanstack-db": 3584,
  "tanstack-query": 576,
};
const entries = Object.keys(budgets);

const project = newProject();
after(() => rmSync(project, { recursive: true }));

// Returns the compressed size of a page that uses everything of these entries. What it loads later
// is in the page's own file here.
async function sizeOf(...names: string[]): Promise<number> {
  const imports = names.map((name, index) => `export * as e${index} from "${name}";`);
  const { outputFiles } = await build({
    stdin: { contents: imports.join("\n"), resolveDir: project },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    external: ["@tanstack/*", ...entries.flatMap((name) => [name, `${name}/*`, `${name}-js`])],
    legalComments: "none",
    logLevel: "error",
  });
  return brotliCompressSync(outputFiles[0]?.contents ?? "").length;
}

const core = await sizeOf("entitable");

for (const [entry, bytesMax] of Object.entries(budgets)) {
  test(`entitable/${entry} adds at most ${bytesMax} bytes to a page`, async (t) => {
    const added = (await sizeOf("entitable", `entitable/${entry}`)) - core;
    t.diagnostic(`${added} bytes`);
    assert(added > 0 && added <= bytesMax, `${added} bytes`);
  });
}

test("each framework is an optional peer dependency", () => {
  const file = join(project, "node_modules/entitable/package.json");
  const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(file, "utf8"));
  for (const name of ["@tanstack/db", "preact", "react", "solid-js", "svelte", "vue"]) {
    assert(name in peerDependencies);
    assert.deepEqual(peerDependenciesMeta[name], { optional: true });
  }
});

test("the entry for React is for the client, in frameworks that also have server components", () => {
  const file = join(project, "node_modules/entitable/dist/frameworks/react.js");
  assert.match(readFileSync(file, "utf8"), /^(\/\/.*\n)*"use client";\n/);
});
