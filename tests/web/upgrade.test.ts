// openStore({ version, upgrade }): when upgrades run, and what tabs with other versions get. The
// handles of one process stand for tabs: they share a BroadcastChannel and Web Locks.

import "fake-indexeddb/auto";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { OpenOptions, StoreError, Upgrade } from "../../web/src/index.ts";
import { lockWaitMs } from "../../web/src/open/environment.ts";
import { openStore } from "./support/package.ts";

let stores = 0;

// Opens stores of the same name, and records which upgrades ran.
class Bench {
  readonly name = `versions-${stores++}`;
  readonly ran: [from: number, to: number][] = [];

  open(version: number, options: OpenOptions = {}) {
    return openStore({
      name: this.name,
      persistence: "indexeddb",
      version,
      upgrade: async ({ store, oldVersion, newVersion }) => {
        this.ran.push([oldVersion, newVersion]);
        const table = store.table("steps");
        await table.createTable();
        await table.upsertEntity({ partitionKey: "p", rowKey: String(newVersion), oldVersion });
      },
      ...options,
    });
  }
}

const isConflict = (error: StoreError) => {
  assert.equal(error.code, "VersionConflict");
  assert.match(error.hint ?? "", /Reload the page/);
  return true;
};

describe("an upgrade", () => {
  test("runs once for each version, before the store is opened", async () => {
    const bench = new Bench();
    const first = await bench.open(1);
    assert.deepEqual(bench.ran, [[0, 1]]);
    assert.equal(await first.table("steps").count(), 1);
    await first.close();
    await (await bench.open(1)).close();
    const third = await bench.open(3);
    assert.deepEqual(bench.ran, [
      [0, 1],
      [1, 3],
    ]);
    assert.equal((await third.table("steps").getEntity("p", "3")).oldVersion, 1);
    await third.close();
  });

  test("may be left out", async () => {
    const bench = new Bench();
    await (await openStore({ name: bench.name, persistence: "indexeddb", version: 4 })).close();
    await (await bench.open(5)).close();
    assert.deepEqual(bench.ran, [[4, 5]]);
  });

  test("that fails runs again, and sees what it has written", async () => {
    const bench = new Bench();
    await (await bench.open(1)).close();
    const failed = bench.open(2, {
      upgrade: async ({ store }: Upgrade) => {
        await store.table("steps").upsertEntity({ partitionKey: "p", rowKey: "half" });
        throw new RangeError("half done");
      },
    });
    await assert.rejects(failed, { name: "RangeError", message: "half done" });
    const again = await bench.open(2);
    assert.deepEqual(bench.ran, [
      [0, 1],
      [1, 2],
    ]);
    assert.equal(await again.table("steps").count(), 3);
    await again.close();
  });

  test("rejects with its own error, even if what it wrote cannot be stored", async (context) => {
    const bench = new Bench();
    const upgrade: OpenOptions["upgrade"] = async ({ store }) => {
      const table = store.table("steps", { durability: "deferred" });
      await table.createTable();
      context.mock.method(IDBDatabase.prototype, "transaction", () => {
        throw new DOMException("No space is left.", "QuotaExceededError");
      });
      await table.upsertEntity({ partitionKey: "p", rowKey: "r" });
      throw new Error("The upgrade failed.");
    };
    await assert.rejects(bench.open(1, { upgrade }), /The upgrade failed/);
  });

  test("stores deferred writes before the version", async () => {
    const bench = new Bench();
    const store = await bench.open(1, {
      durability: "deferred",
      upgrade: async ({ store }: Upgrade) => {
        await store.table("steps").createTable();
        await store.table("steps").createEntity({ partitionKey: "p", rowKey: "r" });
        assert(store.status.pendingBytes > 0);
      },
    });
    assert.equal(store.status.pendingBytes, 0);
    await store.close();
  });

  test("runs in one tab, and the others wait for it", async () => {
    const bench = new Bench();
    const opened = await Promise.all([bench.open(2), bench.open(2), bench.open(2)]);
    assert.deepEqual(bench.ran, [[0, 2]]);
    for (const store of opened) assert.equal(await store.table("steps").count(), 1);
    for (const store of opened) await store.close();
  });

  test("may take longer than tabs wait for others to close the store", async () => {
    const bench = new Bench();
    const older = await bench.open(1);
    let runs = 0;
    const upgrade = async () => {
      runs += 1;
      await setTimeout(lockWaitMs + 500);
    };
    const opened = await Promise.all([bench.open(2, { upgrade }), bench.open(2, { upgrade })]);
    assert.equal(runs, 1);
    for (const store of [older, ...opened]) await store.close();
  });

  test("also works in files and in memory", async () => {
    const path = mkdtempSync(join(tmpdir(), "entitable-upgrade-"));
    const bench = new Bench();
    for (const _ of [1, 2]) {
      await (await bench.open(1, { persistence: "file", path })).close();
      await (await bench.open(1, { persistence: "memory" })).close();
    }
    assert.deepEqual(bench.ran, [
      [0, 1],
      [0, 1],
      [0, 1],
    ]);
    rmSync(path, { recursive: true });
  });
});

describe("another version", () => {
  test("an older one cannot open the store", async () => {
    const bench = new Bench();
    const newer = await bench.open(2);
    await assert.rejects(bench.open(1), isConflict);
    assert.equal(await newer.table("steps").count(), 1);
    await newer.close();
    await assert.rejects(bench.open(1), isConflict);
    assert.deepEqual(bench.ran, [[0, 2]]);
  });

  test("an upgrade closes the store in tabs with an older version, owners and others", async () => {
    const bench = new Bench();
    const owner = await bench.open(1);
    const follower = await bench.open(1);
    await owner.table("steps").upsertEntity({ partitionKey: "p", rowKey: "old" });
    const newer = await bench.open(2);
    assert.deepEqual(bench.ran, [
      [0, 1],
      [1, 2],
    ]);
    for (const older of [owner, follower]) {
      assert.equal(older.status.state, "closed");
      await assert.rejects(older.table("steps").getEntity("p", "old"), isConflict);
      const entity = { partitionKey: "p", rowKey: "late" };
      await assert.rejects(older.table("steps").createEntity(entity), isConflict);
      await assert.rejects(older.stats(), isConflict);
      await older.close();
    }
    assert.equal(await newer.table("steps").count(), 3);
    await newer.close();
  });

  test("a read-only store is not upgraded", async () => {
    const bench = new Bench();
    await (await bench.open(1)).close();
    await assert.rejects(bench.open(2, { readOnly: true }), { code: "VersionConflict" });
    const same = await bench.open(1, { readOnly: true });
    await same.close();
    assert.deepEqual(bench.ran, [[0, 1]]);
  });
});

test("invalid options are rejected", async () => {
  const invalid = { code: "ValidationFailed" };
  for (const version of [0, -1, 1.5, 2 ** 31, Number.NaN, "1"]) {
    await assert.rejects(openStore({ persistence: "memory", version: version as number }), invalid);
  }
  await assert.rejects(openStore({ persistence: "memory", upgrade() {} }), invalid);
});
