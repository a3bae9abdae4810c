// Compiles programs against the declarations of the built package, as its users do: with the oldest
// supported TypeScript and the pinned one, and without skipLibCheck.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { linkFrameworks, newProject } from "./support/project.ts";
import { codeBlocksOf, examplesOf, pagesWithExamples, referencePages } from "./support/readme.ts";

const types = fileURLToPath(new URL("../types", import.meta.url));
const compilers = {
  "TypeScript 5.2": join(types, "node_modules/typescript/bin/tsc"),
  "the pinned TypeScript": fileURLToPath(
    new URL("../../node_modules/typescript/bin/tsc", import.meta.url),
  ),
};

const project = newProject(["@azure/data-tables", "@types/node", "msw"]);
after(() => rmSync(project, { recursive: true }));
cpSync(types, join(project, "types"), {
  recursive: true,
  filter: (path) => !/node_modules|\.json$/.test(path),
});
linkFrameworks(project);

// Options of an application that checks everything, including the declarations of its packages.
const strictOptions = {
  target: "es2022",
  lib: ["es2022", "dom"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
};

// Options of a project that `npm create vite` has created, of the template vanilla-ts.
const viteOptions = {
  target: "es2023",
  module: "esnext",
  lib: ["es2023", "dom"],
  types: [],
  skipLibCheck: true,
  moduleResolution: "bundler",
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  moduleDetection: "force",
  noEmit: true,
  strict: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  erasableSyntaxOnly: true,
  noFallthroughCasesInSwitch: true,
};

const programs = ["every-entry.ts", "filter.test-d.ts", "table.test-d.ts"];
const frameworkPrograms = ["preact.tsx", "react.tsx", "solid.tsx", "svelte.ts"].flatMap((file) => [
  `frameworks/${file}`,
  `jsx/${file}`,
]);
frameworkPrograms.push(
  "frameworks/tanstack-db.ts",
  "frameworks/tanstack-query.ts",
  "frameworks/vue.ts",
  "jsx/vue.tsx",
);
const commonJsProgram = `
import { openStore, type OpenOptions, RestError } from "entitable";
import { mockStore, type MockStore } from "entitable/testing";
const options: OpenOptions = {};
export const opened: Promise<[unknown, MockStore]> = Promise.all([openStore(options), mockStore()]);
export const isMissing = (error: unknown) => error instanceof RestError && error.statusCode === 404;
`;
let projects = 0;

// Returns what the compiler prints: nothing if there is no error.
async function compile(tsc: string, compilerOptions: object, files: string[]): Promise<string> {
  const config = join(project, `tsconfig-${projects++}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, include: files }));
  const run = spawn(process.execPath, [tsc, "-p", config], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(run.stdout), once(run, "close")]);
  return output;
}

describe("the declarations compile", { concurrency: true }, () => {
  for (const [name, tsc] of Object.entries(compilers)) {
    test(`${name} is installed`, () => assert(existsSync(tsc)));
    for (const module of ["node16", "nodenext", "esnext"]) {
      const moduleResolution = module === "esnext" ? "bundler" : module;
      test(`with ${name} and moduleResolution ${moduleResolution}`, async () => {
        const options = { ...strictOptions, module, moduleResolution };
        assert.equal(
          await compile(
            tsc,
            options,
            programs.map((file) => `types/${file}`),
          ),
          "",
        );
      });
    }
    test(`in components, JSX and templates with ${name}`, async () => {
      const options = { ...strictOptions, module: "esnext", moduleResolution: "bundler" };
      const jsx = { ...options, skipLibCheck: true, jsx: "react-jsx" };
      assert.equal(
        await compile(
          tsc,
          jsx,
          frameworkPrograms.map((file) => `types/${file}`),
        ),
        "",
      );
    });
  }
});

// Programs that require the package, such as tests for Jest. skipLibCheck is on where the compiler
// does not allow CommonJS to require an ES module, whose declarations those of CommonJS export.
describe("the declarations compile as CommonJS", { concurrency: true }, () => {
  const cases: [compiler: keyof typeof compilers, module: string, options?: object][] = [
    ["TypeScript 5.2", "commonjs", { moduleResolution: "node10" }],
    ["TypeScript 5.2", "node16", { skipLibCheck: true }],
    ["the pinned TypeScript", "node16", { skipLibCheck: true }],
    ["the pinned TypeScript", "nodenext"],
  ];
  for (const [index, [name, module, options]] of cases.entries()) {
    test(`with ${name} and module ${module}`, async () => {
      const file = `every-entry-${index}.cts`;
      cpSync(join(types, "every-entry.ts"), join(project, file));
      appendFileSync(join(project, file), commonJsProgram);
      const compilerOptions = { ...strictOptions, module, ...options };
      assert.equal(await compile(compilers[name], compilerOptions, [file]), "");
    });
  }
});

describe("the examples compile in a project that Vite created", { concurrency: true }, () => {
  const tsc = compilers["the pinned TypeScript"];
  const pages = pagesWithExamples();
  const reference = pages.filter((name) => name.startsWith(referencePages));
  // An example of the reference begins with lines of which it may use only some.
  const groups: Record<string, [names: string[], options: object]> = {
    "README.md": [["README.md"], {}],
    "web/README.md": [["web/README.md"], {}],
    "the site": [pages.filter((name) => !reference.includes(name)), {}],
    "the API reference": [reference, { noUnusedLocals: false }],
  };
  for (const [group, [names, more]] of Object.entries(groups)) {
    test(group, async () => {
      const folder = group.replace(/\W/g, "-");
      mkdirSync(join(project, folder));
      const examples = names.flatMap((name) => examplesOf(name).map((one) => ({ name, ...one })));
      assert(examples.length > 0);
      for (const { name, line, source } of examples) {
        writeFileSync(join(project, folder, `${name.replace(/\W/g, "-")}-${line}.ts`), source);
      }
      const forNode = examples.some(({ source }) => source.includes('from "node:'));
      const options = { ...viteOptions, ...more, types: forNode ? ["node"] : [] };
      assert.equal(await compile(tsc, options, [`${folder}/*.ts`]), "");
    });
  }

  test("the recipes for React, Next.js and users of Dexie", async () => {
    mkdirSync(join(project, "recipes"));
    const recipes = ["notes", "react", "notebooks", "next", "dexie"].map(
      (name) => `demo/site/pages/recipes/${name}.md`,
    );
    const blocks = recipes
      .flatMap((name) => [...codeBlocksOf(name, "ts"), ...codeBlocksOf(name, "tsx")])
      .filter(({ title }) => title !== "");
    assert.equal(blocks.length, 14);
    for (const { title, source } of blocks) {
      const name = title.replace(/^app\//, "").replaceAll("/", "-");
      writeFileSync(join(project, "recipes", name), source);
    }
    const options = { ...viteOptions, jsx: "react-jsx" };
    assert.equal(await compile(tsc, options, ["recipes/*"]), "");
  });

  for (const [page, jsxOptions] of Object.entries({
    tanstack: { jsx: "react-jsx" },
    preact: { jsx: "react-jsx", jsxImportSource: "preact" },
    solid: { jsx: "preserve", jsxImportSource: "solid-js" },
  })) {
    test(`the recipe for ${page}`, async () => {
      mkdirSync(join(project, `recipes-${page}`));
      const blocks = codeBlocksOf(`demo/site/pages/recipes/${page}.md`, "tsx");
      assert.equal(blocks.length, 1);
      for (const { title, source } of blocks)
        writeFileSync(join(project, `recipes-${page}`, title), source);
      const options = { ...viteOptions, ...jsxOptions };
      assert.equal(await compile(tsc, options, [`recipes-${page}/*`]), "");
    });
  }
});
