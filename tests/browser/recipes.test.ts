// Builds the components of the recipes for frameworks, and uses them in pages.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { linkFrameworks, newProject } from "../web/support/project.ts";
import { codeBlocksOf, type Language } from "../web/support/readme.ts";
import { newProfile } from "./support/browser.ts";
import { compileSolid } from "./support/frameworks.ts";
import { serve } from "./support/server.ts";

const recipes = "demo/site/pages/recipes";
const types = fileURLToPath(new URL("../types/", import.meta.url));
const required = createRequire(join(types, "package.json"));

let project: string;
let context: BrowserContext;
const closing: (() => Promise<void>)[] = [];

before(async () => {
  project = newProject([]);
  linkFrameworks(project);
  writeBlocks("notes", "ts", project);
  for (const language of ["svelte", "vue"] as const) writeBlocks(language, language, project);
  writeBlocks("notebooks", "ts", project);
  for (const page of ["notebooks", "dexie"]) writeBlocks(page, "tsx", project);
  for (const page of ["preact", "react", "solid"]) {
    writeBlocks(page, "tsx", page === "react" ? project : join(project, page));
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

// Writes the files that the blocks of a page show.
function writeBlocks(page: string, language: Language, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const { title, source } of codeBlocksOf(`${recipes}/${page}.md`, language))
    writeFileSync(join(folder, title), source);
}

// Compiles Vue's and Svelte's single-file components.
const components: Plugin = {
  name: "components",
  setup({ onLoad }) {
    onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { compileScript, parse } = required("vue/compiler-sfc");
      const { descriptor } = parse(readFileSync(path, "utf8"));
      const { content } = compileScript(descriptor, { id: "notes", inlineTemplate: true });
      return { contents: content, loader: "ts", resolveDir: project };
    });
    onLoad({ filter: /\.svelte$/ }, ({ path }) => {
      const { compile } = required("svelte/compiler");
      const { js } = compile(readFileSync(path, "utf8"), { generate: "client" });
      return { contents: js.code, loader: "js", resolveDir: project };
    });
  },
};

async function bundled(main: string, jsxImportSource = "react"): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: main, resolveDir: project, loader: "tsx" },
    outdir: join(project, "dist"),
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    jsxImportSource,
    conditions: ["browser"],
    plugins: [components, compileSolid(/solid\/.*\.tsx$/, "dom")],
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

const liveMains = {
  react: `import { StrictMode } from "react";
    import { createRoot } from "react-dom/client";
    import { LiveNotes } from "./live-notes";
    createRoot(document.querySelector("main")).render(<StrictMode><LiveNotes /></StrictMode>);`,
  preact: `import { render } from "preact";
    import { LiveNotes } from "./preact/live-notes";
    render(<LiveNotes />, document.querySelector("main"));`,
  vue: `import { createApp } from "vue";
    import LiveNotes from "./LiveNotes.vue";
    createApp(LiveNotes).mount("main");`,
  svelte: `import { mount } from "svelte";
    import LiveNotes from "./LiveNotes.svelte";
    mount(LiveNotes, { target: document.querySelector("main") });`,
  solid: `import { createComponent } from "solid-js";
    import { render } from "solid-js/web";
    import { LiveNotes } from "./solid/live-notes";
    render(() => createComponent(LiveNotes, {}), document.querySelector("main"));`,
};

// Opens tabs with the script of a recipe. `problems` gets their errors.
async function openTabs(script: string, count: number, problems: string[]): Promise<Page[]> {
  const site = await serve(join(project, "node_modules/entitable/dist/wasm"), {
    override: (path) => {
      if (path === "/") return { body: document };
      return path === "/main.js" ? { type: "text/javascript", body: script } : undefined;
    },
  });
  closing.unshift(() => site.close());
  const pages: Page[] = [];
  for (let tab = 0; tab < count; ++tab) {
    const page = await context.newPage();
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(site.url);
    pages.push(page);
  }
  return pages;
}

async function add(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Note" }).fill(text);
  await page.getByRole("button", { name: "Add" }).click();
  await page.getByRole("listitem").filter({ hasText: text }).waitFor();
}

async function texts(page: Page): Promise<string[]> {
  const all = await page.getByRole("listitem").allInnerTexts();
  return all.map((text) => text.replace(/\s*Delete/, "").trim());
}

