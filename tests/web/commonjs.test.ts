// The CommonJS form of the built package: the same exports as the ES modules, and one state.

import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { linkFrameworks, newProject } from "./support/project.ts";

interface Entry {
  readonly require?: string;
  readonly default: string;
}

// In a project, so that the entries find the packages that they need.
const project = newProject(["@playwright/test", "msw"]);
linkFrameworks(project);
after(() => rmSync(project, { recursive: true }));
const packageFolder = pathToFileURL(`${join(project, "node_modules/entitable")}/`);
const require = createRequire(packageFolder);
const manifest = JSON.parse(readFileSync(new URL("package.json", packageFolder), "utf8"));
const entries = Object.entries(manifest.exports as Record<string, Entry>);
const scripts = ["./elements", "./service-worker", "./worker"]; // for pages and workers only

for (const [name, entry] of entries) {
  if (typeof entry === "string") continue;
  test(`${name} ${scripts.includes(name) ? "has no CommonJS form" : "has the same exports"}`, async () => {
    assert.equal(entry.require === undefined, scripts.includes(name));
    if (entry.require === undefined) return;
    const exported = await import(new URL(entry.default, packageFolder).href);
    assert.deepEqual(Object.keys(require(entry.require)).sort(), Object.keys(exported).sort());
  });
}

test("a program that does not know `require` first loads the ES modules", () => {
  for (const [, entry] of entries) {
    if (typeof entry === "string" || entry.require === undefined) continue;
    const { types, ...files } = entry as Entry & { types: object };
    const conditions = ["bun", "module-sync", "module", "require", "default"];
    assert.deepEqual(Object.keys(files), conditions);
    assert.deepEqual(Object.keys(types), ["require", "default"]);
    assert.equal(new Set(Object.values(files)).size, 2);
  }
});

test("the entries share their classes, and the engine's files", async () => {
  const core = require("./dist/cjs/index.cjs");
  const dataTables = require("./dist/cjs/data-tables.cjs");
  assert.equal(core.RestError, dataTables.RestError);
  const store = await require("./dist/cjs/testing.cjs").mockStore({ fixtures: { lamps: [] } });
  await assert.rejects(store.table("lamps").getEntity("desk", "1"), core.RestError);
  await store.close();
  // one copy of the code, without the engine
  // Newer versions of Emscripten make a larger module.
  const sizeMax = process.env["ENTITABLE_ANY_VERSION"] === undefined ? 760_000 : 790_000;
  assert.ok(statSync(new URL("dist/cjs/entitable.cjs", packageFolder)).size < sizeMax);
});

test("entitable/inline reads the complete module from its file", () => {
  const { wasm } = require("./dist/cjs/inline.cjs");
  const file = readFileSync(new URL("dist/wasm/entitable.wasm", packageFolder));
  assert.ok(Buffer.from(wasm).equals(file));
});
