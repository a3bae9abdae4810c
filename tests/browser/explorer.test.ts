// Uses <table-explorer> as a user would: by mouse and by keyboard, in a plain page with one script
// tag under a strict Content-Security-Policy, and in a React application.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { PagesCheck } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { bundleReact } from "./support/react.ts";
import { screenshot } from "./support/screenshot.ts";
import { scrollShadowsOf } from "./support/scroll-shadows.ts";
import type { Site } from "./support/server.ts";
import { TabPool } from "./support/tab-pool.ts";

const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'";

// A store with values of every type, which exists before the element is defined.
const script = `
import { openStore, edm } from "/dist/index.js";
import "/dist/explorer/index.js";
const store = await openStore({ name: "shop", persistence: "memory" });
await store.table("lamps").createTable();
const actions = [];
for (let i = 0; i < 250; ++i) {
  actions.push(["create", { partitionKey: i < 100 ? "desk" : i < 200 ? "floor" : "wall", rowKey: String(i).padStart(4, "0"),
    name: "Lamp " + i, stock: i % 7, price: edm.double(i + 0.5), sold: 9007199254740993n + BigInt(i), since: edm.dateTime("2026-01-01T00:00:00.1234567Z") }]);
}
for (let i = 0; i < 250; i += 100) await store.table("lamps").submitTransaction(actions.slice(i, Math.min(i + 100, 250)));
await store.table("Everything").createTable();
await store.table("Everything").createEntity({ partitionKey: "p", rowKey: "r", text: "two\\r\\nlines", yes: true, int: -1,
  long: -9223372036854775808n, ratio: edm.double("NaN"), whole: edm.double(3), at: edm.dateTime("9999-12-31T23:59:59.9999999Z"),
  id: edm.guid("c9da6455-213d-42c9-9a79-3e9149a57833"), bytes: Uint8Array.of(0, 255, 16) });
window.store = store;
document.querySelector("table-explorer").store = store;
`;

const plainPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A shop</title>
<link rel="stylesheet" href="/page.css"></head>
<body><main><h1>A shop</h1><table-explorer table="lamps"></table-explorer></main><script type="module" src="/page.js"></script></body></html>`;

// A page with one script tag and a store's name. The element opens the store itself.
const namedPage = `<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1><table-explorer store="named"></table-explorer></main>
<script type="module" src="/dist/explorer/index.js"></script></html>`;

const reactPage = `<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1><div id="root"></div></main>
<script type="module" src="/react.js"></script></html>`;

// A page that sets the store on an element before the element's class is defined.
const latePage = `<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1><table-explorer></table-explorer></main>
<script type="module" src="/late.js"></script></html>`;
const lateScript = `
import { openStore } from "/dist/index.js";
const store = await openStore({ persistence: "memory" });
await store.table("chairs").createTable();
await store.table("chairs").createEntity({ partitionKey: "p", rowKey: "r" });
document.querySelector("table-explorer").store = store;
await import("/dist/explorer/index.js");
`;

// A page that runs a query before the element has a store.
const earlyPage = latePage.replace("late.js", "early.js");
const earlyScript = `
import { openStore } from "/dist/index.js";
import "/dist/explorer/index.js";
const store = await openStore({ persistence: "memory" });
await store.table("chairs").createTable();
for (const rowKey of ["r1", "r2", "r3"]) await store.table("chairs").createEntity({ partitionKey: "p", rowKey });
const explorer = document.querySelector("table-explorer");
explorer.runQuery("RowKey eq 'r2'");
explorer.store = store;
await explorer.refresh();
`;

const css =
  ":root { color-scheme: light dark; } body { margin: 1rem; background: Canvas; color: CanvasText; font-family: system-ui; }";

let profile: Profile;
let context: BrowserContext;
let site: Site;
let reactCode = "";
let tabs: TabPool;
const pagesCheck = new PagesCheck();

function override(path: string) {
  const pages: Record<string, { type?: string; body: string; status?: number }> = {
    "/": { body: plainPage },
    "/named": { body: namedPage },
    "/react": { body: reactPage },
    "/late": { body: latePage },
    "/early": { body: earlyPage },
    "/early.js": { type: "text/javascript", body: earlyScript },
    "/late.js": { type: "text/javascript", body: lateScript },
    "/page.css": { type: "text/css", body: css },
    "/page.js": { type: "text/javascript", body: script },
    "/react.js": { type: "text/javascript", body: reactCode },
    "/favicon.ico": { status: 204, body: "" },
  };
  return pages[path];
}

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  tabs = new TabPool(context);
  const headers = { "content-security-policy": policy };
  site = await servePackage({ headers, cachesFiles: true, override });
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
});

async function openPage(path = ""): Promise<Page> {
  return await tabs.open(site.url + path);
}

const explorer = (page: Page): Locator => page.locator("table-explorer");
const status = (page: Page): Locator => explorer(page).locator(".foot [role=status]");
const dialog = (page: Page): Locator => page.getByRole("dialog");
const button = (within: Locator, name: string | RegExp): Locator =>
  within.getByRole("button", { name });

async function shows(locator: Locator, text: string | RegExp): Promise<void> {
  await locator.filter({ hasText: text }).waitFor();
}

// Returns a name of the focused element.
async function focused(page: Page): Promise<unknown> {
  return await page.evaluate(() => {
    const inside = document.querySelector("table-explorer")?.shadowRoot
      ?.activeElement as HTMLElement | null;
    const row = inside?.dataset["row"];
    const name = row === undefined ? inside?.id || inside?.textContent : `row ${row}`;
    return inside?.getAttribute("aria-label") ?? name;
  });
}

// Holds back later pages of the table "lamps" until they are released.
async function holdPages(page: Page): Promise<void> {
  await page.evaluate(() => {
    type Pages = { next(): Promise<unknown> };
    type Client = { listEntities(...args: unknown[]): { byPage(settings: unknown): Pages } };
    const { store } = window as unknown as { store: { table(name: string): Client } };
    const client = Object.getPrototypeOf(store.table("lamps")) as Client;
    const { listEntities } = client;
    client.listEntities = function (this: Client, ...args) {
      const entities = listEntities.apply(this, args);
      return {
        byPage(settings) {
          const pages = entities.byPage(settings);
          let count = 0;
          return {
            async next() {
              if (++count > 1) {
                await new Promise((release, fail) => {
                  Object.assign(window, { held: { release, fail, count } });
                });
              }
              return await pages.next();
            },
          };
        },
      };
    };
  });
}

interface Held {
  held: { release(): void; fail(error: Error): void; count: number };
}

// Waits two frames: Chromium removes the focus from an element that can no longer have it in the
// next frame.
async function twoFrames(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise<void>((resolve) =>
        requestAnimationFrame(() => requestAnimationFrame(() => resolve())),
      ),
  );
}

async function ran(page: Page): Promise<void> {
  await explorer(page).locator("[aria-busy]").waitFor({ state: "detached" });
}

async function ask(page: Page, filter: string): Promise<void> {
  await page.getByRole("combobox", { name: "Filter" }).fill(filter);
  await page.keyboard.press("Escape");
  await button(explorer(page), "Run").click();
  await ran(page);
}

async function rowKeys(page: Page): Promise<(string | null)[]> {
  const cells = explorer(page).locator("tbody tr[data-row] td:nth-child(2)");
  return await cells.allTextContents();
}

async function plan(page: Page): Promise<Record<string, string>> {
  await explorer(page).locator(".plan").waitFor(); // it is shown after the entities
  return await page.$$eval("table-explorer >> .plan > div", (items) =>
    Object.fromEntries(
      items.map((item) => [item.children[0]?.textContent, item.children[1]?.textContent]),
    ),
  );
}

// Returns the stored entity with all types.
async function stored(
  page: Page,
  table: string,
  partitionKey: string,
  rowKey: string,
): Promise<Record<string, unknown>> {
  return await page.evaluate(
    async ([name, pk, rk]) => {
      const { store } = window as unknown as {
        store: {
          tableClient(name: string): {
            getEntity(...keys: unknown[]): Promise<Record<string, unknown>>;
          };
        };
      };
      const {
        etag: _,
        timestamp: __,
        ...entity
      } = await store
        .tableClient(name as string)
        .getEntity(pk, rk, { disableTypeConversion: true });
      return entity;
    },
    [table, partitionKey, rowKey],
  );
}

describe("<table-explorer> in a plain page", () => {
  test("lists tables with row counts, and shows a table's rows, plan and pages", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities shown, and there are more.");
    const tables = await explorer(page).locator("nav li").allTextContents();
    assert.deepEqual(tables, ["Everything1 entity", "lamps250 entities"]);
    await explorer(page).locator("nav [aria-current]", { hasText: "lamps" }).waitFor();
    const { "First page": ms, ...figures } = await plan(page);
    assert.deepEqual(figures, {
      Plan: "Table scan",
      "Rows read": "250",
      "Rows returned": "250",
      "Plan on the service": "Table scan",
      "Requests on the service": "3", // one for each partition
      "Key ranges": "('', '') … the end",
      Measure: "",
    });
    const meter = explorer(page).getByRole("img", { name: "250 of 250 rows read, 250 returned" });
    await meter.waitFor();
    assert.match(ms ?? "", /^[\d.]+ (µs|ms)$/);
    const heads = await explorer(page).locator("thead th").allTextContents();
    assert.deepEqual(heads, [
      "PartitionKey",
      "RowKey",
      "name String",
      "stock Int32",
      "price Double",
      "sold Int64",
      "since DateTime",
      "Timestamp",
    ]);
    const first = await explorer(page).locator("tr[data-row='0'] td").allTextContents();
    assert.deepEqual(first.slice(0, 7), [
      "desk",
      "0000",
      "Lamp 0",
      "0",
      "0.5",
      "9007199254740993",
      "2026-01-01T00:00:00.1234567Z",
    ]);
    await screenshot(page, "explorer-light");
    await button(explorer(page), "Next page").click();
    await shows(status(page), "250 entities shown, that is all.");
    await button(explorer(page), "Next page").waitFor({ state: "hidden" });
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await tabs.leave(page);
  });

  test("filters, with the plan of each", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    for (const [filter, kind, keys, ranges] of [
      [
        "PartitionKey eq 'desk' and RowKey eq '0042'",
        "Point query",
        ["0042"],
        "('desk', '0042') … ('desk', '0042\u2400')",
      ],
      [
        "PartitionKey eq 'desk' and RowKey lt '0002'",
        "Row range",
        ["0000", "0001"],
        "('desk', '') … ('desk', '0002')",
      ],
      [
        "PartitionKey eq 'wall' and stock eq 4",
        "Partition scan",
        ["0200", "0207", "0214", "0221", "0228", "0235", "0242", "0249"],
        "('wall', '') … ('wall\u2400', '')",
      ],
      ["sold eq 9007199254740994L", "Table scan", ["0001"], "('', '') … the end"],
      ["since lt datetime'2026-01-01T00:00:00.1234567Z'", "Table scan", [], "('', '') … the end"],
    ] as const) {
      await ask(page, filter);
      const figures = await plan(page);
      assert.equal(figures["Plan"], kind, filter);
      assert.equal(figures["Key ranges"], ranges, filter);
      assert.deepEqual(await rowKeys(page), keys, filter);
    }
    await shows(status(page), "No entity matches.");
    await page.getByLabel("Select").fill("RowKey, price");
    await ask(page, "RowKey eq '0003'");
    assert.deepEqual(await explorer(page).locator("thead th").allTextContents(), [
      "RowKey",
      "price Double",
    ]);
    assert.deepEqual(await explorer(page).locator("tr[data-row] td").allTextContents(), [
      "0003",
      "3.5",
    ]);
    await explorer(page).locator("tr[data-row='0']").click();
    assert.equal(await dialog(page).getByLabel("PartitionKey").inputValue(), "desk");
    assert.equal(await dialog(page).getByRole("group").count(), 5); // one group for each property
    await tabs.leave(page);
  });

  test("marks the position of an error in a filter", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    const box = page.getByRole("combobox", { name: "Filter" });
    await box.fill("PartitionKey eq 'desk' adn stock eq 4");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await shows(explorer(page).locator(".error"), "400 InvalidInput");
    assert.equal(await explorer(page).locator(".where mark").textContent(), "adn");
    assert.equal(await box.getAttribute("aria-invalid"), "true");
    const selected = await box.evaluate((input: HTMLInputElement) =>
      input.value.slice(input.selectionStart ?? 0, input.selectionEnd ?? 0),
    );
    assert.equal(selected, "adn");
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-error");
    // The wrong word is selected, so typing replaces it.
    await page.keyboard.type("and");
    assert.equal(await explorer(page).locator(".where").isVisible(), false);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await shows(status(page), "14 entities shown, that is all.");
    await tabs.leave(page);
  });

  test("completes properties, operators, and values of rows shown before", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    const box = page.getByRole("combobox", { name: "Filter" });
    const options = () => page.getByRole("option").allTextContents();
    await box.click();
    assert.deepEqual(await options(), [
      "PartitionKeyString",
      "RowKeyString",
      "TimestampDateTime",
      "nameString",
      "stockInt32",
      "priceDouble",
      "soldInt64",
      "sinceDateTime",
      "not (negation",
    ]);
    await page.keyboard.type("pa");
    assert.deepEqual(await options(), ["PartitionKeyString"]);
    await page.keyboard.press("ArrowDown");
    assert.equal(await box.getAttribute("aria-activedescendant"), "filter-option-0");
    await page.keyboard.press("Enter");
    assert.equal(await box.inputValue(), "PartitionKey ");
    assert.deepEqual(await options(), [
      "eqequal",
      "nenot equal",
      "gtgreater",
      "gegreater or equal",
      "ltless",
      "leless or equal",
    ]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    assert.deepEqual(await options(), ["'desk'seen", "'floor'seen", "''String"]);
    await screenshot(page, "explorer-completion");
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.keyboard.press("ArrowDown");
    assert.deepEqual(await pagesCheck.allProblems(page), [], "dark");
    await page.keyboard.type("fl");
    await page.getByRole("option").click();
    assert.equal(await box.inputValue(), "PartitionKey eq 'floor' ");
    assert.deepEqual(await options(), ["andboth", "oreither"]);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Enter");
    await shows(status(page), "100 entities shown, that is all.");
    await tabs.leave(page);
  });

  test("keeps the types of an edited entity, and adds and removes properties", async () => {
    const page = await openPage();
    await button(explorer(page), /^Everything/).click();
    await shows(status(page), "1 entity shown");
    const before = await stored(page, "Everything", "p", "r");
    await explorer(page).locator("tr[data-row='0']").click();
    await dialog(page).waitFor();
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-entity");
    await dialog(page)
      .getByRole("group", { name: "int", exact: true })
      .getByLabel("Value")
      .fill("2147483648");
    await button(dialog(page), "Save").click();
    await shows(dialog(page).locator(".problem"), "A whole number from");
    assert.equal(
      await page.evaluate(() =>
        document
          .querySelector("table-explorer")
          ?.shadowRoot?.activeElement?.getAttribute("aria-invalid"),
      ),
      "true",
    );
    await dialog(page)
      .getByRole("group", { name: "int", exact: true })
      .getByLabel("Value")
      .fill("7");
    const text = dialog(page).getByRole("group", { name: "text" }).getByLabel("Value");
    await text.press("Control+End");
    await page.keyboard.type(", all");
    await button(dialog(page), "Remove yes").click();
    await button(dialog(page), "Add a property").click();
    const added = dialog(page).getByRole("group", { name: "A new property" });
    await added.getByLabel("Name").fill("added");
    await added.getByLabel("Type").selectOption("Int64");
    await added.getByLabel("Value").fill("12");
    await button(dialog(page), "Save").click();
    await dialog(page).waitFor({ state: "detached" });
    const { yes: _, ...rest } = before;
    assert.deepEqual(await stored(page, "Everything", "p", "r"), {
      ...rest,
      text: { type: "String", value: "two\r\nlines, all" },
      int: { type: "Int32", value: "7" },
      added: { type: "Int64", value: "12" },
    });
    await shows(explorer(page).locator("tbody"), "12");
    await tabs.leave(page);
  });

  test("shows a conflict, and loads the stored entity", async () => {
    const page = await openPage();
    await ask(page, "PartitionKey eq 'desk' and RowKey eq '0000'");
    await explorer(page).locator("tr[data-row='0']").click();
    const stock = dialog(page).getByRole("group", { name: "stock" }).getByLabel("Value");
    await stock.waitFor(); // the dialog has read the entity
    await page.evaluate(() => {
      const { store } = window as unknown as {
        store: { table(name: string): { updateEntity(entity: object): Promise<unknown> } };
      };
      return store.table("lamps").updateEntity({ partitionKey: "desk", rowKey: "0000", stock: 99 });
    });
    await stock.fill("5");
    await stock.press("Enter");
    await shows(dialog(page).locator(".error"), "412 UpdateConditionNotSatisfied");
    assert.equal(
      ((await stored(page, "lamps", "desk", "0000"))["stock"] as { value: string }).value,
      "99",
    );
    await screenshot(page, "explorer-conflict");
    await button(dialog(page), "Load the stored version").click();
    await page.waitForFunction(() =>
      [
        ...(document
          .querySelector("table-explorer")
          ?.shadowRoot?.querySelectorAll("dialog textarea") ?? []),
      ].some((area) => (area as HTMLTextAreaElement).value === "99"),
    );
    await button(dialog(page), "Delete").click();
    await dialog(page).waitFor({ state: "detached" });
    await shows(status(page), "No entity matches.");
    await explorer(page).locator("nav li", { hasText: "lamps249 entities" }).waitFor();
    await tabs.leave(page);
  });

  test("creates a table, inserts into it, and deletes it", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    await button(explorer(page), "New table…").click();
    await dialog(page).waitFor();
    await page.keyboard.type("1xy");
    await page.keyboard.press("Enter");
    await shows(dialog(page).locator(".error"), "400 InvalidResourceName");
    await dialog(page).getByLabel("Name").fill("chairs");
    await page.keyboard.press("Enter");
    await shows(status(page), "No entity matches.");
    await button(explorer(page), "Insert…").click();
    await page.keyboard.type("p");
    await page.keyboard.press("Tab");
    await page.keyboard.type("1");
    await page.keyboard.press("Enter");
    await shows(status(page), "1 entity shown, that is all.");
    await button(explorer(page), "Insert…").click();
    await page.keyboard.type("p");
    await page.keyboard.press("Tab");
    await page.keyboard.type("1");
    await page.keyboard.press("Enter");
    await shows(dialog(page).locator(".error"), "409 EntityAlreadyExists");
    await page.keyboard.press("Escape");
    await button(explorer(page), "Delete table…").click();
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await button(dialog(page), "Delete the table").click();
    await explorer(page).locator("nav [aria-current]", { hasText: "Everything" }).waitFor();
    assert.equal(await explorer(page).locator("nav li").count(), 2);
    await tabs.leave(page);
  });

  test("exports a query, imports it elsewhere, and reports rows by line", async () => {
    const page = await openPage();
    await ask(page, "PartitionKey eq 'desk' and stock eq 6");
    await shows(status(page), "14 entities");
    await button(explorer(page), "Export…").click();
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(dialog(page), "Export").click(),
    ]);
    assert.equal(download.suggestedFilename(), "lamps.typed.csv");
    const text = readFileSync(await download.path(), "utf8");
    const lines = text.split("\r\n");
    assert.equal(
      lines[0],
      "PartitionKey,RowKey,Timestamp,name,name@type,stock,stock@type,price,price@type,sold,sold@type,since,since@type",
    );
    assert.match(
      lines[1] ?? "",
      /^desk,0006,2[^,]+Z,Lamp 6,String,6,Int32,6\.5,Double,9007199254740999,Int64,2026-01-01T00:00:00\.1234567Z,DateTime$/,
    );
    assert.equal(lines.length, 16);
    await page.keyboard.press("Escape");

    await button(explorer(page), "Import…").click();
    const broken = `${text}desk,x,,,,many,Int32,,,,,,\r\n`;
    await dialog(page)
      .getByLabel("File")
      .setInputFiles({ name: "copy.typed.csv", mimeType: "text/csv", buffer: Buffer.from(broken) });
    await dialog(page).getByLabel("Into the table").fill("no table");
    await button(dialog(page), /^Import$/).click();
    await shows(dialog(page).locator(".error"), "400 InvalidResourceName");
    await explorer(page).locator("nav [aria-current]", { hasText: "lamps" }).waitFor();
    await dialog(page).getByLabel("Into the table").fill("copy");
    await button(dialog(page), /^Import$/).click();
    await shows(dialog(page).locator(".report"), "15 rows read, 14 written, 1 rejected.");
    assert.match(
      (await dialog(page).locator(".rejections tbody tr").textContent()) ?? "",
      /^16InvalidInput: stock is "many", which is not a valid Int32\.$/,
    );
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-import");
    await page.keyboard.press("Escape");
    await explorer(page).locator("nav [aria-current]", { hasText: "copy" }).waitFor();
    assert.deepEqual(
      await stored(page, "copy", "desk", "0006"),
      await stored(page, "lamps", "desk", "0006"),
    );
    await tabs.leave(page);
  });

  test("always exports the keys, so that the file can be imported", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    await page.getByLabel("Select").fill("name");
    await ask(page, "PartitionKey eq 'desk' and stock eq 6");
    await button(explorer(page), "Export…").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      button(dialog(page), "Export").click(),
    ]);
    const file = readFileSync(await download.path());
    assert.match(
      file.toString(),
      /^PartitionKey,RowKey,name,name@type\r\ndesk,0006,Lamp 6,String\r\n/,
    );
    await page.keyboard.press("Escape");
    await page.evaluate(() => {
      document.addEventListener("explorer-change", () => {
        document.body.append("changed;");
      });
    });
    const changeCount = async () =>
      (await page.locator("body").textContent())?.split("changed;").length;
    const mimeType = "text/csv";
    const into = async (table: string, buffer: Buffer, report: string) => {
      await button(explorer(page), "Import…").click();
      await dialog(page).getByLabel("File").setInputFiles({ name: "a.csv", mimeType, buffer });
      await dialog(page).getByLabel("Into the table").fill(table);
      await button(dialog(page), /^Import$/).click();
      await shows(dialog(page), report);
      await page.keyboard.press("Escape");
      await ran(page);
    };
    await into("lamps", file, "14 rows read, 0 written, 14 rejected.");
    await into("no table", file, "400 InvalidResourceName");
    assert.equal(await changeCount(), 1, "nothing was written, so no event is dispatched");
    await into("selected", file, "14 rows read, 14 written, 0 rejected.");
    assert.equal(await changeCount(), 2);
    await into("made", Buffer.from("PartitionKey,RowKey\r\n"), "0 rows read, 0 written");
    assert.equal(await changeCount(), 3, "a table was made");
    await tabs.leave(page);
  });

  test("keeps a query made before the first table exists, and typed text during a refresh", async () => {
    const page = await openPage("early");
    await shows(status(page), "1 entity shown, that is all.");
    assert.deepEqual(await rowKeys(page), ["r2"]);
    const box = page.getByRole("combobox", { name: "Filter" });
    assert.equal(await box.inputValue(), "RowKey eq 'r2'");
    await box.fill("RowKey ne 'r2'");
    await explorer(page).evaluate((element) => document.querySelector("main")?.append(element));
    await shows(status(page), "2 entities shown, that is all.");
    assert.equal(await box.inputValue(), "RowKey ne 'r2'");
    await button(explorer(page), /^chairs/).click();
    await shows(status(page), "3 entities shown, that is all.");
    assert.equal(await box.inputValue(), "");
    await tabs.leave(page);
  });

  test("can be used with the keyboard only", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    await page.locator("h1").evaluate((heading: HTMLElement) => {
      heading.tabIndex = -1;
      heading.focus();
    });
    const stops: unknown[] = [];
    for (let stop = 0; stop < 15; ++stop) {
      await page.keyboard.press("Tab");
      stops.push(await focused(page));
    }
    assert.deepEqual(stops, [
      "Read the tables again",
      "Everything1 entity",
      "lamps250 entities",
      "New table…",
      "tab-0",
      "Insert…",
      "Import…",
      "Export…",
      "Delete table…",
      "filter",
      "select",
      "page-size",
      "Run",
      "row 0",
      "Next page",
    ]);
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("End");
    assert.equal(await focused(page), "row 199");
    await page.keyboard.press("PageUp");
    const [, up = ""] = /^row (\d+)$/.exec(String(await focused(page))) ?? [];
    assert.ok(Number(up) > 180 && Number(up) < 199, up);
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(page), "row 1");
    await page.keyboard.press("Enter");
    assert.equal(await dialog(page).getByLabel("RowKey").inputValue(), "0001");
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    assert.equal(await focused(page), "row 1");
    // On the last page, the button "Next page" is disabled. The focus must not be lost.
    await button(explorer(page), "Next page").focus();
    await page.keyboard.press("Enter");
    await shows(status(page), "250 entities shown, that is all.");
    assert.match(String(await focused(page)), /^row \d+$/);
    await tabs.leave(page);
  });

  describe("while reading a page takes long", () => {
    let page: Page;
    let next: Locator;

    // Shows three pages, the second of which is held back.
    beforeEach(async () => {
      page = await openPage();
      next = button(explorer(page), "Next page");
      await shows(status(page), "200 entities");
      await holdPages(page);
      await page.getByLabel("Page size").fill("100");
      await button(explorer(page), "Run").click();
      await shows(status(page), "100 entities shown, and there are more.");
      await ran(page);
      await askForNext();
    });

    afterEach(() => tabs.leave(page));

    async function askForNext(): Promise<void> {
      await next.focus();
      await page.keyboard.press("Enter");
      await explorer(page).locator("[part=next][aria-disabled=true]").waitFor();
      await twoFrames(page);
    }

    const release = () => page.evaluate(() => (window as unknown as Held).held.release());

    test("the button keeps the focus, and requests one page at a time", async () => {
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => (window as unknown as Held).held.count), 2);
      await release();
      await shows(status(page), "200 entities shown, and there are more.");
      assert.equal(await focused(page), "Next page");
      assert.equal(await next.isEnabled(), true);
      await askForNext();
      await release();
      await shows(status(page), "250 entities shown, that is all.");
      assert.equal(await focused(page), "row 0");
    });

    test("the page of an older query is ignored", async () => {
      await button(explorer(page), "Run").click();
      await ran(page);
      assert.equal(await next.isEnabled(), true);
      await release();
      await twoFrames(page);
      await shows(status(page), "100 entities shown, and there are more.");
      assert.equal(await next.isEnabled(), true);
    });

    test("the page of another table is ignored, even if the page size is invalid", async () => {
      await page.getByLabel("Page size").fill("0");
      await explorer(page).locator("nav button", { hasText: "Everything" }).click();
      await release();
      await twoFrames(page);
      assert.equal(await explorer(page).locator("tbody tr[data-row]").count(), 0);
      assert.equal(await next.isVisible(), false);
    });

    test("a failure is shown, and the button that retries gets the focus", async () => {
      await page.evaluate(() =>
        (window as unknown as Held).held.fail(new Error("The disk is gone.")),
      );
      await explorer(page).getByRole("alert").filter({ hasText: "The disk is gone." }).waitFor();
      assert.equal(await focused(page), "Run");
      assert.equal(await next.isVisible(), false);
    });
  });

  test("renders only the visible ones of a thousand rows", async () => {
    const page = await openPage();
    await page.getByLabel("Page size").fill("1000");
    await ask(page, "");
    await shows(status(page), "250 entities shown, that is all.");
    assert.ok((await explorer(page).locator("tbody tr").count()) < 60);
    await explorer(page)
      .locator(".grid")
      .evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
    await explorer(page).locator("tr[data-row='249']").waitFor();
    await tabs.leave(page);
  });

  test("shows shadows at edges with more columns behind them", async () => {
    const page = await openPage();
    await button(explorer(page), /^Everything/).click();
    await ran(page);
    const grid = explorer(page).locator(".grid");
    const scrollTo = (x: number) => grid.evaluate((element, x) => element.scrollTo(x, 0), x);
    assert.deepEqual(await scrollShadowsOf(grid), [false, true]);
    await scrollTo(200);
    assert.deepEqual(await scrollShadowsOf(grid), [true, true]);
    await scrollTo(100_000);
    assert.deepEqual(await scrollShadowsOf(grid), [true, false]);
    await tabs.leave(page);
  });

  test("fits a phone, in dark and light mode", async () => {
    const page = await openPage();
    await shows(status(page), "200 entities");
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-dark");
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
    await screenshot(page, "explorer-phone-dark");
    await page.emulateMedia({ colorScheme: "light" });
    await screenshot(page, "explorer-phone");
    await explorer(page).locator("tr[data-row='0']").click();
    await dialog(page).waitFor();
    await screenshot(page, "explorer-phone-entity");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await pagesCheck.allProblems(page), [], colorScheme);
    }
    // The focused element is never covered by the buttons.
    for (let stop = 0; stop < 20; ++stop) {
      await page.keyboard.press("Tab");
      const covered = await page.evaluate(() => {
        const { activeElement: focused } =
          document.querySelector("table-explorer")?.shadowRoot ?? {};
        const actions = focused?.closest("form")?.querySelector(".actions");
        if (!focused || !actions || actions.contains(focused)) return false;
        return focused.getBoundingClientRect().bottom > actions.getBoundingClientRect().top + 1;
      });
      assert.equal(covered, false, `stop ${stop}`);
    }
    assert.ok(await dialog(page).evaluate((element) => element.scrollWidth <= element.clientWidth));
    await tabs.leave(page);
  });

  test("opens a store by its name, also after a reload", async () => {
    const page = await openPage("named");
    await shows(explorer(page), "This store has no tables yet.");
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await screenshot(page, "explorer-empty");
    await button(explorer(page), "New table…").click();
    await dialog(page).waitFor();
    await page.keyboard.type("kept");
    await page.keyboard.press("Enter");
    await shows(status(page), "No entity matches.");
    await page.reload();
    await explorer(page).locator("nav [aria-current]", { hasText: "kept" }).waitFor();
    // With another store, the element closes the previous one.
    await explorer(page).evaluate((element) => element.setAttribute("store", "other"));
    await shows(explorer(page), "This store has no tables yet.");
    await explorer(page).evaluate((element) => element.setAttribute("store", "not a name"));
    const error = explorer(page).locator(".rest > .error");
    await shows(error, "ValidationFailed");
    // An empty name is the same as none.
    await explorer(page).evaluate((element) => element.setAttribute("store", ""));
    await error.waitFor({ state: "hidden" });
    await tabs.leave(page);
  });
  test("accepts a store that was set before the element was defined, and opens none itself", async () => {
    const page = await openPage("late");
    await shows(status(page), "1 entity shown, that is all.");
    await explorer(page).evaluate((element: HTMLElement & { store: unknown }) => {
      element.store = undefined;
    });
    await explorer(page).locator("nav li").first().waitFor({ state: "detached" });
    const names = await page.evaluate(async () =>
      (await indexedDB.databases()).map(({ name }) => name ?? ""),
    );
    assert.ok(!names.some((name) => name.includes("default")), names.join());
    await tabs.leave(page);
  });

  test("no page printed or threw anything", () => assert.deepEqual(tabs.problems.splice(0), []));
});

describe("<table-explorer> in a React application", () => {
  const application = `
    import { StrictMode, useState } from "react";
    import { createRoot } from "react-dom/client";
    import { openStore } from "/dist/index.js";
    import "/dist/explorer/index.js";
    const store = await openStore({ persistence: "memory" });
    for (const name of ["chairs", "lamps"]) {
      await store.table(name).createTable();
      await store.table(name).createEntity({ partitionKey: "p", rowKey: name });
    }
    function App() {
      const [table, choose] = useState("lamps");
      const [shown, show] = useState(true);
      return (
        <>
          <button onClick={() => choose("chairs")}>Chairs</button>
          <button onClick={() => show(!shown)}>Toggle</button>
          {shown && <table-explorer store={store} table={table} />}
        </>
      );
    }
    createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);
  `;

  before(async () => {
    reactCode = await bundleReact(application);
  });

  test("accepts store and table as properties, and can be removed and added", async () => {
    const page = await openPage("react");
    await shows(explorer(page).locator("tbody"), "lamps");
    await page.getByRole("button", { name: "Chairs", exact: true }).click();
    await shows(explorer(page).locator("tbody"), "chairs");
    await page.getByRole("button", { name: "Toggle" }).click();
    await explorer(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Toggle" }).click();
    // The page supplied the store, so it is still open.
    await shows(explorer(page).locator("tbody"), "chairs");
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    assert.deepEqual(tabs.problems, []);
    await tabs.leave(page);
  });
});