for (const [framework, main] of Object.entries(mains)) {
  test(`${framework}: notes are added, survive a reload, and are deleted`, async () => {
    const problems: string[] = [];
    const [page] = (await openTabs(await bundled(main), 1, problems)) as [Page];
    const notes = page.getByRole("listitem");
    for (const text of ["first", "second"]) await add(page, text);
    await page.reload();
    await notes.nth(1).waitFor();
    assert.deepEqual(await texts(page), ["second", "first"]); // the newest first
    await notes.first().getByRole("button", { name: "Delete" }).click();
    await notes.nth(1).waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await page.close();
  });
}

for (const [framework, main] of Object.entries(liveMains)) {
  test(`${framework}: a list follows what another tab writes`, async () => {
    const problems: string[] = [];
    const script = await bundled(main, framework === "preact" ? "preact" : "react");
    const pages = (await openTabs(script, 2, problems)) as [Page, Page];
    const [page, other] = pages;
    await other.getByText("Loading…").waitFor({ state: "detached" });
    for (const text of ["first", "second"]) await add(page, text);
    const notes = other.getByRole("listitem");
    await notes.nth(1).waitFor();
    assert.deepEqual(await texts(other), ["second", "first"]);
    await notes.first().getByRole("button", { name: "Delete" }).click();
    await page.getByRole("listitem").nth(1).waitFor({ state: "detached" });
    assert.deepEqual(await texts(page), ["first"]);
    assert.deepEqual(problems, []);
    for (const one of pages) await one.close();
  });
}

test("the data of the notes in notebooks takes at most 30 lines", () => {
  const [{ source = "" } = {}] = codeBlocksOf(`${recipes}/notebooks.md`, "ts");
  assert(source.includes("useNotes"));
  const lines = source.split("\n").filter((line) => line.trim() !== "");
  assert(lines.length <= 30, `${lines.length} lines`);
});

const notebooksMain = `import { StrictMode } from "react";
  import { createRoot } from "react-dom/client";
  import { openStore } from "entitable";
  import { Notebooks } from "./notebooks";
  createRoot(document.querySelector("main")).render(<StrictMode><Notebooks /></StrictMode>);
  // Changes the only note, and presses the Delete that was shown before.
  globalThis.changeAndDelete = async (text) => {
    const store = await openStore({ name: "notebooks", version: 1 });
    const notes = store.table("notes");
    for await (const { partitionKey, rowKey } of notes.listEntities()) {
      const button = document.querySelector("li button:last-child");
      const { onClick } = button[Object.keys(button).find((key) => key.startsWith("__reactProps"))];
      await notes.updateEntity({ partitionKey, rowKey, text });
      onClick();
    }
    await store.close();
  };`;

async function addNotebook(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: "Notebook" }).fill(name);
  await page.getByRole("button", { name: "Add notebook" }).click();
}

async function addNote(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Note", exact: true }).fill(text);
  await page.getByRole("button", { name: "Add note", exact: true }).click();
}

test("notes in notebooks: tabs follow each other, and notice a conflict", async () => {
  const problems: string[] = [];
  const script = await bundled(notebooksMain);
  const [page, other] = (await openTabs(script, 2, problems)) as [Page, Page];
  for (const name of ["Work/2026", "Home"]) {
    await addNotebook(page, name);
    await other.getByRole("button", { name, exact: true }).waitFor();
  }
  for (const one of [page, other]) await one.getByRole("button", { name: "Work/2026" }).click();
  for (const text of ["bread", "milk"]) {
    await addNote(page, text);
    await other.getByRole("listitem").filter({ hasText: text }).waitFor();
  }
  const shown = async () =>
    (await other.getByRole("listitem").allInnerTexts()).map((text) => text.split(/\s*Edit/)[0]);
  assert.deepEqual(await shown(), ["milk", "bread"]); // the newest first
  await other.getByRole("button", { name: "Home" }).click();
  await other.getByRole("listitem").first().waitFor({ state: "detached" });
  await other.getByRole("button", { name: "Work/2026" }).click();

  const edit = async (one: Page, text: string) => {
    await one.getByRole("listitem").last().getByRole("button", { name: "Edit" }).click();
    await one.getByRole("textbox", { name: "Text" }).fill(text);
  };
  await edit(page, "bread and jam");
  await edit(other, "bread and cheese");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("listitem").filter({ hasText: "bread and jam" }).waitFor();
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText("Meanwhile changed to: bread and jam").waitFor();
  await page.getByRole("listitem").filter({ hasText: "bread and jam" }).waitFor(); // unchanged
  await other.getByRole("button", { name: "Overwrite" }).click();
  await page.getByRole("listitem").filter({ hasText: "bread and cheese" }).waitFor();

  await page.getByRole("listitem").first().getByRole("button", { name: "Delete" }).click();
  await other.getByRole("listitem").nth(1).waitFor({ state: "detached" });
  assert.deepEqual(await shown(), ["bread and cheese"]);
  assert.deepEqual(problems, []);
  for (const one of [page, other]) await one.close();
});

