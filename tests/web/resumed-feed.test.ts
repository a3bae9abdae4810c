// Tests the change feed of readers that resume after a sequence, or that are too slow, so that they
// get changes from the log.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ChangeBatch, ChangeFeed, ChangesOptions, OpenOptions } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";
import { seededRandom } from "./support/random.ts";

async function read(feed: ChangeFeed, count: number): Promise<ChangeBatch[]> {
  const batches: ChangeBatch[] = [];
  while (batches.length < count) {
    const { done, value } = await feed.next();
    if (done) break;
    batches.push(value);
  }
  return batches;
}

const keys = (batches: readonly ChangeBatch[]) =>
  batches.map(({ changes, tables }) => changes.map(({ rowKey }) => rowKey).join() || `${tables}`);
const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => String(first + i));

// A storage without checkpoints, which remove the log.
class LogOnlyStorage extends MemoryStorage {
  override async commitManifest() {
    throw new StorageError("aborted", "There are no checkpoints.");
  }
}

// A store with a log.
async function storeWithLog(
  storage = new MemoryStorage(new Map()),
  history?: NonNullable<OpenOptions["history"]>,
) {
  const engine = await createEngine();
  const options = { engine, storage, durability: "deferred", history } as const;
  const store = new StoreHandle("feed", await openHost(options));
  const lamps = store.table("lamps");
  await lamps.createTable();
  return { store, lamps };
}

const row = (rowKey: string, stock = 1) => ({ partitionKey: "desk", rowKey, stock });

describe("a feed since a sequence", () => {
  test("has all later commits once, in their order, then those that follow", async () => {
    const { store, lamps } = await storeWithLog();
    for (const key of numbers(1, 5)) await lamps.upsertEntity(row(key));
    await store.flush();
    for (const key of numbers(6, 8)) await lamps.upsertEntity(row(key));
    const all = await read(store.changes({ since: 0n }), 9);
    assert.deepEqual(all[0]?.tables, [{ table: "lamps", op: "create" }]);
    assert.deepEqual(keys(all.slice(1)), numbers(1, 8));
    for (const [i, { sequence }] of all.entries()) {
      const feed = store.changes({ since: sequence });
      await feed.ready;
      assert.deepEqual(await read(feed, 8 - i), all.slice(i + 1));
      const next = feed.next();
      await lamps.upsertEntity(row("9"));
      assert.deepEqual(keys([(await next).value as ChangeBatch]), ["9"]);
      await feed.return();
      await lamps.deleteEntity("desk", "9");
      const last = await read(store.changes({ since: sequence }), 8 - i + 2 * (i + 1));
      assert.deepEqual(last.at(-1)?.changes[0]?.op, "delete");
    }
    await store.close();
  });

  test("has the chosen changes, without the entities before them", async () => {
    const { store, lamps } = await storeWithLog();
    for (const key of numbers(1, 4)) await lamps.upsertEntity(row(key, Number(key)));
    await store.table("floor").createTable();
    await store.table("floor").createEntity(row("5", 5));
    await store.flush();
    const options: ChangesOptions[] = [
      { tables: ["floor"] },
      { filter: "stock gt 3" },
      { partitionKey: "desk", rowKey: { from: "2", to: "4" } },
    ];
    const expected = [["5"], ["4", "5"], ["2", "3"]];
    for (const [i, option] of options.entries()) {
      const feed = store.changes({ ...option, since: 0n, before: true });
      await feed.ready;
      const rows: string[] = [];
      while (rows.length < (expected[i]?.length ?? 0)) {
        const { value } = await feed.next();
        for (const change of value?.changes ?? []) {
          rows.push(change.rowKey);
          assert(!("before" in change));
        }
      }
      assert.deepEqual(rows, expected[i]);
      await feed.return();
    }
    await store.close();
  });

  test("is truncated if the changes are not in the log any more, or were never made", async (t) => {
    const path = mkdtempSync(join(tmpdir(), "entitable-resumed-"));
    t.after(() => rmSync(path, { recursive: true }));
    const store = await openStore({ persistence: "file", path });
    const lamps = store.table("lamps");
    await lamps.createTable();
    for (const key of numbers(1, 3)) await lamps.upsertEntity(row(key));
    const all = await read(store.changes({ since: 0n }), 4);
    const last = all.at(-1)?.sequence as bigint;
    await store.compact();
    await lamps.upsertEntity(row("4"));
    await lamps.upsertEntity(row("5"));
    const [four] = await read(store.changes({ since: last }), 1);
    const firstSequence = four?.sequence;
    for (const since of [0n, all[2]?.sequence as bigint, last + 3n, 2n ** 63n - 1n]) {
      const feed = store.changes({ since });
      await assert.rejects(feed.ready, { code: "FeedTruncated", firstSequence });
      await assert.rejects(feed.next(), { code: "FeedTruncated", hint: /firstSequence - 1n/ });
      assert.deepEqual(await feed.next(), { done: true, value: undefined });
    }
    const rest = store.changes({ since: (firstSequence as bigint) - 1n });
    assert.deepEqual(keys(await read(rest, 2)), ["4", "5"]);
    await store.compact(); // the first sequence is that of the next commit
    const truncated = store.changes({ since: 0n });
    const error: { firstSequence?: bigint } = await truncated.next().catch((reason) => reason);
    const later = store.changes({ since: (error.firstSequence as bigint) - 1n });
    await later.ready;
    await lamps.upsertEntity(row("6"));
    assert.deepEqual(keys(await read(later, 1)), ["6"]);
    await store.close();
  });

  test("continues after the store was closed and opened again", async (t) => {
    const path = mkdtempSync(join(tmpdir(), "entitable-resumed-"));
    t.after(() => rmSync(path, { recursive: true }));
    let since = 0n;
    for (let round = 0; round < 3; ++round) {
      const store = await openStore({ persistence: "file", path, durability: "relaxed" });
      const lamps = store.table("lamps");
      if (round === 0) await lamps.createTable();
      const feed = store.changes({ since });
      if (round === 0) await read(feed, 1);
      const first = round === 0 ? 1 : 4 * round - 1;
      for (const key of numbers(4 * round + 1, 4 * round + 4)) await lamps.upsertEntity(row(key));
      const batches = await read(feed, 4 * round + 2 - first + 1);
      assert.deepEqual(keys(batches), numbers(first, 4 * round + 2));
      since = batches.at(-1)?.sequence as bigint;
      await store.close();
    }
  });

  test("is truncated in a store in memory, which keeps no log", async () => {
    const store = await openStore({ persistence: "memory" });
    const lamps = store.table("lamps");
    await lamps.createTable();
    await lamps.createEntity(row("1"));
    const now = store.changes();
    await now.ready;
    const next = now.next();
    const feed = store.changes({ since: 0n });
    await assert.rejects(feed.next(), (error: { code?: string; firstSequence?: bigint }) => {
      assert.equal(error.code, "FeedTruncated");
      return typeof error.firstSequence === "bigint";
    });
    await lamps.createEntity(row("2"));
    const sequence = (await next).value?.sequence;
    const latest = store.changes({ since: sequence });
    await latest.ready;
    await lamps.createEntity(row("3"));
    assert.deepEqual(keys(await read(latest, 1)), ["3"]);
    await store.close();
  });

  test("rejects what is no sequence", async () => {
    const { store } = await storeWithLog();
    for (const since of [5, "5", null, -1n, 2n ** 63n] as unknown as bigint[]) {
      const feed = store.changes({ since });
      await assert.rejects(feed.next(), { code: "ValidationFailed", hint: /sequence/ });
    }
    await store.close();
  });

  test("fails with the error of a filter", async () => {
    const { store } = await storeWithLog();
    const feed = store.changes({ since: 0n, filter: "stock eq" });
    await assert.rejects(feed.next(), { code: "InvalidInput" });
    await store.close();
  });
});

