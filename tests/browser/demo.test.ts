// Uses the playground as a visitor would, in real Chromium with real IndexedDB: loads all cities,
// reloads, queries and compares with plain JavaScript over the same data, edits with a conflict,
// and runs a transaction that fails.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { accessibilityProblems } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { screenshot } from "./support/screenshot.ts";
import { type Site, serve } from "./support/server.ts";

const build = new URL("../../build/", import.meta.url);
const total = 135_233;

type Row = [number, string, string, string, string, string, number, number, number];
interface City {
  pk: string;
  rk: string;
  name: string;
  population: number;
  latitude: number;
}

function allCities(): City[] {
  const rows = JSON.parse(readFileSync(new URL("site/cities.json", build), "utf8")) as Row[];
  return rows.map(([id, name, , country, , , population, , latitude]) => ({
    pk: country,
    rk: `${String(9_999_999_999 - population).padStart(10, "0")}-${id}`,
    name,
    population,
    latitude,
  }));
}

let profile: Profile;
let site: Site;
let context: BrowserContext;
let page: Page;
const problems: string[] = [];

async function openPage(): Promise<Page> {
  const opened = await context.newPage();
  opened.on("pageerror", (error) => problems.push(String(error)));
  opened.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  await opened.goto(`${site.url}workbench/`);
  return opened;
}

// Runs a query through the explorer.
async function query(filter: string, select = ""): Promise<{ kind: string; text: string }> {
  await page.fill("#filter", filter);
  await page.fill("#select", select);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("table-explorer [aria-busy]").waitFor({ state: "detached" });
  return {
    kind: (await page.textContent("[data-figure=Plan] dd")) ?? "",
    text: (await page.textContent("table-explorer .plan")) ?? "",
  };
}

// Waits until the table is shown with its first partition. A query before that would be replaced by
// this first one.
async function begunWith(partition: string): Promise<void> {
  await page.locator("tbody tr[data-row='0']").filter({ hasText: partition }).waitFor();
}

async function says(text: string | RegExp): Promise<void> {
  await page.locator("table-explorer .foot [role=status]").filter({ hasText: text }).waitFor();
}

before(async () => {
  profile = await newProfile();
  site = await serve(fileURLToPath(new URL("site/", build)));
  context = await profile.open();
  page = await openPage();
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
});

test("loads every city with a progress bar, and can pause", { timeout: 240_000 }, async () => {
  await page.waitForSelector("#load-button:not([disabled])");
  await screenshot(page, "1-empty", true);
  await page.click("#load-button");
  await page.waitForFunction(
    () => (document.querySelector("#load-bar") as HTMLProgressElement).value > 0.02,
  );
  await page.click("#load-button");
  await page.waitForFunction(() =>
    document.querySelector("#load-numbers")?.textContent?.includes("paused"),
  );
  const paused = await page.textContent("#load-numbers");
  await page.waitForTimeout(300);
  assert.equal(await page.textContent("#load-numbers"), paused);
  await screenshot(page, "2-paused", true);
  await page.click("#load-button");
  await page.waitForSelector("#clear-button:not([hidden])", { timeout: 200_000 });
  assert.equal(await page.textContent("#fact-rows"), (total + 1).toLocaleString("en-US"));
  await screenshot(page, "3-loaded", true);
});

test("has all data after a reload", async () => {
  await page.reload();
  await page.waitForSelector("#clear-button:not([hidden])");
  assert.match((await page.textContent("#load-text")) ?? "", /^135,233 cities are stored/);
  await begunWith("JP");
});

test("queries return what plain JavaScript computes over the same data", async () => {
  const cities = allCities();
  assert.equal(cities.length, total);
  const paris = cities.find((city) => city.pk === "FR" && city.name === "Paris") as City;
  const cases: [filter: string, kind: string, matches: (city: City) => boolean][] = [
    [`PartitionKey eq 'FR' and RowKey eq '${paris.rk}'`, "Point query", (c) => c === paris],
    [
      "PartitionKey eq 'BR' and RowKey lt '9999000000'",
      "Row range",
      (c) => c.pk === "BR" && c.population >= 1_000_000,
    ],
    ["PartitionKey eq 'JP'", "Partition scan", (c) => c.pk === "JP"],
    [
      "PartitionKey eq 'US' and latitude gt 60.0",
      "Partition scan",
      (c) => c.pk === "US" && c.latitude > 60,
    ],
    ["population gt 5000000", "Table scan", (c) => c.population > 5_000_000],
    ["name eq 'Springfield'", "Table scan", (c) => c.name === "Springfield"],
    [
      "PartitionKey eq 'IS' or PartitionKey eq 'LU'",
      "Partition scan",
      (c) => c.pk === "IS" || c.pk === "LU",
    ],
    ["PartitionKey ge 'N' and PartitionKey lt 'O'", "Table scan", (c) => c.pk >= "N" && c.pk < "O"],
  ];
  for (const [filter, kind, matches] of cases) {
    const expected = cities.filter(matches);
    const plan = await query(filter);
    assert.equal(plan.kind, kind, filter);
    assert.ok(
      plan.text.includes(`Rows returned${expected.length.toLocaleString("en-US")}`),
      `${filter}: ${plan.text}`,
    );
    // The first rows shown are the first in key order.
    const sorted = expected.toSorted((a, b) =>
      a.pk < b.pk ? -1 : a.pk > b.pk ? 1 : a.rk < b.rk ? -1 : 1,
    );
    const shown = await page.$$eval("tbody tr[data-row]", (rows) =>
      rows.slice(0, 8).map((row) => row.children[1]?.textContent),
    );
    assert.deepEqual(
      shown,
      sorted
        .slice(0, 8)
        .map((city) => city.rk)
        .slice(0, shown.length),
      filter,
    );
  }
  await query("PartitionKey eq 'US' and latitude gt 60.0");
  await screenshot(page, "4-query", true);
});

