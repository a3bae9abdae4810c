// Tests in real Chromium that a store that has used up its origin's quota can be emptied: deletes
// and compact() use the reserve (web/src/host/space-reserve.ts), before and after a reload.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { blankPage, type Site } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");
type Store = Awaited<ReturnType<Package["openStore"]>>;
declare function entitable(): Promise<Package>; // a function of the page

const quotaSize = 16 * 1024 * 1024;
let profile: Profile;
let context: BrowserContext;

before(async () => {
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await profile?.remove();
});

// Opens a page of a new origin with a small quota.
async function openPage(): Promise<{ page: Page; site: Site }> {
  const site = await servePackage({ override: blankPage });
  const page = await context.newPage();
  await page.addInitScript(() => {
    Object.assign(globalThis, { entitable: () => import("/dist/index.js" as string) });
  });
  const cdp = await context.newCDPSession(page);
  await cdp.send("Storage.overrideQuotaForOrigin", { origin: new URL(site.url).origin, quotaSize });
  await page.goto(site.url);
  return { page, site };
}

async function open(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { openStore } = await entitable();
    Object.assign(globalThis, { store: await openStore({ name: "full" }) });
  });
}

// Fills the open store until no row of 120 kB or 1 kB fits.
async function fill(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const { store } = globalThis as unknown as { store: Store };
    const table = store.table("rows");
    const first = (await store.stats()).rows;
    if (first === 0) await table.createTable();
    let written = first;
    for (const size of [60_000, 500]) {
      for (;;) {
        const noise = () => crypto.getRandomValues(new Uint8Array(size)); // does not compress
        const rowKey = String(written).padStart(6, "0");
        const error = await table
          .createEntity({ partitionKey: "p", rowKey, a: noise(), b: noise() })
          .catch((error: unknown) => error);
        if (error instanceof Error) {
          const { code } = error as { code?: string };
          if (code !== "QuotaExceeded") throw error;
          break;
        }
        written += 1;
      }
    }
  });
}

async function reopen(page: Page): Promise<void> {
  await page.evaluate(() => (globalThis as unknown as { store: Store }).store.close());
  await page.reload();
  await open(page);
}

type Kind = "single" | "scattered" | "parallel" | "transaction" | "table";

// Deletes all rows, compacts, and writes again. Resolves to the errors, and to the rows at the end.
async function empty(page: Page, kind: Kind): Promise<{ errors: string[]; rows: number }> {
  return await page.evaluate(async (kind) => {
    const { store } = globalThis as unknown as { store: Store };
    const table = store.table("rows");
    const errors: string[] = [];
    const note = (what: string) => (error: unknown) => errors.push(`${what}: ${String(error)}`);
    const keys: string[] = [];
    for await (const { rowKey } of table.listEntities()) keys.push(rowKey as string);
    const remove = (key: string) => table.deleteEntity("p", key).catch(note(key));
    if (kind === "table") {
      await table.deleteTable().catch(note("deleteTable"));
    } else if (kind === "transaction") {
      for (let i = 0; i < keys.length; i += 100) {
        await table
          .submitTransaction(
            keys
              .slice(i, i + 100)
              .map((rowKey) => ["delete", { partitionKey: "p", rowKey }] as const) as never,
          )
          .catch(note(`transaction ${i}`));
      }
    } else if (kind === "parallel") {
      await Promise.all(keys.map(remove));
    } else {
      const step = kind === "scattered" ? 37 : 1;
      for (let first = 0; first < step; ++first)
        for (let i = first; i < keys.length; i += step) await remove(keys[i] as string);
    }
    await store.compact().catch(note("compact"));
    if (kind === "table") await table.createTable().catch(note("createTable"));
    const noise = crypto.getRandomValues(new Uint8Array(60_000));
    for (let i = 0; i < 100; ++i) {
      const row = { partitionKey: "new", rowKey: String(i), noise };
      await table.createEntity(row).catch(note(`create ${i}`));
    }
    let rows = 0;
    for await (const _ of table.listEntities()) ++rows;
    return { errors, rows };
  }, kind);
}

for (const kind of ["single", "scattered", "parallel", "transaction", "table"] as const) {
  for (const when of ["at once", "after reopening"]) {
    test(`a full store can be emptied ${when}: ${kind}`, async () => {
      const { page, site } = await openPage();
      try {
        await open(page);
        await fill(page);
        if (when === "after reopening") {
          await reopen(page);
          await fill(page); // opening may free space
        }
        const { errors, rows } = await empty(page, kind);
        assert.deepEqual([errors.length, errors[0], rows], [0, undefined, 100]);
      } finally {
        await page.close();
        await site.close();
      }
    });
  }
}