// A storage that removes segments before a manifest is committed, as files are, and whose reads
// fail at times.
class SlowStorage extends MemoryStorage {
  readFailures = 0;
  onCommit: () => Promise<void> = async () => {};

  override async commitManifest(...args: Parameters<MemoryStorage["commitManifest"]>) {
    await super.commitManifest(...args);
    await this.onCommit();
  }
  override async readSegments(...args: Parameters<MemoryStorage["readSegments"]>) {
    if (this.readFailures-- > 0) throw new StorageError("aborted", "The connection is broken.");
    await super.readSegments(...args);
  }
}

describe("a feed that reads the log", () => {
  async function storeWithSlowStorage() {
    const storage = new SlowStorage(new Map());
    const store = new StoreHandle(
      "feed",
      await openHost({ engine: await createEngine(), storage }),
    );
    const lamps = store.table("lamps");
    await lamps.createTable();
    for (const key of numbers(1, 3)) await lamps.upsertEntity(row(key));
    return { storage, store, lamps };
  }

  test("is truncated, not damaged, while a checkpoint removes what it needs", async () => {
    const { storage, store, lamps } = await storeWithSlowStorage();
    let commit = () => {};
    const committing = new Promise<void>((resolve) => {
      storage.onCommit = () => {
        resolve();
        return new Promise((end) => {
          commit = end;
        });
      };
    });
    const compacting = store.compact();
    await committing;
    const feed = store.changes({ since: 0n });
    const truncated = assert.rejects(feed.next(), { code: "FeedTruncated" });
    await new Promise((resolve) => setTimeout(resolve, 50));
    commit();
    await truncated;
    await compacting;
    await lamps.upsertEntity(row("4"));
    await store.close();
  });

  test("reads again if the storage fails for a while", async () => {
    const { storage, store } = await storeWithSlowStorage();
    storage.readFailures = 1;
    assert.deepEqual(keys(await read(store.changes({ since: 0n }), 4)).slice(1), numbers(1, 3));
    assert.equal(storage.readFailures, -1);
    await store.close();
  });
});

// Counts the bytes of segments that are read.
class CountingStorage extends MemoryStorage {
  bytesRead = 0;

  override async readSegments(...[first, visit]: Parameters<MemoryStorage["readSegments"]>) {
    await super.readSegments(first, (sequence, bytes) => {
      this.bytesRead += bytes?.length ?? 0;
      return visit(sequence, bytes);
    });
  }
}

