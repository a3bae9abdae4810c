// The chapters of the guide itself: buttons are pressed, and what is shown is compared with what the data says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

test("the first page", async () => {
  const page = await guide.open("");
  const employee = [["Legal", "000223", "51"]]; // 20 + (223 * 7) % 45

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Access: "table scan",
    Requests: "1",
    "Rows read": "20,000",
    Returned: "1",
  });
  assert.deepEqual(naive.tables, [employee]);
  assert.equal(Object.keys(naive.heat).length, 10);
  assert.equal(naive.heat["Supply"], "2,000 read");

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, {
    Access: "point query",
    Requests: "1",
    "Rows read": "1",
    Returned: "1",
  });
  assert.deepEqual(pattern.tables, [employee]);
  assert.deepEqual(pattern.heat, { Legal: "1 read" });
  await page.close();
});

test("start: a row is written to a store that stays, and found again after a reload", async () => {
  const page = await guide.open("start");
  assert.match((await runBlock(page, 1)).error, /^404 TableNotFound/);
  const [written] = (await runBlock(page, 0)).tables;
  await page.reload();
  const [found] = (await runBlock(page, 1)).tables;
  assert.deepEqual(found, written);
  assert.deepEqual(found?.at(-1), ["stock", "7"]);

  const { tables, captions } = await runBlock(page, 2);
  assert.deepEqual(captions, ["In stock", "What that costs"]);
  assert.deepEqual(tables[0], [
    ["0042", "Arc", "7"],
    ["0043", "Bow", "3"],
  ]);
  assert.deepEqual(tables[1], [
    ["kind", "partition"],
    ["rowsRead", "3"],
    ["rowsReturned", "2"],
  ]);
  await page.close();
});

test("the colours are chosen, and stay chosen", async () => {
  const page = await guide.open("");
  const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  assert.equal(await scheme(), "light dark");
  for (const [name, expected] of [
    ["light", "light"],
    ["dark", "dark"],
  ]) {
    await page.getByRole("button", { name: /^Colours/ }).click();
    await page.getByRole("button", { name: `Colours: ${name}` }).waitFor();
    assert.equal(await scheme(), expected);
  }
  await page.reload();
  assert.equal(await scheme(), "dark");
  await page.getByRole("button", { name: /^Colours/ }).click();
  assert.equal(await scheme(), "light dark");
  await page.close();
});

test("on a phone the contents are a menu, which the keyboard opens", async () => {
  const page = await guide.open("");
  await page.setViewportSize({ width: 390, height: 844 });
  const entry = page.locator(".guide a", { hasText: "Start in a minute" });
  await entry.waitFor({ state: "hidden" });
  await page.getByText("Contents").focus();
  await page.keyboard.press("Enter");
  await entry.click();
  await page.waitForURL("**/some/path/start/");
  assert.equal(await page.locator("[aria-current=page]").textContent(), "Start in a minute");
  await page.close();
});

test("nothing was printed and nothing went wrong", () => {
  assert.deepEqual(guide.problems, []);
});
