// Tests durable readers of the change feed. tests/web/live-tabs.test.ts has them in several tabs,
// and tests/web/reader-kills.test.ts kills processes.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ChangeBatch, FeedReader, OpenOptions, Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";

type Files = Map<string, Uint8Array>;

// Opens a store whose log is in `files`, with a table. Nothing is written when it closes.
async function open(files: Files, storage = new MemoryStorage(files)): Promise<Store> {
  const deferredDelayMs = 500; // longer than a checkpoint
  const host = await openHost({ engine: await createEngine(), storage, deferredDelayMs });
  const store = new StoreHandle("r", host);
  await lamps(store).createTable();
  return store;
}

const lamps = (store: Store) => store.table("lamps");
const row = (rowKey: number) => ({ partitionKey: "desk", rowKey: String(rowKey) });

async function write(store: Store, first: number, last: number): Promise<void> {
  for (let i = first; i <= last; ++i) await lamps(store).upsertEntity(row(i));
}

async function read(reader: FeedReader, count: number): Promise<ChangeBatch[]> {
  const batches: ChangeBatch[] = [];
  while (batches.length < count) batches.push((await reader.next()).value as ChangeBatch);
  return batches;
}

const keys = (batches: readonly ChangeBatch[]) =>
  batches.flatMap(({ changes }) => changes.map(({ rowKey }) => Number(rowKey)));
const sequenceOf = (batches: readonly ChangeBatch[]) => batches.at(-1)?.sequence as bigint;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "entitable-readers-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

// Keeps what is stored when a manifest has just been stored.
class StorageWithImages extends MemoryStorage {
  readonly images: Files[] = [];
  readonly #files: Files;

  constructor(files: Files) {
    super(files);
    this.#files = files;
  }