test("a feed reads a large segment once, although its commits need many responses", async () => {
  const files = new Map<string, Uint8Array>();
  const storage = new CountingStorage(files);
  const { store, lamps } = await storeWithLog(storage);
  await Promise.all(numbers(1, 6000).map((key) => lamps.upsertEntity(row(key))));
  await store.flush();
  storage.bytesRead = 0;
  const batches = await read(store.changes({ since: 0n }), 6001);
  assert.deepEqual(keys(batches.slice(1)), numbers(1, 6000));
  const logBytes = [...files.values()].reduce((bytes, file) => bytes + file.length, 0);
  assert(storage.bytesRead <= logBytes, `${storage.bytesRead} bytes of ${logBytes} were read`);
  await store.close();
});

class CheckpointCounter extends MemoryStorage {
  count = 0;
  #onNext = () => {};

  override async commitManifest(...args: Parameters<MemoryStorage["commitManifest"]>) {
    await super.commitManifest(...args);
    this.count += 1;
    this.#onNext();
  }
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNext = resolve;
    });
  }
}

describe("a slow reader", () => {
  test("gets from the log what it could not keep, and never slows a writer", async () => {
    const { store, lamps } = await storeWithLog();
    for (const count of [999, 1000, 1001, 1002, 2600]) {
      const feed = store.changes();
      await feed.ready;
      for (let i = 0; i < count; ++i) await lamps.upsertEntity(row(String(i)));
      const first = await read(feed, 700);
      for (let i = count; i < count + 700; ++i) await lamps.upsertEntity(row(String(i)));
      const rest = await read(feed, count);
      assert.deepEqual(keys([...first, ...rest]), numbers(0, count + 699));
      await lamps.upsertEntity(row("end"));
      assert.deepEqual(keys(await read(feed, 1)), ["end"]);
      await feed.return();
    }
    await store.close();
  });

  test("is truncated if a checkpoint has removed the log", async () => {
    const { store, lamps } = await storeWithLog(undefined, { bytes: 0 });
    const feed = store.changes();
    await feed.ready;
    for (let i = 0; i < 1001; ++i) await lamps.upsertEntity(row(String(i)));
    await store.compact();
    assert.deepEqual(keys(await read(feed, 1000)), numbers(0, 999));
    await assert.rejects(feed.next(), { code: "FeedTruncated" });
    await store.close();
  });

  test("gets what it could not keep although checkpoints are written", async () => {
    const { store, lamps } = await storeWithLog();
    const feed = store.changes();
    await feed.ready;
    for (let i = 0; i < 2000; ++i) await lamps.upsertEntity(row(String(i)));
    await store.compact();
    for (let i = 0; i < 2000; i += 500) {
      assert.deepEqual(keys(await read(feed, 500)), numbers(i, i + 499));
      await lamps.upsertEntity(row(`later ${i}`));
      await store.compact();
    }
    await store.close();
  });

  test("gets all changes since a sequence although it is slower than automatic checkpoints", async () => {
    const checkpoints = new CheckpointCounter(new Map());
    const { store, lamps } = await storeWithLog(checkpoints);
    const text = "x".repeat(200);
    await Promise.all(numbers(1, 3000).map((key) => lamps.upsertEntity({ ...row(key), text })));
    await store.flush();
    const feed = store.changes({ since: 0n });
    const first = await read(feed, 101);
    assert.equal(checkpoints.count, 0);
    await checkpoints.next();
    const rest = await read(feed, 2900);
    assert.deepEqual(keys([...first, ...rest].slice(1)), numbers(1, 3000));
    await feed.return();
    await lamps.upsertEntity(row("last"));
    await store.compact();
    await assert.rejects(store.changes({ since: 0n }).next(), { code: "FeedTruncated" });
    await store.close();
  });

  test("sees each commit once, in their order, at random", async () => {
    const random = seededRandom(Number(process.env["ENTITABLE_SEED"] ?? 1));
    const { store } = await storeWithLog(new LogOnlyStorage(new Map()));
    let written = 0;
    let isOver = false;
    const write = async () => {
      while (!isOver) {
        const durability = random.below(20) === 0 ? "strict" : "deferred";
        const table = store.table("lamps", { durability });
        const count = random.below(300);
        for (let i = 0; i < count; ++i) await table.upsertEntity(row(String(written++)));
        await new Promise((resolve) => setTimeout(resolve));
      }
    };
    const writing = write();
    const readers = Array.from({ length: 4 }, async () => {
      let feed = store.changes({ since: 0n });
      await feed.next();
      let seen = 0;
      while (seen < 6000) {
        for (const batch of await read(feed, 1 + random.below(800))) {
          assert.equal(batch.changes[0]?.rowKey, String(seen));
          seen += 1;
          if (random.below(700) !== 0) continue;
          await feed.return();
          feed = store.changes({ since: batch.sequence });
          break;
        }
        if (random.below(3) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await feed.return();
    });
    await Promise.all(readers).finally(() => {
      isOver = true;
    });
    await writing;
    await store.close();
  });
});
