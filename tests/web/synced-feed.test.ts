// Tests the change feed, durable readers, live queries, snapshots and verify() of a store with a
// synced table: what they show of local writes and of the remote's rows, and that they show nothing
// of hidden tables.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { LocalHostOptions } from "../../web/src/host/local-host.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { keyOf } from "../../web/src/sync/keys.ts";
import { OwnerStore } from "../../web/src/sync-store/owner-store.ts";
import type { ChangeBatch } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";
import { seededRandom } from "./support/random.ts";

const table = "people";
const partition = "p";

interface Opened {
  readonly store: StoreHandle;
  readonly synced: OwnerStore;
}

// A log that several processes open one after the other.
class Log {
  readonly files = new Map<string, Uint8Array>();
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
  }

  // Opens the store with its table, which is synced, as the next process does: the one before has
  // ended without a word, unless it has closed the store.
  async open(options: Partial<LocalHostOptions> = {}): Promise<Opened> {
    const engine = await createEngine();
    const storage = new MemoryStorage(this.files);
    const host = await openHost({ engine, storage, durability: "relaxed", ...options });
    this.#t.after(() => host.close().catch(() => {}));
    const store = new StoreHandle("synced", host);
    const sync = await host.startSync();
    if (!engine.hasSyncedTables) {
      await store.table(table).createTable();
      await sync.setSynced(table, "begin");
    }
    return { store, synced: new OwnerStore(sync, table) };
  }
}

const write = (store: StoreHandle, rowKey: string, a: number) =>
  store.table(table).upsertEntity({ partitionKey: partition, rowKey, a }, "Replace");

let lastTick = 17_000_000_000_000_000n;

// Applies rows of the remote, as a download does. `undefined` deletes the row.
function applyRemote(
  { synced }: Opened,
  rows: Readonly<Record<string, number | undefined>>,
): Promise<void> {
  return synced.transact((draft) => {
    for (const [rowKey, value] of Object.entries(rows)) {
      const key = keyOf(partition, rowKey);
      if (value === undefined) {
        draft.delete("rows", key);
        continue;
      }
      const timestamp = ++lastTick;
      const properties = new Map([["a", { type: "Int32", value } as const]]);
      draft.put("rows", key, { properties, version: { etag: `W/"${timestamp}"`, timestamp } });
    }
  });
}

// A commit of sync that only changes what it remembers.
const remember = ({ synced }: Opened, rowKey: string) =>
  synced.transact((draft) => draft.put("marks", keyOf(partition, rowKey), { at: 1 }));

// Returns for example "local insert 1=5, sync delete 2".
function texts({ origin, changes, tables = [] }: ChangeBatch): string[] {
  return [
    ...tables.map(({ table, op }) => `${origin} ${op} table ${table}`),
    ...changes.map(({ table: changed, op, rowKey, after }) => {
      assert.equal(changed, table);
      return `${origin} ${op} ${rowKey}${after === undefined ? "" : `=${after["a"]}`}`;
    }),
  ];
}

async function read(feed: AsyncIterator<ChangeBatch>, changes: number): Promise<string[]> {
  const read: string[] = [];
  while (read.length < changes) {
    const { value, done } = await feed.next();
    if (done) break;
    read.push(...texts(value));
  }
  return read;
}

async function rowsOf(store: StoreHandle): Promise<string[]> {
  const rows: string[] = [];
  for await (const { rowKey, a } of store.table(table).listEntities()) rows.push(`${rowKey}=${a}`);
  return rows;
}

test("a feed resumes after a restart, with the remote's rows and without hidden ones", async (t) => {
  const log = new Log(t);
  const before = await log.open();
  const feed = before.store.changes({ since: 0n });
  await feed.ready;
  await write(before.store, "1", 1);
  await applyRemote(before, { 2: 2, 3: 3 });
  await remember(before, "9");
  await write(before.store, "2", 4);
  await applyRemote(before, { 3: undefined });
  await before.store.table(table).deleteEntity(partition, "1");
  const all = [
    `local create table ${table}`,
    "local insert 1=1",
    "sync insert 2=2",
    "sync insert 3=3",
    "local update 2=4",
    "sync delete 3",
    "local delete 1",
  ];
  assert.deepEqual(await read(feed, all.length), all);
  const { sequence: first } = (await before.store.changes({ since: 0n }).next())
    .value as ChangeBatch;
  await before.store.flush();

  const next = await log.open();
  const resumed = next.store.changes({ since: first });
  assert.deepEqual(await read(resumed, all.length - 1), all.slice(1));
  // It goes on with what is written now, in the right order.
  await remember(next, "8");
  await applyRemote(next, { 5: 5 });
  await write(next.store, "5", 6);
  assert.deepEqual(await read(resumed, 2), ["sync insert 5=5", "local update 5=6"]);
});

