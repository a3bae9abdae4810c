// A snapshot taken in Chromium is restored in Node and vice versa. Both sides have the same bytes.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { BrowserContext } from "playwright-core";
import { openStore } from "../web/support/package.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { servePackage } from "./support/package-site.ts";
import { blankPage, type Site } from "./support/server.ts";

type Package = typeof import("../../web/src/index.ts");

let profile: Profile;
let site: Site;
let context: BrowserContext;

before(async () => {
  profile = await newProfile();
  context = await profile.open();
  site = await servePackage({ override: blankPage });
});

after(async () => {
  await context.close();
  await site.close();
  await profile.remove();
});

describe("a snapshot", () => {
  test("of a store in IndexedDB is restored in Node, and vice versa", async () => {
    const page = await context.newPage();
    await page.goto(site.url);
    const taken = await page.evaluate(async () => {
      const { openStore }: Package = await import("/dist/index.js" as string);
      const store = await openStore({ name: "out", persistence: "indexeddb" });
      const table = store.table("people");
      await table.createTable();
      for (let n = 0; n < 20; ++n) {
        await table.createEntity({ partitionKey: "p", rowKey: `r${n}`, n, when: new Date(n) });
      }
      const file = await store.snapshot();
      await store.close();
      return [...file];
    });
    const store = await openStore({ persistence: "memory" });
    const file = Uint8Array.from(taken);
    assert.deepEqual(await store.restore(file), { tables: 1, entities: 20 });
    assert.deepEqual(await store.snapshot(), file);
    await store.table("people").deleteEntity("p", "r3");
    const changed = await store.snapshot();
    await store.close();
    const back = await page.evaluate(
      async (bytes) => {
        const { openStore }: Package = await import("/dist/index.js" as string);
        const before = await openStore({ name: "out", persistence: "indexeddb" });
        await before.restore(new Blob([Uint8Array.from(bytes)]));
        await before.close();
        const again = await openStore({ name: "out", persistence: "indexeddb" });
        const { ok } = await again.verify();
        const file = await again.snapshot();
        await again.close();
        return { ok, file: [...file] };
      },
      [...changed],
    );
    assert.equal(back.ok, true);
    assert.deepEqual(Uint8Array.from(back.file), Uint8Array.from(changed));
  });
});