test("notes in notebooks: a text stays if another tab deletes its note", async () => {
  const problems: string[] = [];
  const script = await bundled(notebooksMain);
  const [page, other] = (await openTabs(script, 2, problems)) as [Page, Page];
  await addNotebook(page, "Work");
  for (const one of [page, other]) await one.getByRole("button", { name: "Work" }).click();
  await addNote(page, "bread");
  await other.getByRole("listitem").getByRole("button", { name: "Edit" }).click();
  await other.getByRole("textbox", { name: "Text" }).fill("bread and cheese");
  await page.getByRole("listitem").getByRole("button", { name: "Delete" }).click();
  await other.getByRole("listitem").waitFor({ state: "detached" });
  assert.equal(await other.getByRole("textbox", { name: "Text" }).inputValue(), "bread and cheese");
  await other.getByRole("button", { name: "Add again" }).click();
  await page.getByRole("listitem").filter({ hasText: "bread and cheese" }).waitFor();
  await other.getByRole("textbox", { name: "Text" }).waitFor({ state: "detached" });
  assert.deepEqual(problems, []);
  for (const one of [page, other]) await one.close();
});

test("notes in notebooks: a note that was changed since it was shown is not deleted", async () => {
  const problems: string[] = [];
  const [page] = (await openTabs(await bundled(notebooksMain), 1, problems)) as [Page];
  await addNotebook(page, "Work");
  await page.getByRole("button", { name: "Work" }).click();
  await addNote(page, "bread");
  await page.getByRole("listitem").waitFor();
  await page.evaluate("changeAndDelete('milk')");
  await page.getByText("Not deleted").waitFor();
  await page.getByRole("listitem").filter({ hasText: "milk" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("notes in notebooks: nothing can be added before the store is open", async () => {
  const problems: string[] = [];
  const [page] = (await openTabs(await bundled(notebooksMain), 1, problems)) as [Page];
  let load = () => {};
  const loaded = new Promise<void>((resolve) => {
    load = resolve;
  });
  await page.route("**/*.wasm", (route) => loaded.then(() => route.continue()));
  await page.reload();
  const button = page.getByRole("button", { name: "Add notebook" });
  await button.waitFor();
  assert(await button.isDisabled());
  load();
  await addNotebook(page, "Work"); // waits until the form is enabled
  await page.getByRole("button", { name: "Work" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("the live query for users of Dexie follows what is written", async () => {
  const problems: string[] = [];
  const main = `import { createRoot } from "react-dom/client";
    import { openStore } from "entitable";
    import { Friends } from "./friends";
    createRoot(document.querySelector("main")).render(<Friends />);
    globalThis.add = async (name, age) => {
      const store = await openStore({ name: "people", version: 1 });
      await store.table("friends").createEntity({ partitionKey: "all", rowKey: name, name, age });
      await store.close();
    };`;
  const [page] = (await openTabs(await bundled(main), 1, problems)) as [Page];
  await page.getByText("Adults:").waitFor();
  await page.evaluate("add('Ann', 31).then(() => add('Bo', 7)).then(() => add('Cy', 40))");
  await page.getByText("Adults: Ann,Cy").waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

const document = `<!doctype html><html lang="en"><title>Notes</title><link rel="icon" href="data:,">
<main></main><script type="module" src="/main.js"></script></html>`;
