// Uses <table-playground> as a user would, in a plain page with one script tag under a strict
// Content-Security-Policy.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type {
  PlaygroundStart,
  PlaygroundStartEvent,
  TablePlayground,
} from "../../web/src/explorer/index.ts";
import { PagesCheck } from "./support/axe.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { bundleReact } from "./support/react.ts";
import type { Site } from "./support/server.ts";
import { TabPool } from "./support/tab-pool.ts";

const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' blob:; style-src 'self'; connect-src 'self'";

const setup = `
  await table("people").createTable();
  for (let i = 0; i < 300; i += 100) {
    await table("people").submitTransaction(
      Array.from({ length: 100 }, (_, j) => ["create", { partitionKey: "Sales", rowKey: String(i + j).padStart(6, "0"), age: 20 + (j % 40) }]),
    );
  }`;

const pageOf = (
  body: string,
) => `<!doctype html><html lang="en"><title>A page</title><main><h1>A page</h1>
<script type="text/plain" id="people">${setup}</script>${body}</main>
<script type="module" src="/dist/explorer/index.js"></script></html>`;

const icon = (path: string) => (path === "/favicon.ico" ? { status: 204, body: "" } : undefined);

let profile: Profile;
let context: BrowserContext;
let site: Site;
let body = "";
let pageScript = "";
let tabs: TabPool;
const pagesCheck = new PagesCheck();

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  tabs = new TabPool(context);
  site = await servePackage({
    headers: { "content-security-policy": policy },
    cachesFiles: true,
    override: (path) => {
      if (path === "/script.js") return { type: "text/javascript", body: pageScript };
      return path === "/" ? { body: pageOf(body) } : icon(path);
    },
  });
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
});

async function openPage(html: string): Promise<Page> {
  body = html;
  return await tabs.open(site.url);
}

// Presses the run button. Returns the figures and the text that are then shown.
async function run(page: Page): Promise<{ figures: Record<string, string>; text: string }> {
  const ended = page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener("playground-run", () => resolve(undefined), { once: true });
      }),
  );
  await page.getByRole("button", { name: "Run" }).click();
  await ended;
  return await shownOf(page);
}

async function shownOf(page: Page) {
  const figures = await page.$$eval("table-playground >> .cost > div", (items) =>
    Object.fromEntries(
      items.map((item) => [item.children[0]?.textContent, item.children[1]?.textContent]),
    ),
  );
  return { figures, text: (await page.textContent("table-playground >> .output")) ?? "" };
}

