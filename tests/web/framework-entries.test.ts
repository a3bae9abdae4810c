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
  "tanstack-query": 608,
};
const entries = Object.keys(budgets);

const project = newProject();
after(() => rmSync(project, { recursive: true }));

// Bundles everything of an entry. What is loaded later is in the page's own file here. `loaded`:
// the page has these files already.
async function bundle(name: string, loaded: ReadonlySet<string>) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from "${name}";`, resolveDir: project },
    bundle: true,
    minify: true,
    format: "esm",
    write: false,
    metafile: true,
    absWorkingDir: project,
    external: ["@tanstack/*", ...entries.flatMap((one) => [one, `${one}/*`, `${one}-js`])],
    plugins: [
      {
        name: "loaded",
        setup: ({ onResolve }) =>
          onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
            const file = join(resolveDir, path);
            return loaded.has(file) ? { path, external: true } : undefined;
          }),
      },
    ],
    legalComments: "none",
    logLevel: "error",
  });
  const files = Object.keys(metafile.inputs).map((file) => join(project, file));
  return { text: outputFiles[0]?.text ?? "", files: new Set(files) };
}

const core = await bundle("entitable", new Set());
// The compressed size of a page. Its own code follows the core's, which is the same each time:
// otherwise the compression of the core would differ by more than the entries have.
const sizeOf = (text: string) => brotliCompressSync(core.text + text).length - coreSize;
const coreSize = brotliCompressSync(core.text).length;

for (const [entry, bytesMax] of Object.entries(budgets)) {
  test(`entitable/${entry} adds at most ${bytesMax} bytes to a page`, async (t) => {
    const { text } = await bundle(`entitable/${entry}`, core.files);
    const added = sizeOf(text.replaceAll(/import\{[^}]*\}from"\.[^"]*";/g, "")); // in one bundle
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
