// Imports and exports files in Chromium: through a worker, in a tab that does not own the store,
// and while the owner's tab closes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { OpenOptions, Store } from "../../web/src/types.ts";
import { openStore } from "../web/support/package.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { blankPage, type Site } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");
type Global = typeof globalThis & { store: Store };

const rows = 3000;
const select = ["PartitionKey", "RowKey", "n", "big", "when", "text"];

let profile: Profile;
let site: Site;
let context: BrowserContext;
let file: string; // as exported in Node

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  site = await servePackage({ override: blankPage });
  const store = await openStore({ persistence: "memory" });
  await store.table("rows").createTable();
  for (let n = 0; n < rows; ++n) {
    await store.table("rows").createEntity({
      partitionKey: `p${n % 7}`,
      rowKey: String(n).padStart(6, "0"),
      n,
      big: 2n ** 60n + BigInt(n),
      when: { type: "DateTime", value: `2026-01-01T00:00:00.${String(n).padStart(7, "0")}Z` },
      ...(n % 3 === 0 ? { text: `"${n}",\r\n😀` } : {}),
    });
  }
  const stream = store.export({ table: "rows", query: { select }, format: "csv" });
  file = await new Response(stream).text();
  await store.close();
});

after(async () => {
  await context?.close();
  await site?.close();
  await profile?.remove();
});

async function openTab(options: OpenOptions): Promise<Page> {
  const page = await context.newPage();
  await page.goto(site.url);
  await page.evaluate(async (given) => {
    const { openStore }: Package = await import("/dist/index.js" as string);
    (globalThis as Global).store = await openStore({ name: "files", ...given });
  }, options);
  return page;
}

function imported(page: Page, table: string) {
  return page.evaluate(
    async ([name, text]) => {
      const { store } = globalThis as Global;
      const options = { table: name as string, format: "csv" } as const;
      const report = await store.import(new Blob([text as string]), options);
      return { written: report.written, rejections: report.rejections };
    },
    [table, file],
  );
}

function exported(page: Page, table: string): Promise<string> {
  return page.evaluate(
    async ([name, names]) => {
      const { store } = globalThis as Global;
      const query = { select: names as string[] };
      const stream = store.export({ table: name as string, query, format: "csv" });
      return await new Response(stream).text();
    },
    [table, select] as const,
  );
}

test("one tab imports a table and another exports it, one of them with a worker", async () => {
  const owner = await openTab({});
  const follower = await openTab({ thread: "worker" });
  assert.deepEqual(await imported(follower, "first"), { written: rows, rejections: [] });
  assert.equal(await exported(owner, "first"), file);
  assert.deepEqual(await imported(owner, "second"), { written: rows, rejections: [] });
  assert.equal(await exported(follower, "second"), file);
  const importing = imported(follower, "third");
  await owner.close();
  assert.deepEqual(await importing, { written: rows, rejections: [] });
  assert.equal(await exported(follower, "third"), file);
  await follower.close();
});