test("a reader that has all changes keeps its place while sync only remembers things", async (t) => {
  for (const isOpen of [true, false]) {
    const log = new Log(t);
    const history = { bytes: 50_000, ageMs: 3_600_000 };
    const first = await log.open({ history });
    const before = await first.store.reader("copy");
    await write(first.store, "1", 1);
    const { value: last } = await before.next();
    assert(last);
    assert.deepEqual(texts(last), ["local insert 1=1"]);
    await before.ack(last.sequence);
    if (!isOpen) await before.close();
    for (let round = 0; round < 4; ++round) {
      for (let i = 0; i < 20; ++i) {
        await remember(first, String(i));
        await first.store.flush();
      }
      await first.store.compact();
    }
    if (isOpen) {
      await write(first.store, "2", 2);
      assert.deepEqual(await read(before, 1), ["local insert 2=2"]);
    }
    await first.store.close();
    const next = await log.open({ history });
    const after = await next.store.reader("copy");
    await write(next.store, "3", 3);
    const missed = isOpen ? ["local insert 2=2"] : []; // it has not acknowledged that
    assert.deepEqual(await read(after, missed.length + 1), [...missed, "local insert 3=3"]);
    await next.store.close();
  }
});

test("a durable reader gets all changes while sync applies rows, over restarts", async (t) => {
  const log = new Log(t);
  const random = seededRandom(Number(process.env["ENTITABLE_SEED"] ?? 20261126));
  const seen = new Map<string, number>(); // as the changes say
  let opened = await log.open();
  for (let round = 0; round < 6; ++round) {
    const reader = await opened.store.reader("copy");
    const working = (async () => {
      for (let i = 0; i < 20; ++i) {
        const rowKey = String(random.below(8));
        const kind = random.below(4);
        if (kind === 0) await remember(opened, rowKey);
        else if (kind === 1) await write(opened.store, rowKey, random.below(100));
        else await applyRemote(opened, { [rowKey]: kind === 2 ? random.below(100) : undefined });
        if (i % 7 === 3) await opened.store.compact();
      }
      await write(opened.store, "end", round);
    })();
    for await (const { changes, sequence } of reader) {
      for (const { op, rowKey, after, table: changed } of changes) {
        assert.equal(changed, table);
        assert.equal(op === "insert", !seen.has(rowKey), `${op} ${rowKey}`);
        if (after === undefined) seen.delete(rowKey);
        else seen.set(rowKey, after["a"] as number);
      }
      if (random.below(3) === 0 || seen.get("end") === round) await reader.ack(sequence);
      if (seen.get("end") === round) break;
    }
    await working;
    const shown = [...seen].map(([rowKey, a]) => `${rowKey}=${a}`).sort();
    assert.deepEqual(await rowsOf(opened.store), shown, `round ${round}`);
    if (round % 2 === 0) await opened.store.close();
    else await opened.store.flush();
    opened = await log.open();
  }
});

test("a live query shows the remote's changes", async (t) => {
  const opened = await new Log(t).open();
  await write(opened.store, "1", 1);
  const query = opened.store.table(table).live({ queryOptions: { filter: "a ge 5" } });
  t.after(() => query.close());
  await query.ready;
  const show = () => query.getSnapshot().data?.map(({ rowKey, a }) => `${rowKey}=${a}`);
  const until = async (expected: string[]) => {
    for (let i = 0; i < 200 && String(show()) !== String(expected); ++i)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(show(), expected);
  };
  await applyRemote(opened, { 2: 7, 3: 3 });
  await until(["2=7"]);
  await remember(opened, "4");
  await applyRemote(opened, { 2: 1, 3: 9 });
  await until(["3=9"]);
  await write(opened.store, "1", 6);
  await until(["1=6", "3=9"]);
  await applyRemote(opened, { 3: undefined });
  await until(["1=6"]);
});

test("snapshots, exports and verify() leave hidden tables out, and check them", async (t) => {
  const log = new Log(t);
  const opened = await log.open();
  const reader = await opened.store.reader("copy"); // so that checkpoints keep history
  await write(opened.store, "1", 1);
  await applyRemote(opened, { 2: 2, 3: 3 });
  await write(opened.store, "2", 4);
  await opened.store.compact();
  await write(opened.store, "3", 5);
  const names = [...log.files.keys()].map((path) => path.replace(/^.*\//, ""));
  assert(names.filter((name) => name.startsWith("wal-")).length > 2, names.join());

  const { ok, damage, files } = await opened.store.verify();
  assert.deepEqual(damage, []);
  assert(ok && files.parts.count > 1); // also the hidden ones

  const file = await opened.store.snapshot();
  const other = await new Log(t).open();
  await other.store.restore(file, { mode: "merge" });
  assert.deepEqual(await rowsOf(other.store), ["1=1", "2=4", "3=5"]);
  // The merge is a local write of a synced table: its remote gets it.
  const pending = await other.synced.read((view) => [...view.entries("outbox", "")].length);
  assert.equal(pending, 3);
  await other.store.close();

  let exported = "";
  for await (const chunk of opened.store.export({ table, format: "ndjson" }))
    exported += new TextDecoder().decode(chunk);
  assert.equal(exported.trim().split("\n").length, 3);
  assert.deepEqual(await read(reader, 5), [
    "local insert 1=1",
    "sync insert 2=2",
    "sync insert 3=3",
    "local update 2=4",
    "local update 3=5",
  ]);
});
