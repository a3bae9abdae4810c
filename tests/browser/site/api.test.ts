// The reference has all that the package exports.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { packageFolder } from "../../web/support/package.ts";
import { type Guide, openGuide } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

for (const entry of [
  "index",
  "bulk/index",
  "data-tables/index",
  "explorer/index",
  "keys/index",
  "testing/index",
]) {
  const name = entry === "index" ? "entitable" : `entitable-${entry.replace("/index", "")}`;
  test(`${name}: each of its exports, with a declaration`, async () => {
    const exported = Object.keys(await import(new URL(`dist/${entry}.js`, packageFolder).href));
    const page = await guide.open(`api/${name}`);
    const told = await page.$$eval(".declaration", (sections) =>
      sections.map((section) => [section.id, section.querySelector("pre")?.textContent ?? ""]),
    );
    const codes = new Map(told.map(([id = "", code = ""]) => [id, code]));
    for (const one of exported) assert(codes.get(one)?.includes(one), one);
    await page.close();
  });
}

test("types lead to their declarations", async () => {
  const page = await guide.open("api/entitable");
  const declaration = page.locator("#openStore");
  assert.match((await declaration.textContent()) ?? "", /Opens a store, making it if need be\./);
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

test("nothing was printed and nothing went wrong", () => {
  assert.deepEqual(guide.problems, []);
});