test("a page is followed by the next one", async () => {
  await page.fill("#page-size", "100");
  await query("PartitionKey eq 'IS' or PartitionKey eq 'LU'");
  const expected = allCities().filter((city) => city.pk === "IS" || city.pk === "LU").length;
  for (let shown = 100; shown < expected; shown += 100) {
    await says(new RegExp(`^${shown} entities shown, and there are more`));
    await page.getByRole("button", { name: "Next page" }).click();
  }
  await says(new RegExp(`^${expected} entities shown, that is all`));
});

test("$select shows the selected columns", async () => {
  await query("PartitionKey eq 'JP'", "name,population");
  assert.deepEqual(
    await page.$$eval("thead th", (cells) => cells.map((cell) => cell.textContent)),
    ["name String", "population Int32"],
  );
  await page.fill("#select", "");
});

test("a mistake in a filter is shown with its position", async () => {
  await page.getByRole("button", { name: "Syntax error" }).click();
  const said = page.locator("table-explorer .error").filter({ hasText: "400 InvalidInput" });
  await said.waitFor();
  assert.match((await said.textContent()) ?? "", /400 InvalidInput.*Syntax error at position/s);
  assert.equal(await page.textContent("table-explorer .where mark"), "adn");
  await screenshot(page, "5-error", true);
});

const value = (name: string) =>
  page.getByRole("dialog").getByRole("group", { name, exact: true }).getByLabel("Value");

test("an ETag conflict is shown and nothing is overwritten", async () => {
  await query("PartitionKey eq 'IS'");
  await page.check("#rival");
  await page.focus("tbody tr[data-row='0']");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  const name = await value("name").inputValue();
  const population = Number(await value("population").inputValue());
  await page
    .locator("#rival-text")
    .filter({ hasText: "Another user has changed the population" })
    .waitFor();
  await value("name").fill("Overwritten");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").locator(".error").filter({ hasText: "412" }).waitFor();
  await screenshot(page, "6-conflict", true);
  // What is stored now, with its ETag, saves.
  await page.getByRole("button", { name: "Load the stored version" }).click();
  await page
    .getByRole("button", { name: "Load the stored version" })
    .waitFor({ state: "detached" });
  assert.equal(await value("name").inputValue(), name);
  assert.equal(Number(await value("population").inputValue()), population + 1);
  await value("name").fill(`${name} (edited)`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page
    .locator("tbody")
    .filter({ hasText: `${name} (edited)` })
    .waitFor();
  await page.uncheck("#rival");
});

test("a city is inserted, found, and deleted", async () => {
  await page.getByRole("button", { name: "Insert…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("PartitionKey").fill("IS");
  await dialog.getByLabel("RowKey").fill("9999999992-1");
  for (const [name, text] of [
    ["name", "Testvík"],
    ["population", "7"],
    ["latitude", "64"],
  ] as const) {
    await dialog.getByRole("button", { name: "Add a property" }).click();
    const added = dialog.getByRole("group").last();
    await added.getByLabel("Name").fill(name);
    await added.getByLabel("Value").fill(text);
  }
  await dialog.getByRole("button", { name: "Insert" }).click();
  await dialog.waitFor({ state: "detached" });
  await page
    .locator("#fact-rows")
    .filter({ hasText: (total + 2).toLocaleString("en-US") })
    .waitFor();
  // The import restored the property types.
  await query("name eq 'Testvík' and latitude eq 64.0 and population eq 7");
  await page.click("tbody tr[data-row='0']");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.waitFor({ state: "detached" });
  await says("No entity matches.");
});

test("a transaction that fails changes nothing", async () => {
  await page.click("#transaction-button");
  await page.waitForSelector("#transaction-result .steps");
  const text = (await page.textContent("#transaction-result")) ?? "";
  assert.match(text, /409 EntityAlreadyExists.*2:The specified entity already exists\./s);
  assert.match(text, /are unchanged, including their ETags/);
  await screenshot(page, "7-transaction", true);
});

test("works in a phone-sized window and in dark mode", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  await query("PartitionKey eq 'IS'");
  assert.ok(
    await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    "no sideways scrolling",
  );
  await screenshot(page, "8-phone-dark", true);
  assert.deepEqual(await accessibilityProblems(page), [], "on a phone, dark");
  await page.setViewportSize({ width: 1280, height: 900 });
  await screenshot(page, "9-dark", true);
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await accessibilityProblems(page), [], "light");
});

test("has all data after the browser was closed", async () => {
  await context.close();
  context = await profile.open();
  page = await openPage();
  await begunWith("JP");
  await query("PartitionKey eq 'IS'");
  assert.match((await page.textContent("tbody")) ?? "", /\(edited\)/);
  assert.deepEqual(problems, []);
});
