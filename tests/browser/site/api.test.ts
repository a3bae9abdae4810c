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

interface Declared {
  /** A type, or what another entry point exports too. */
  readonly isFolded: boolean;
  readonly code: string;
  /** The paragraphs around the code. */
  readonly text: string;
  /** How many blocks of code there are: the declaration and the examples. */
  readonly blocks: number;
}

interface ReferencePage {
  readonly path: string;
  readonly declarations: readonly [id: string, Declared][];
  /** The pages to which it links as parts of its entry point, such as those of classes. */
  readonly parts: readonly string[];
  readonly height: number; // in pixels
}

const pagesRead = new Map<string, ReferencePage>();

/** Reads a page in the browser, once for all tests. */
async function read(path: string): Promise<ReferencePage> {
  const known = pagesRead.get(path);
  if (known !== undefined) return known;
  const tab = await guide.open(path);
  const declarations = await tab.$$eval(".declaration", (sections) =>
    sections.map((section): [string, Declared] => [
      section.id,
      {
        isFolded: section.localName === "details",
        code: section.querySelector("pre")?.textContent ?? "",
        text: [...section.querySelectorAll("p")].map(({ textContent }) => textContent).join(" "),
        blocks: section.querySelectorAll("pre").length,
      },
    ]),
  );
  const links = await tab.$$eval("a.declared", (found) =>
    found.map((link) => (link as HTMLAnchorElement).href),
  );
  const parts = links.map((link) => link.slice(guide.url.length).replace(/\/$/, ""));
  const height = await tab.evaluate(() => document.documentElement.scrollHeight);
  const page = { path, declarations, parts, height };
  pagesRead.set(path, page);
  await guide.leave(tab);
  return page;
}

/** Returns the page of an entry point, and the pages of its classes. */
async function pagesOfEntry(entry: string): Promise<ReferencePage[]> {
  const first = await read(`api/${titleOf(entry)}`);
  const pages = [first];
  for (const path of first.parts) pages.push(await read(path));
  return pages;
}

const titleOf = (entry: string) => entry.replace(/^\./, "entitable").replaceAll("/", "-");

for (const [entry, target] of entries) {
  const title = titleOf(entry);
  test(`${title}: every export has a declaration`, async () => {
    const [, exported] = parse(readFileSync(new URL(target.default, packageFolder), "utf8"));
    const names = exported.map((one) => {
      assert("name" in one, "one that is not read here: export *");
      return one.name;
    });
    const codes = new Map<string, string>();
    for (const { declarations } of await pagesOfEntry(entry)) {
      for (const [id, { code }] of declarations) codes.set(id, code);
    }
    assert(codes.size > 0);
    for (const one of names) assert(codes.get(one)?.includes(one), one);
  });

  test(`${title}: every function and method has a description, its errors and an example`, async () => {
    for (const { path, declarations } of await pagesOfEntry(entry)) {
      for (const [id, { isFolded, code, text, blocks }] of declarations) {
        const isCalled = id.includes(".") || code.startsWith("function");
        if (isFolded || !isCalled || id === "connect") continue; // programs do not call connect
        const [description, ...more] = text.split("Errors:");
        assert(description?.trim() !== "" && more.length > 0, `${path}: ${id}: ${text}`);
        assert(blocks > 1, `${path}: ${id} has no example`);
      }
    }
  });
}

test("types lead to their declarations", async () => {
  const page = await guide.open("api/entitable");
  const declaration = page.locator("#openStore");
  assert.match((await declaration.textContent()) ?? "", /Opens a store, creating it if needed\./);
  assert.match(
    (await declaration.locator("pre").first().textContent()) ?? "",
    /^function openStore\(options\?: OpenOptions\): Promise<Store>;$/,
  );
  await declaration.getByRole("link", { name: "OpenOptions" }).click();
  await page.waitForURL("**/api/entitable/#OpenOptions");
  const options = page.locator("#OpenOptions pre");
  await options.waitFor({ state: "visible" }); // the link has unfolded it
  assert.match((await options.textContent()) ?? "", /durability\?: Durability;/);
  await guide.leave(page);
});

test("no page of the reference is very long", async () => {
  for (const [entry] of entries) {
    for (const { path, height } of await pagesOfEntry(entry)) {
      assert(height <= 15_000, `${path}: ${height} pixels`);
    }
  }
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
