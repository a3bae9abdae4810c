// Tests in browsers where something is missing or disappears: no Web Locks, no IndexedDB, a lost
// connection, cleared site data. (Forbidden storage is tested in package.test.ts, a full disk in
// full-disk.test.ts.)

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CDPSession, Page } from "puppeteer-core";
import type { user as User } from "./fixture/tab-page.ts";
import { ownerOf, SharedTabs } from "./support/shared-tabs.ts";

type Package = typeof import("../../web/src/index.ts");

declare const user: typeof User; // a variable of the page

async function start(t: { after(end: () => Promise<void>): void }): Promise<SharedTabs> {
  const tabs = await SharedTabs.start();
  t.after(() => tabs.stop());
  return tabs;
}

// Inserts an entity. Returns the error's code; "done" if it succeeded.
const insert = (page: Page) =>
  page.evaluate(() =>
    user.insert("strict").then(
      () => "done",
      (error: { code?: string }) => String(error.code ?? error),
    ),
  );

const rows = (page: Page) => page.evaluate(async () => (await user.readState()).rows.length);

test("without Web Locks the last tab that opened the store owns it, and nothing is lost", async (t) => {
  const tabs = await start(t);
  const without = () => {
    Reflect.deleteProperty(Navigator.prototype, "locks");
  };
  const first = await tabs.tab({}, without);
  assert.equal(await insert(first), "done");
  const second = await tabs.tab({}, without);
  assert.deepEqual([await ownerOf(first), await ownerOf(second)], ["self", "self"]);
  assert.equal(await rows(second), 1);
  assert.equal(await insert(second), "done");
  assert.equal(await insert(first), "StoreLocked");
  assert.equal(await rows(first), 1); // as before the other tab opened the store
  await first.evaluate(() => user.close());
  const third = await tabs.tab({}, without);
  assert.equal(await rows(third), 2);
  assert.equal(await insert(second), "StoreLocked");
});

test("without IndexedDB a store is in memory, with a warning, or not at all", async (t) => {
  const tabs = await start(t);
  const page = await tabs.tab({}, () => {
    Reflect.deleteProperty(globalThis, "indexedDB");
    Reflect.deleteProperty(Window.prototype, "indexedDB");
  });
  assert.equal(await page.evaluate(() => user.status().persistence), "memory");
  const said = await page.evaluate(async () => {
    const { openStore } = (await import("/dist/index.js" as string)) as Package;
    const codes: string[] = [];
    await (await openStore({ name: "a", onWarning: ({ code }) => codes.push(code) })).close();
    await openStore({ name: "a", persistence: "indexeddb" }).catch(({ code }) => codes.push(code));
    return codes;
  });
  assert.deepEqual(said, ["PersistenceUnavailable", "PersistenceUnavailable"]);
});

describe("a connection to IndexedDB", () => {
  // Records the connections that are used from now on.
  function keepConnections(): void {
    const { transaction } = IDBDatabase.prototype;
    const connections = new Set<IDBDatabase>();
    Object.assign(globalThis, { connections });
    IDBDatabase.prototype.transaction = function (...given) {
      connections.add(this);
      return transaction.apply(this, given);
    };
  }

  test("that is lost is opened again", async (t) => {
    const tabs = await start(t);
    const owner = await tabs.tab({}, keepConnections);
    const follower = await tabs.tab();
    assert.equal(await insert(owner), "done");
    const again = follower.evaluate(() => user.reopened());
    await owner.evaluate(() => {
      const { connections } = globalThis as unknown as { connections: Set<IDBDatabase> };
      for (const connection of connections) connection.close();
    });
    assert.equal(await insert(owner), "done");
    assert.equal(await insert(follower), "done");
    await again;
    assert.equal(await rows(follower), 3);
  });

  test("that ends because the site's data was cleared rejects writes but not reads", async (t) => {
    const tabs = await start(t);
    const owner = await tabs.tab();
    const follower = await tabs.tab();
    assert.equal(await insert(follower), "done");
    const session: CDPSession = await owner.createCDPSession();
    const origin = new URL(tabs.site.url).origin;
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes: "indexeddb" });
    assert.equal(await insert(owner), "ConnectionLost");
    assert.equal(await insert(follower), "ConnectionLost");
    for (const page of [owner, follower]) {
      assert.equal(await page.evaluate(() => user.status().state), "read-only");
      assert.equal(await rows(page), 1);
    }
    for (const page of [owner, follower]) await page.close();
    const anew = await tabs.tab();
    assert.equal(await rows(anew), 0);
    assert.equal(await insert(anew), "done");
  });
});