  override async commitManifest(...args: Parameters<MemoryStorage["commitManifest"]>) {
    await super.commitManifest(...args);
    this.images.push(new Map(this.#files));
  }
}

describe("a durable reader", () => {
  test("begins with the next commit, or after a sequence", async () => {
    const store = await open(new Map());
    await write(store, 1, 2);
    const all = await store.reader("all", { since: 0n });
    const next = await store.reader("next");
    await write(store, 3, 4);
    assert.deepEqual(keys(await read(next, 2)), [3, 4]);
    assert.deepEqual(keys(await read(all, 5)), [1, 2, 3, 4]); // the first is the table
    await store.close();
  });

  test("has no gap if a crash follows a checkpoint that covers deferred writes", async () => {
    const files: Files = new Map();
    const storage = new StorageWithImages(files);
    const store = await open(files, storage);
    await store.reader("backup");
    await write(store, 1, 1); // so that there is something to compact
    let written = 1;
    let isCompacting = true;
    // The second checkpoint begins after the first one, when more was written.
    const compacting = Promise.all([store.compact(), store.compact()]).finally(() => {
      isCompacting = false;
    });
    while (isCompacting) {
      await lamps(store).upsertEntity(row(++written), "Replace", { durability: "deferred" });
      await sleep(0);
    }
    await compacting;
    const crashed = await open(storage.images.at(-1) as Files);
    let rows = 0;
    for await (const _ of lamps(crashed).listEntities()) rows += 1;
    assert(rows > 0);
    assert.equal(keys(await read(await crashed.reader("backup"), rows)).length, rows);
    await crashed.close();
    await store.close();
  });

  test("continues after what it has acknowledged, and gets the rest again", async (t) => {
    const path = folder(t);
    const options = { persistence: "file", path } as const;
    let store = await openStore(options);
    await lamps(store).createTable();
    let reader = await store.reader("backup");
    await write(store, 1, 5);
    assert.deepEqual(keys(await read(reader, 5)), [1, 2, 3, 4, 5]);
    await reader.close();
    reader = await store.reader("backup", { since: 0n });
    const batches = await read(reader, 5);
    assert.deepEqual(keys(batches), [1, 2, 3, 4, 5]);
    const third = batches[2]?.sequence as bigint;
    await reader.ack(third);
    assert.equal(reader.acknowledged, third);
    await reader.ack(batches[0]?.sequence as bigint); // an earlier one changes nothing
    assert.equal(reader.acknowledged, third);
    for (let round = 0; round < 3; ++round) {
      await store.close();
      store = await openStore(options);
      reader = await store.reader("backup");
      assert.equal(reader.acknowledged, third);
      assert.deepEqual(keys(await read(reader, 2)), [4, 5]);
    }
    await write(store, 6, 6);
    assert.deepEqual(keys(await read(reader, 1)), [6]);
    await store.close();
  });

  test("has what it acknowledged after a crash, and the log after it", async () => {
    const files = new Map<string, Uint8Array>();
    const store = await open(files);
    await store.reader("idle");
    const reader = await store.reader("backup");
    await write(store, 1, 4);
    await store.compact(); // covers the log, which is kept for the readers
    const batches = await read(reader, 4);
    await reader.ack(sequenceOf(batches.slice(0, 3)));
    const crashed = new Map(files);
    await reader.ack(sequenceOf(batches));
    await store.close();
    const again = await open(crashed);
    assert.deepEqual(keys(await read(await again.reader("backup"), 1)), [4]);
    assert.deepEqual(keys(await read(await again.reader("idle"), 4)), [1, 2, 3, 4]);
    await again.close();
  });

  test("acknowledges when that is stored", async () => {
    const storage = new (class extends MemoryStorage {
      committed = 0;
      override async commitManifest(...call: Parameters<MemoryStorage["commitManifest"]>) {
        await sleep(20);
        await super.commitManifest(...call);
        this.committed += 1;
      }
    })(new Map());
    const store = new StoreHandle("r", await openHost({ engine: await createEngine(), storage }));
    await lamps(store).createTable();
    const reader = await store.reader("backup");
    assert.equal(storage.committed, 1);
    await write(store, 1, 2);
    const batches = await read(reader, 2);
    const acks = batches.map(({ sequence }) => reader.ack(sequence));
    await sleep(5);
    assert.equal(storage.committed, 1);
    await Promise.all(acks);
    assert.equal(reader.acknowledged, sequenceOf(batches));
    assert(storage.committed >= 2);
    const { committed } = storage;
    await reader.ack(sequenceOf(batches)); // nothing is left to store
    assert.equal(storage.committed, committed);
    await store.close();
  });

  test("gets FeedTruncated beyond the limits of the history, and can go on", async () => {
    let now = Date.UTC(2026, 0, 1);
    const storage = new MemoryStorage(new Map());
    const history = { bytes: 1 << 20, ageMs: 5000 };
    const options = { engine: await createEngine(), storage, history, clock: { now: () => now } };
    const store = new StoreHandle("r", await openHost(options));
    await lamps(store).createTable();
    const reader = await store.reader("backup");
    await write(store, 1, 3);
    await reader.close();
    await store.compact();
    now += 6000;
    await write(store, 4, 5);
    await store.compact();
    const late = await store.reader("backup");
    const error: { code?: string; firstSequence?: bigint } = await late.next().catch((e) => e);
    assert.equal(error.code, "FeedTruncated");
    await assert.rejects(late.next(), { code: "FeedTruncated" });
    await late.ack((error.firstSequence as bigint) - 1n);
    assert.deepEqual(keys(await read(late, 2)), [4, 5]);
    await store.close();
  });

  test("is removed with its position, and the log is no longer kept for it", async () => {
    const store = await open(new Map());
    const reader = await store.reader("backup");
    await write(store, 1, 3);
    await store.compact();
    const [first] = await read(reader, 1);
    await reader.remove();
    assert.deepEqual(await reader.next(), { done: true, value: undefined });
    await assert.rejects(reader.ack(first?.sequence as bigint), { code: "StoreClosed" });
    await store.compact();
    await write(store, 4, 4);
    await assert.rejects(store.changes({ since: 0n }).next(), { code: "FeedTruncated" });
    const again = await store.reader("backup");
    await write(store, 5, 5);
    assert.deepEqual(keys(await read(again, 1)), [5]);
    await store.close();
  });

  test("has the chosen changes, and can be iterated", async () => {
    const store = await open(new Map());
    const tables = ["floor"];
    await using reader = await store.reader("backup", { tables });
    tables.push("lamps"); // has no effect
    await write(store, 1, 3);
    await store.table("floor").createTable();
    await store.table("floor").createEntity(row(4));
    const seen: (string | undefined)[] = [];
    for await (const { changes } of reader) {
      seen.push(changes[0]?.rowKey);
      if (seen.length === 2) break;
    }
    assert.deepEqual(seen, [undefined, "4"]);
    assert.deepEqual(await reader.next(), { done: true, value: undefined });
    await store.close();
  });
});

describe("the reader of a name", () => {
  test("is held once: others wait until it is closed", async () => {
    const store = await open(new Map());
    const first = await store.reader("backup");
    const other = await store.reader("other");
    let opened = 0;
    const waiting = [1, 2].map(async () => {
      const reader = await store.reader("backup");
      opened += 1;
      return reader;
    });
    await sleep(20);
    assert.equal(opened, 0);
    await first.close();
    await first.close();
    const second = await Promise.race(waiting);
    await sleep(20);
    assert.equal(opened, 1);
    await second.close();
    await (await Promise.all(waiting))[1]?.close();
    await other.close();
    await store.close();
  });

  test("is not waited for any longer after an abort, or if the store closes", async () => {
    const store = await open(new Map());
    const first = await store.reader("backup");
    const controller = new AbortController();
    const { signal } = controller;
    const aborted = assert.rejects(store.reader("backup", { signal }), { name: "AbortError" });
    await sleep(5);
    controller.abort();
    await aborted;
    await assert.rejects(store.reader("backup", { signal }), { name: "AbortError" });
    await first.close();
    const second = await store.reader("backup");
    const closed = assert.rejects(store.reader("backup"), { code: "StoreClosed" });
    const next = second.next();
    await sleep(5);
    await store.close();
    await closed;
    assert.deepEqual(await next, { done: true, value: undefined });
    await assert.rejects(store.reader("backup"), { code: "StoreClosed" });
  });

  test("stores acknowledgements that come together with few checkpoints", async () => {
    const storage = new (class extends MemoryStorage {
      committed = 0;
      override async commitManifest(...call: Parameters<MemoryStorage["commitManifest"]>) {
        await sleep(5);
        await super.commitManifest(...call);
        this.committed += 1;
      }
    })(new Map());
    const store = new StoreHandle("r", await openHost({ engine: await createEngine(), storage }));
    await lamps(store).createTable();
    const reader = await store.reader("backup");
    await write(store, 1, 30);
    const batches = await read(reader, 30);
    storage.committed = 0;
    let isOver = false;
    const writing = (async () => {
      for (let i = 31; !isOver; ++i) await Promise.all([write(store, i, i), sleep(1)]);
    })();
    await Promise.all(batches.map(({ sequence }) => reader.ack(sequence)));
    isOver = true;
    await writing;
    assert.equal(reader.acknowledged, sequenceOf(batches));
    assert(storage.committed <= 3, `${storage.committed} checkpoints`);
    await store.close();
  });

  test("is free for others if its signal aborts while it opens", async () => {
    const storage = new (class extends MemoryStorage {
      override async commitManifest(...call: Parameters<MemoryStorage["commitManifest"]>) {
        await sleep(20);
        await super.commitManifest(...call);
      }
    })(new Map());
    const store = new StoreHandle("r", await openHost({ engine: await createEngine(), storage }));
    await lamps(store).createTable();
    const controller = new AbortController();
    const { signal } = controller;
    const opening = store.reader("backup", { signal });
    await sleep(10);
    controller.abort();
    await assert.rejects(opening, { name: "AbortError" });
    const reader = await store.reader("backup");
    await write(store, 1, 1);
    assert.deepEqual(keys(await read(reader, 1)), [1]);
    await store.close();
  });

  test("goes on after several calls have waited when it was truncated", async () => {
    const storage = new MemoryStorage(new Map());
    const history = { bytes: 0 };
    const host = await openHost({ engine: await createEngine(), storage, history });
    const store = new StoreHandle("r", host);
    await lamps(store).createTable();
    await (await store.reader("backup")).close();
    await write(store, 1, 3);
    await store.compact();
    const reader = await store.reader("backup");
    const results = await Promise.allSettled([reader.next(), reader.next(), reader.next()]);
    const codes = results.map((result) => result.status === "rejected" && result.reason.code);
    assert.deepEqual(codes, Array(3).fill("FeedTruncated"));
    const error = (results[0] as PromiseRejectedResult).reason;
    await reader.ack(error.firstSequence - 1n);
    const next = [reader.next(), reader.next()];
    await write(store, 4, 5);
    const batches = (await Promise.all(next)).map(({ value }) => value as ChangeBatch);
    assert.deepEqual(keys(batches), [4, 5]);
    await store.close();
  });

  test("is closed by its signal", async () => {
    const store = await open(new Map());
    const controller = new AbortController();
    const reader = await store.reader("backup", { signal: controller.signal });
    const next = reader.next();
    controller.abort();
    assert.deepEqual(await next, { done: true, value: undefined });
    await (await store.reader("backup")).close();
    await store.close();
  });

  test("may have 1 to 255 bytes, and options that exist", async () => {
    const store = await open(new Map());
    for (const name of ["", "x".repeat(256), "é".repeat(128), 5 as unknown as string])
      await assert.rejects(store.reader(name), { code: "ValidationFailed" });
    await (await store.reader("x".repeat(255))).close();
    for (const options of [{ before: true }, { since: 5 }, { rowKey: {} }, { since: -1n }]) {
      const opening = store.reader("options", options as object).then((reader) => reader.next());
      await assert.rejects(opening, { code: "ValidationFailed" });
    }
    await assert.rejects(store.reader("late", { since: 2n ** 62n }), { code: "ValidationFailed" });
    await store.close();
  });

  test("acknowledges what the store has reached", async () => {
    const store = await open(new Map());
    const reader = await store.reader("backup");
    for (const sequence of [5, -1n, 2n ** 62n] as bigint[])
      await assert.rejects(reader.ack(sequence), { code: "ValidationFailed" });
    await store.close();
  });

  test("is known to a store in memory until it is closed", async () => {
    const store = await openStore({ persistence: "memory" });
    await lamps(store).createTable();
    const reader = await store.reader("backup");
    await write(store, 1, 2);
    const batches = await read(reader, 2);
    await reader.ack(sequenceOf(batches));
    await reader.close();
    const again = await store.reader("backup");
    await write(store, 3, 3);
    assert.deepEqual(keys(await read(again, 1)), [3]);
    await store.close();
  });

  test("needs a store that can be written", async (t) => {
    const path = folder(t);
    const store = await openStore({ persistence: "file", path });
    await lamps(store).createTable();
    await store.close();
    const readOnly = await openStore({ persistence: "file", path, readOnly: true });
    await assert.rejects(readOnly.reader("backup"), { code: "NotSupported" });
    await readOnly.close();
  });
});

test("the history may have no limits, or one that is undefined", async () => {
  const all = [
    { ageMs: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
    { ageMs: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_VALUE },
    { ageMs: undefined, bytes: undefined },
  ] as NonNullable<OpenOptions["history"]>[];
  for (const history of all) {
    const storage = new MemoryStorage(new Map());
    const host = await openHost({ engine: await createEngine(), storage, history });
    const store = new StoreHandle("r", host);
    await lamps(store).createTable();
    await (await store.reader("backup")).close();
    await write(store, 1, 3);
    await store.compact();
    assert.deepEqual(keys(await read(await store.reader("backup"), 3)), [1, 2, 3]);
    await store.close();
  }
});

test("the history has limits that make sense", async () => {
  const limits = [
    { bytes: -1 },
    { bytes: "16" },
    { bytes: 5n },
    { ageMs: Number.NaN },
    { days: 1 },
  ];
  for (const history of [...limits, 5, true] as object[])
    await assert.rejects(openStore({ persistence: "memory", history }), {
      code: "ValidationFailed",
    });
  const history = { bytes: 1024, ageMs: 0 };
  await (await openStore({ persistence: "memory", history })).close();
});
