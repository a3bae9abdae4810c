// The API reference contains everything that the package exports.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { init, parse } from "es-module-lexer";
import { packageFolder } from "../../web/support/package.ts";
import { type Guide, openGuide } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  await init;
  guide = await openGuide();
});

after(() => guide?.close());

// All entries that have declarations. Some of the scripts are for workers or for a test runner, so
// their exports are found by parsing and not by running them. The entries below ./explorer are the
// same script, with types for a framework.
const manifest = JSON.parse(readFileSync(new URL("package.json", packageFolder), "utf8"));
const entries = Object.entries<{ types?: unknown; default: string }>(manifest.exports).filter(
  ([entry, { types }]) => types !== undefined && !entry.startsWith("./explorer/"),
);

test("the test reads the manifest's entries correctly", () => {
  const found = entries.map(([entry]) => entry);
  const scripts = Object.entries<{ default: string }>(manifest.exports)
    .filter(([entry]) => entry.startsWith("./explorer"))
    .map(([, target]) => target.default);
  assert.equal(new Set(scripts).size, 1);
  assert.deepEqual(
    [".", "./worker", "./explorer", "./package.json"].map((entry) => found.includes(entry)),
    [true, true, true, false],
  );
});

for (const [entry, target] of entries) {
  const title = entry.replace(/^\./, "entitable").replaceAll("/", "-");
  test(`${title}: every export has a declaration`, async () => {
    const [, exported] = parse(readFileSync(new URL(target.default, packageFolder), "utf8"));
    const names = exported.map((one) => {
      assert("name" in one, "one that is not read here: export *");
      return one.name;
    });
    const page = await guide.open(`api/${title}`);
    const declarations = await page.$$eval(".declaration", (sections) =>
      sections.map((section) => [section.id, section.querySelector("pre")?.textContent ?? ""]),
    );
    const codes = new Map(declarations.map(([id = "", code = ""]) => [id, code]));
    assert(codes.size > 0);
    for (const one of names) assert(codes.get(one)?.includes(one), one);
    await page.close();
  });
}

test("types lead to their declarations", async () => {
  const page = await guide.open("api/entitable");
  const declaration = page.locator("#openStore");
  assert.match((await declaration.textContent()) ?? "", /Opens a store, creating it if needed\./);
  assert.match(
    (await declaration.locator("pre").textContent()) ?? "",
    /^function openStore\(options\?: OpenOptions\): Promise<Store>;$/,
  );
  await declaration.getByRole("link", { name: "OpenOptions" }).click();
  await page.waitForURL("**/api/entitable/#OpenOptions");
  assert.match(
    (await page.locator("#OpenOptions pre").textContent()) ?? "",
    /durability\?: Durability;/,
  );
  await page.close();
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
