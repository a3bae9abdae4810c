// Builds the components of the recipes for React, Vue and Svelte, and uses them in a page.
import assert from "node:assert/strict";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { BrowserContext } from "playwright-core";
import { newProject } from "../web/support/project.ts";
import { codeBlocksOf } from "../web/support/readme.ts";
import { newProfile } from "./support/browser.ts";
import { bundleReact } from "./support/react.ts";
import { serve } from "./support/server.ts";

const recipes = "demo/site/pages/recipes";
const types = fileURLToPath(new URL("../types/", import.meta.url));
const example = fileURLToPath(new URL("../../demo/example/", import.meta.url));
const required = createRequire(join(types, "package.json"));

let project: string;
let context: BrowserContext;
const closing: (() => Promise<void>)[] = [];

before(async () => {
  await bundleReact(""); // installs React
  project = newProject([]);
  for (const [folder, name] of [
    [example, "react"],
    [example, "react-dom"],
    [types, "vue"],
    [types, "svelte"],
  ] as const) {
    symlinkSync(join(folder, "node_modules", name), join(project, "node_modules", name));
  }
  for (const page of ["notes", "react"]) {
    for (const language of ["ts", "tsx"] as const) {
      for (const { title, source } of codeBlocksOf(`${recipes}/${page}.md`, language))
        writeFileSync(join(project, title), source);
    }
  }
  const profile = await newProfile();
  context = await profile.open();
  closing.push(
    () => context.close(),
    () => profile.remove(),
  );
});

after(async () => {
  for (const close of closing) await close();
  rmSync(project, { recursive: true });
});

// Compiles Vue's and Svelte's single-file components.
const components: Plugin = {
  name: "components",
  setup({ onLoad }) {
    onLoad({ filter: /\.vue$/ }, () => {
      const { compileScript, parse } = required("vue/compiler-sfc");
      const { descriptor } = parse(component("vue"));
      const { content } = compileScript(descriptor, { id: "notes", inlineTemplate: true });
      return { contents: content, loader: "ts", resolveDir: project };
    });
    onLoad({ filter: /\.svelte$/ }, () => {
      const { compile } = required("svelte/compiler");
      const { js } = compile(component("svelte"), { generate: "client" });
      return { contents: js.code, loader: "js", resolveDir: project };
    });
  },
};

function component(language: "svelte" | "vue"): string {
  const [block] = codeBlocksOf(`${recipes}/${language}.md`, language);
  writeFileSync(join(project, block?.title ?? ""), block?.source ?? "");
  return block?.source ?? "";
}

async function bundled(main: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: main, resolveDir: project, loader: "tsx" },
    outdir: join(project, "dist"),
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    conditions: ["browser"],
    plugins: [components],
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return outputFiles[0]?.text ?? "";
}

const mains = {
  react: `import { StrictMode } from "react";
    import { createRoot } from "react-dom/client";
    import { NotesList } from "./notes-list";
    createRoot(document.querySelector("main")).render(<StrictMode><NotesList /></StrictMode>);`,
  vue: `import { createApp } from "vue";
    import NotesList from "./NotesList.vue";
    createApp(NotesList).mount("main");`,
  svelte: `import { mount } from "svelte";
    import NotesList from "./NotesList.svelte";
    mount(NotesList, { target: document.querySelector("main") });`,
};

for (const [framework, main] of Object.entries(mains)) {
  test(`${framework}: notes are added, survive a reload, and are deleted`, async () => {
    for (const language of ["svelte", "vue"] as const) component(language); // writes the files
    const script = await bundled(main);
    const site = await serve(join(project, "node_modules/entitable/dist/wasm"), {
      override: (path) => {
        if (path === "/") return { body: document };
        return path === "/main.js" ? { type: "text/javascript", body: script } : undefined;
      },
    });
    closing.unshift(() => site.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(site.url);
    const notes = page.getByRole("listitem");
    for (const text of ["first", "second"]) {
      await page.getByRole("textbox", { name: "Note" }).fill(text);
      await page.getByRole("button", { name: "Add" }).click();
      await notes.filter({ hasText: text }).waitFor();
    }
    await page.reload();
    await notes.nth(1).waitFor();
    const texts = await notes.allInnerTexts();
    assert.deepEqual(
      texts.map((text) => text.replace(/\s*Delete/, "").trim()),
      ["second", "first"], // the newest first
    );
    await notes.first().getByRole("button", { name: "Delete" }).click();
    await notes.nth(1).waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await page.close();
  });
}

const document = `<!doctype html><html lang="en"><title>Notes</title><link rel="icon" href="data:,">
<main></main><script type="module" src="/main.js"></script></html>`;