describe("<table-playground>", () => {
  test("shows rows and what they cost, counted from the requests", async () => {
    const page = await openPage(`<table-playground setup="people">
      const found = table("people").listEntities({ queryOptions: { filter: "PartitionKey eq 'Sales' and age eq 21" } });
      await show(found, "Aged 21");
      await show((await table("people").getEntity("Sales", "000007")).age);
    </table-playground>`);
    const { figures, text } = await run(page);
    const { "Time here": time, ...counted } = figures;
    assert.deepEqual(counted, {
      Access: "partition scan, point query",
      Requests: "2",
      "Rows read": "301",
      Returned: "10",
    });
    assert.match(time ?? "", /^[\d.]+ (µs|ms)$/);
    assert.match(text, /Aged 21.*000001.*27$/s);
    assert.equal((await page.$$("table-playground >> tbody tr")).length, 9);
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await tabs.leave(page);
  });

  test("each run begins with the same store, whatever the previous run did", async () => {
    const page = await openPage(`<table-playground setup="people">
      const { etag } = await table("people").createEntity({ partitionKey: "Sales", rowKey: "new" });
      await show(etag);
    </table-playground>`);
    const first = await run(page);
    assert.match(first.text, /W\/"datetime'/);
    assert.equal(first.figures["Rows written"], "1");
    const second = await run(page);
    assert.equal(second.text.replace(/Time.*?s/, ""), first.text.replace(/Time.*?s/, ""));
    await tabs.leave(page);
  });

  test("code is edited, run by the keyboard, and reset", async () => {
    const page = await openPage(`<table-playground>show("first");</table-playground>`);
    const code = page.getByRole("textbox", { name: "Code" });
    await code.fill('show("second"); // a # comment');
    await page.keyboard.press("Control+Enter");
    await page.getByText("second", { exact: true }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(focusedText), "Run");
    await page.keyboard.press("Enter");
    await page.getByText("Done.").waitFor();
    assert.equal(await page.evaluate(focusedText), "Run"); // the focus stays on the button
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(focusedText), "Back to the original");
    await page.keyboard.press("Enter");
    assert.equal(await code.inputValue(), 'show("first");');
    assert.equal(await page.evaluate(focusedText), "Run");
    await tabs.leave(page);
  });

  test("imports modules that the page offers; an error names other modules", async () => {
    const page = await openPage(`<table-playground>
      import { edm, RestError as Refusal } from "entitable";
      import * as all from
        "entitable";
      const { mockStore } = await import("entitable/testing");
      const store = await mockStore();
      await store.table("things").createTable();
      await store.table("things").createEntity({ partitionKey: "p", rowKey: "r", n: edm.int64(5) });
      await show(store.table("things").listEntities());
      show(all.RestError === Refusal);
    </table-playground>`);
    const { text } = await run(page);
    assert.match(text, /partitionKeyrowKeynpr5true$/);
    await page.getByRole("textbox").fill('import x from "elsewhere";');
    const failed = await run(page);
    assert.match(
      failed.text,
      /The module "elsewhere" is not available here\. Available modules: entitable,/,
    );
    await tabs.leave(page);
  });

  test("shows the service's error with its line in the code", async () => {
    const page = await openPage(`<table-playground>
      // The first line.
      await table("missing").getEntity("a", "b");
    </table-playground>`);
    const { text, figures } = await run(page);
    assert.match(text, /404 TableNotFound/);
    assert.equal(figures["Rejected"], "1");
    await page.getByRole("textbox").fill("\n\nundefined.length;");
    assert.match((await run(page)).text, /TypeError \(line 3\)/);
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await tabs.leave(page);
  });

  test("a page may replace the editor when a reader focuses the code", async () => {
    const page = await openPage(
      `<table-playground label="A lamp">show("first");</table-playground>`,
    );
    await page.evaluate(async () => {
      const { TablePlayground }: typeof import("../../web/src/explorer/index.ts") = await import(
        "/dist/explorer/index.js" as string
      );
      TablePlayground.editor = async ({ value, onChange, onRun }) => {
        const element = document.createElement("input");
        element.setAttribute("aria-label", "Another editor");
        element.value = value;
        element.addEventListener("input", () => onChange(element.value));
        element.addEventListener("keydown", ({ key }) => key === "F5" && onRun());
        return {
          element,
          get value() {
            return element.value;
          },
          set value(text) {
            element.value = text;
          },
        };
      };
    });
    await page.getByRole("textbox", { name: "Code" }).focus();
    const other = page.getByRole("group", { name: "A lamp" }).getByLabel("Another editor");
    assert.equal(await other.inputValue(), 'show("first");');
    const name = () =>
      page.evaluate(() => {
        const inside = document.activeElement?.shadowRoot?.activeElement;
        return inside?.getAttribute("aria-label") ?? inside?.textContent;
      });
    assert.equal(await name(), "Another editor");
    assert.equal(await page.getByRole("textbox", { name: "Code" }).count(), 0);
    await other.fill('show("second");');
    await page.getByRole("button", { name: "Back to the original" }).waitFor();
    await other.press("F5");
    await page.getByText("second", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Back to the original" }).click();
    assert.equal(await other.inputValue(), 'show("first");');
    await tabs.leave(page);
  });

  test("an editor that loads after the reader left the code does not take the focus", async () => {
    const page = await openPage(`<table-playground>show("first");</table-playground>`);
    await page.evaluate(async () => {
      const { TablePlayground }: typeof import("../../web/src/explorer/index.ts") = await import(
        "/dist/explorer/index.js" as string
      );
      TablePlayground.editor = async ({ value, root }) => {
        await new Promise((resolve) => addEventListener("come", resolve, { once: true }));
        const element = document.createElement("textarea");
        element.setAttribute("aria-label", `Another editor in ${root.host.localName}`);
        element.value = value;
        return {
          element,
          get value() {
            return element.value;
          },
          set value(text) {
            element.value = text;
          },
        };
      };
    });
    await page.getByRole("textbox", { name: "Code" }).fill('show("typed meanwhile");');
    await page.keyboard.press("Tab");
    await page.evaluate(() => dispatchEvent(new Event("come")));
    const other = page.getByLabel("Another editor in table-playground");
    assert.equal(await other.inputValue(), 'show("typed meanwhile");');
    assert.equal(await page.evaluate(focusedText), "Run");
    await tabs.leave(page);
  });

  test("elements that name the same store share it, and the last one closes it", async () => {
    const page = await openPage(`
      <table-playground store="common">show(store.status.owner); globalThis.kept = store;</table-playground>
      <table-playground store="common">show(store === globalThis.kept); show(store.status.owner);</table-playground>`);
    const run = async (index: number) => {
      const block = page.locator("table-playground").nth(index);
      await block.getByRole("button", { name: "Run" }).click();
      await block.getByText("Done.").waitFor();
      return await block.locator(".value").allTextContents();
    };
    assert.deepEqual(await run(0), ["self"]);
    assert.deepEqual(await run(1), ["true", "self"]);
    const states = await page.evaluate(async () => {
      const { kept } = globalThis as unknown as { kept: { status: { state: string } } };
      const seen: string[] = [];
      for (const element of [...document.querySelectorAll("table-playground")]) {
        element.remove();
        await new Promise((resolve) => setTimeout(resolve));
        seen.push(kept.status.state);
      }
      return seen;
    });
    assert.equal(states[0], "open");
    await page.waitForFunction(
      () =>
        (globalThis as unknown as { kept: { status: { state: string } } }).kept.status.state ===
        "closed",
    );
    await tabs.leave(page);
  });

  test("counts requests as the service would need them, including those to forks", async () => {
    const page = await openPage(`<table-playground>
      await table("people").createTable();
      for (const partitionKey of ["a", "b", "c"]) await table("people").createEntity({ partitionKey, rowKey: "1" });
      const fork = store.fork();
      await fork.table("people").createEntity({ partitionKey: "d", rowKey: "1" });
      await show(fork.table("people").listEntities({ queryOptions: { filter: "RowKey eq '2'" } }));
      await fork.close();
    </table-playground>`);
    const { "Time here": _, ...counted } = (await run(page)).figures;
    assert.deepEqual(counted, {
      Access: "table scan",
      // one for the table, four for rows, and a query page for each of four partitions
      Requests: "9",
      "Rows read": "4",
      Returned: "0",
      "Rows written": "4",
    });
    await tabs.leave(page);
  });

  test("fires playground-start with requests that are added during the run", async () => {
    const page = await openPage(`<table-playground setup="people">
      await table("people").getEntity("Sales", "000007");
      globalThis.soFar = globalThis.start.requests.length;
      await table("people").deleteTable();
      await table("people").getEntity("Sales", "000007").catch(() => {});
    </table-playground>`);
    await page.evaluate(() => {
      document.addEventListener("playground-start", (event) => {
        Object.assign(globalThis, { start: (event as PlaygroundStartEvent).detail });
      });
    });
    await run(page);
    const eventCounts = await page.evaluate(async () => {
      const { start, soFar } = globalThis as unknown as {
        start: PlaygroundStart;
        soFar: number;
      };
      const rows = start.before?.table("people").listEntities();
      const first = await rows?.next();
      return [soFar, start.requests.length, first?.value.rowKey];
    });
    assert.deepEqual(eventCounts, [1, 3, "000000"]);
    await tabs.leave(page);
  });

  test("counts only the run's requests to a mock store that the page supplies", async () => {
    const page = await openPage(`<table-playground></table-playground>`);
    await page.evaluate(async () => {
      const { mockStore } = await import("/dist/testing/index.js" as string);
      const lamps = ["a", "b"].map((partitionKey) => ({ partitionKey, rowKey: "1" }));
      const store = await mockStore({ fixtures: { Lamps: lamps } });
      await store.table("Lamps").getEntity("a", "1");
      Object.assign(document.querySelector("table-playground") as object, { store });
    });
    await page.getByRole("textbox").fill('await show(table("Lamps").listEntities());');
    for (let runs = 0; runs < 2; runs += 1) {
      const { figures } = await run(page);
      assert.deepEqual([figures["Requests"], figures["Rows read"]], ["1", "2"]);
    }
    await tabs.leave(page);
  });

  test("concurrent playgrounds each count the stores that their own code opens", async () => {
    const code = (own: string, other: string, rows: number) => `<table-playground label="${own}">
      const { mockStore } = await import("entitable/testing");
      const met = (globalThis.met ??= { one: Promise.withResolvers(), two: Promise.withResolvers() });
      met.${own}.resolve();
      await met.${other}.promise; // ensures that both run at the same time
      const mine = await mockStore({ fixtures: { Lamps: [] } });
      for (let n = 0; n < ${rows}; n += 1) await mine.table("Lamps").createEntity({ partitionKey: "p", rowKey: String(n) });
      await mine.close();
    </table-playground>`;
    const page = await openPage(code("one", "two", 3) + code("two", "one", 5));
    const runs = await page.$$eval("table-playground", (blocks) =>
      Promise.all(blocks.map((block) => (block as TablePlayground).run())),
    );
    assert.deepEqual(
      runs.map(({ cost, hasUncountedRequests, error }) => [
        cost?.requests,
        hasUncountedRequests,
        error,
      ]),
      [
        [3, false, undefined],
        [5, false, undefined],
      ],
    );
    await tabs.leave(page);
  });

  test("says that requests to stores from openStore are not counted", async () => {
    const note = "Requests to stores that openStore opened are not counted.";
    const page = await openPage(`<table-playground setup="people">
      import { openStore } from "entitable";
      const own = await openStore({ persistence: "memory" });
      await own.table("lamps").createTable();
      await own.close();
    </table-playground>`);
    const { figures, text } = await run(page);
    assert.deepEqual(Object.keys(figures), ["Time here"]);
    assert.equal(text.endsWith(note), true, text);
    assert.deepEqual(await pagesCheck.allProblems(page), []);

    const code = await page.textContent("table-playground");
    await page
      .getByRole("textbox")
      .fill(`${code}\nawait table("people").getEntity("Sales", "000007");`);
    const both = await run(page);
    assert.equal(both.figures["Requests"], "1");
    assert.equal(both.text.endsWith(note), true);

    await page.getByRole("textbox").fill('await table("people").getEntity("Sales", "000007");');
    assert.equal((await run(page)).text.includes(note), false);
    await page.locator("table-playground").evaluate((block) => block.setAttribute("store", "kept"));
    await page.getByRole("textbox").fill('show("as it is kept");');
    assert.match((await run(page)).text, new RegExp(`^Time here.*${note}as it is kept$`));
    await tabs.leave(page);
  });

  test("waits for shown values, even if the code does not await them", async () => {
    const page = await openPage(`<table-playground setup="people">
      show(table("people").listEntities({ queryOptions: { filter: "RowKey eq '000007'" } }), "Later");
      show("at once");
    </table-playground>`);
    assert.match((await run(page)).text, /Later.*000007.*at once$/);
    await page
      .getByRole("textbox")
      .fill('show(table("missing").getEntity("a", "b")); show("at once");');
    assert.match((await run(page)).text, /at once404 TableNotFound/);
    await tabs.leave(page);
  });

  test("formats counts with thousands separators, and other numbers without", async () => {
    const page = await openPage(`<table-playground>
      const rows = [{ what: "all", year: 2026, rows: 12000 }, { what: "some", year: 2027, rows: 30 }];
      show(rows, "As they are");
      show.counts(rows, "Counts");
      show(1234567);
      show.counts(1234567);
      show.counts([1000, 0.125, 10n ** 15n, NaN, "12345"]);
      show.counts({ bytes: 8061890, name: "4711" });
      await show.counts(Promise.resolve(2000));
    </table-playground>`);
    await run(page);
    assert.deepEqual(await page.locator("table-playground tbody td").allTextContents(), [
      ...["all", "2026", "12000", "some", "2027", "30"],
      ...["all", "2,026", "12,000", "some", "2,027", "30"],
      ...["8,061,890", "4711"],
    ]);
    assert.deepEqual(await page.locator("table-playground .value").allTextContents(), [
      "1234567",
      "1,234,567",
      "1,000, 0.125, 1,000,000,000,000,000, NaN, 12345",
      "2,000",
    ]);
    await tabs.leave(page);
  });

  test("shows long texts completely, in wide and narrow pages", async () => {
    const page = await openPage(`<table-playground>
      const words = "as long as it likes, ".repeat(30).trim();
      show([{ short: "two words", words, word: "x".repeat(300), n: 1 }, { short: "b", words: "c", word: "d", n: 2 }]);
    </table-playground>`);
    for (const width of [1400, 360]) {
      await page.setViewportSize({ width, height: 900 });
      await run(page);
      const cells = await page.$$eval("table-playground >> tbody tr:first-child td", (cells) =>
        cells.map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          const text = range.getBoundingClientRect();
          const box = cell.getBoundingClientRect();
          const { textOverflow, webkitLineClamp } = getComputedStyle(cell);
          const lines = Math.round(text.height / 20);
          const isWhole = text.right <= box.right + 1 && text.bottom <= box.bottom + 1;
          return { isWhole, isCut: `${textOverflow} ${webkitLineClamp}`, isLong: lines > 2 };
        }),
      );
      const complete = { isWhole: true, isCut: "clip none" };
      assert.deepEqual(
        cells,
        [false, true, true, false].map((isLong) => ({ ...complete, isLong })),
        `${width}`,
      );
    }
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await tabs.leave(page);
  });

  test("keeps data in the store that it names", async () => {
    const html = `<table-playground store="kept" run>
      await table("visits").createTable();
      await table("visits").createEntity({ partitionKey: "p", rowKey: crypto.randomUUID() });
      await show(table("visits").listEntities());
    </table-playground>`;
    const page = await openPage(html);
    for (const visits of [1, 2]) {
      await page.getByText("Done.").waitFor();
      assert.equal((await page.$$("table-playground >> tbody tr")).length, visits);
      await page.reload();
    }
    await tabs.leave(page);
  });

  test("runs at once where a framework sets the property `run`, and keeps its method", async () => {
    const page = await openPage("");
    const outcome = await page.evaluate(async () => {
      await customElements.whenDefined("table-playground");
      const append = (value: unknown): TablePlayground => {
        const element = document.createElement("table-playground") as TablePlayground;
        element.textContent = "show(7);";
        Object.assign(element, { run: value });
        document.querySelector("main")?.append(element);
        return element;
      };
      const hasRun = (element: TablePlayground) =>
        element.shadowRoot?.querySelector("[role=status]")?.textContent !== "";
      // as React, Vue and Preact set it
      const elements = [true, true, "", false, "false", undefined].map(append);
      const ran = elements.map(hasRun);
      const results = await Promise.all(elements.map((element) => element.run()));
      Object.assign(elements[0] as TablePlayground, { run: false });
      Object.assign(elements[1] as TablePlayground, { run: "" }); // as Preact removes it
      Object.assign(elements[3] as TablePlayground, { run: "" });
      return {
        ran,
        shown: results.map(({ shown }) => shown[0]),
        attributes: elements.map((element) => element.getAttribute("run")),
      };
    });
    assert.deepEqual(outcome, {
      ran: [true, true, true, false, false, false],
      shown: [7, 7, 7, 7, 7, 7],
      attributes: [null, null, "", null, null, null],
    });
    await tabs.leave(page);
  });

  test("accepts properties and attributes that were set before its class was defined", async () => {
    pageScript = `
      for (const properties of [
        { run: true },
        { run: "" },
        { run: false },
        { store: "early", code: "show(8);" },
      ]) {
        const element = document.createElement("table-playground");
        element.textContent = "show(7);";
        document.querySelector("main").append(Object.assign(element, properties));
      }`;
    const page = await openPage(`<table-playground run="false">show(6);</table-playground>
      <script src="/script.js"></script>`);
    const outcome = await page.evaluate(async () => {
      await customElements.whenDefined("table-playground");
      const elements = [...document.querySelectorAll("table-playground")] as TablePlayground[];
      const find = (element: TablePlayground, selector: string) =>
        element.shadowRoot?.querySelector(selector) as HTMLElement;
      const ran = elements.map((element) => find(element, "[role=status]").textContent !== "");
      const results = await Promise.all(elements.map((element) => element.run()));
      return {
        ran,
        shown: results.map(({ shown }) => shown[0]),
        stores: elements.map(({ store }) => store),
        resets: elements.map((element) => !find(element, "[part=reset]").hidden),
        own: elements.flatMap((element) => Object.keys(element)),
      };
    });
    assert.deepEqual(outcome, {
      ran: [false, true, true, false, false],
      shown: [6, 7, 7, 7, 8],
      stores: [undefined, undefined, undefined, undefined, "early"],
      resets: [false, false, false, false, false],
      own: [],
    });
    await tabs.leave(page);
  });

  test("in a React application it runs at once with the attribute `run`", async () => {
    pageScript = await bundleReact(`
      import { createRoot } from "react-dom/client";
      createRoot(document.getElementById("root")).render(
        <table-playground run label="Seven">show(7);</table-playground>);`);
    const page = await openPage(
      `<div id="root"></div><script type="module" src="/script.js"></script>`,
    );
    await page.getByText("Done.").waitFor();
    assert.match((await run(page)).text, /7$/);
    await tabs.leave(page);
  });

  test("in a React application it accepts properties, fires events, and can be removed and added", async () => {
    pageScript = await bundleReact(`
      import { StrictMode, useState } from "react";
      import { createRoot } from "react-dom/client";
      import { mockStore } from "/dist/testing/index.js";
      const store = await mockStore({ fixtures: { Lamps: [{ partitionKey: "desk", rowKey: "0042", stock: 7 }] } });
      function App() {
        const [code, change] = useState('await show(table("Lamps").listEntities());');
        const [message, tell] = useState("nothing ran");
        const [shown, show] = useState(true);
        return (
          <>
            <button onClick={() => change('show("changed");')}>Change</button>
            <button onClick={() => show(!shown)}>Toggle</button>
            <p>{message}</p>
            {shown && <table-playground store={store} code={code} onplayground-run={({ detail }) => tell("shown: " + detail.shown.length)} />}
          </>
        );
      }
      createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);`);
    const page = await openPage(
      `<div id="root"></div><script type="module" src="/script.js"></script>`,
    );
    assert.match((await run(page)).text, /desk00427$/);
    await page.getByText("shown: 1").waitFor();
    await page.getByRole("button", { name: "Change" }).click();
    await page.waitForFunction(
      () => document.querySelector("table-playground")?.code === 'show("changed");',
    );
    assert.match((await run(page)).text, /changed$/);
    await page.getByRole("button", { name: "Toggle" }).click();
    await page.locator("table-playground").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Toggle" }).click();
    // the page supplied the store, so it is still open
    assert.match((await run(page)).text, /changed$/);
    assert.deepEqual(await pagesCheck.allProblems(page), []);
    await tabs.leave(page);
  });

  test("no page printed or threw anything", () => {
    assert.deepEqual(tabs.problems, []);
  });
});

function focusedText(): string | null | undefined {
  return document.activeElement?.shadowRoot?.activeElement?.textContent;
}
