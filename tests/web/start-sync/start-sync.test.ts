// Tests startSync() with a store in memory, and with another one as the remote.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { SyncOptions, SyncStatus } from "../../../web/src/start-sync/types.ts";
import type { Store } from "../../../web/src/types.ts";
import { RestError, StoreError } from "../support/package.ts";
import { emulatorKey } from "../support/server-process.ts";
import { credential, openLocalAndRemote, startSync } from "../support/synced-store.ts";

const url = `http://127.0.0.1:10002/${credential.name}`;
const ann = { partitionKey: "p", rowKey: "ann" };

type Fetch = typeof fetch;

/** Two stores, of which one serves as the remote. */
class World {
  readonly #t: TestContext;
  readonly local: Store;
  readonly remote: Store;
  readonly sent: string[] = [];
  /** Answers in place of the remote. */
  answer: (() => Response | undefined) | undefined;

  private constructor(t: TestContext, local: Store, remote: Store) {
    this.#t = t;
    this.local = local;
    this.remote = remote;
  }

  static async open(t: TestContext): Promise<World> {
    const { local, remote } = await openLocalAndRemote(t);
    return new World(t, local, remote);
  }

  async start(options: Partial<SyncOptions> = {}) {
    const send: Fetch = async (input, init) => {
      const { pathname } = new URL(String(input));
      this.sent.push(`${init?.method} ${pathname.slice(pathname.lastIndexOf("/") + 1)}`);
      const answer = this.answer?.();
      if (answer) return answer;
      if (this.answer) throw new TypeError("The network is down.");
      return await (this.remote.fetch as Fetch)(input, init);
    };
    const sync = await startSync(this.local, {
      remote: { url, credential, fetch: send },
      tables: { people: {} },
      schedule: { minMs: 100, maxMs: 200 },
      ...options,
    });
    this.#t.after(() => sync.stop());
    return sync;
  }

  get people() {
    return this.local.table("people");
  }

  get remotePeople() {
    return this.remote.table("people");
  }
}

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + 60_000;
  while (!(await holds())) {
    assert(performance.now() < end, "it does not hold within a minute");
    await delay(10);
  }
};

const nameOf = async (table: World["people"]): Promise<unknown> =>
  (await table.getEntity("p", "ann").catch(() => ({ name: undefined }))).name;

test("local writes are pushed, and those of others are pulled", async (t) => {
  const world = await World.open(t);
  const sync = await world.start();
  await world.people.createEntity({ ...ann, name: "Ann" });
  await until(async () => (await nameOf(world.remotePeople)) === "Ann");
  await until(() => sync.status.pending === 0);
  const here = await world.people.getEntity("p", "ann");
  const there = await world.remotePeople.getEntity("p", "ann");
  assert.deepEqual([here.etag, here.timestamp], [there.etag, there.timestamp]);
  await world.remotePeople.updateEntity({ ...ann, name: "Anna" });
  await until(async () => (await nameOf(world.people)) === "Anna");
});

test("a table of the remote is downloaded, and now() resolves when it is", async (t) => {
  const world = await World.open(t);
  await world.remotePeople.createTable();
  for (let row = 0; row < 10; ++row)
    await world.remotePeople.createEntity({ partitionKey: "p", rowKey: `${row}`, row });
  const sync = await world.start();
  const report = await sync.now();
  assert.deepEqual(report, { complete: true, pending: 0, parked: 0, lost: 0 });
  let rows = 0;
  for await (const { row, rowKey } of world.people.listEntities()) {
    assert.equal(row, Number(rowKey));
    rows += 1;
  }
  assert.equal(rows, 10);
  assert(sync.status.lastPulledAt instanceof Date);
});

test("startSync() resolves offline, and local writes are kept until the remote answers", async (t) => {
  const world = await World.open(t);
  world.answer = () => undefined;
  const sync = await world.start();
  await world.people.createEntity({ ...ann, name: "Ann" });
  await until(() => sync.status.pending === 1);
  const report = await sync.now();
  assert.deepEqual(report, { complete: false, pending: 1, parked: 0, lost: 0 });
  assert.equal(sync.status.online, false);
  const [write] = await listOf(sync.pending());
  assert.deepEqual(write, { table: "people", ...ann, kind: "create" });
  world.answer = undefined;
  assert.equal((await sync.now()).complete, true);
  assert.equal(await nameOf(world.remotePeople), "Ann");
});

test("offline edits of a partition are sent in one batch", async (t) => {
  const world = await World.open(t);
  await world.remotePeople.createTable();
  const sync = await world.start();
  await sync.now();
  sync.pause();
  for (let row = 0; row < 60; ++row)
    await world.people.upsertEntity({ partitionKey: `p${row % 3}`, rowKey: `${row % 30}`, row });
  assert.equal((await sync.now()).complete, false);
  sync.resume();
  assert.equal((await sync.now()).complete, true);
  assert.equal(world.sent.filter((request) => request === "POST $batch").length, 3);
});

describe("the status", () => {
  test("is frozen, and the same object until something changes", async (t) => {
    const world = await World.open(t);
    await world.remotePeople.createTable();
    const sync = await world.start();
    await sync.now();
    await until(() => sync.status.phase === "idle");
    const { status } = sync;
    assert.equal(sync.status, status);
    assert(Object.isFrozen(status) && Object.isFrozen(status.tables["people"]));
    sync.pause();
    assert.notEqual(sync.status, status);
    assert.equal(sync.status.phase, "paused");
  });

  test("is told to listeners, whose errors affect nothing", async (t) => {
    const world = await World.open(t);
    const sync = await world.start();
    const seen: SyncStatus[] = [];
    const unsubscribe = sync.subscribe((status) => seen.push(status));
    world.answer = () => undefined;
    await world.people.createEntity({ ...ann, name: "Ann" });
    await until(() => seen.some(({ pending }) => pending === 1));
    world.answer = undefined;
    await until(() => seen.at(-1)?.pending === 0);
    assert.equal(new Set(seen).size, seen.length);
    unsubscribe();
    const { length } = seen;
    sync.pause();
    await delay(20);
    assert.equal(seen.length, length);
  });

  test("has the error of a credential that is rejected, and how to fix it", async (t) => {
    const world = await World.open(t);
    await world.remotePeople.createTable();
    const rejected = { ...credential, key: "d3Jvbmc=" };
    const send = world.remote.fetch as Fetch;
    const sync = await world.start({ remote: { url, credential: rejected, fetch: send } });
    await until(() => sync.status.error !== undefined);
    assert.equal(sync.status.error?.code, "Unauthorized");
    assert.match(sync.status.error?.hint ?? "", /rights/);
  });

  test("says that there is no credential if the function for it rejects", async (t) => {
    const world = await World.open(t);
    await world.remotePeople.createTable();
    let isThere = false;
    const source = async () => {
      if (!isThere) throw new TypeError("The application's server cannot be reached.");
      return credential;
    };
    const send = world.remote.fetch as Fetch;
    const remote = { url, credential: source, fetch: send };
    const sync = await world.start({ remote, onUnauthorized: "pause" });
    await until(() => sync.status.error !== undefined);
    assert.equal(sync.status.error?.code, "NoCredential");
    assert.match(sync.status.error?.message ?? "", /no credential for the table people/);
    assert.deepEqual([sync.status.phase, sync.status.online], ["connecting", false]);
    isThere = true;
    await until(() => sync.status.phase === "idle");
    assert.deepEqual([sync.status.error, sync.status.online], [undefined, true]);
  });

  test("says that the remote has no table", async (t) => {
    const world = await World.open(t);
    const sync = await world.start();
    await until(() => sync.status.error?.code === "TableNotFound");
    assert.equal(sync.status.phase, "connecting");
  });
});

test("a credential is a function that is called again after a rejection", async (t) => {
  const world = await World.open(t);
  await world.remotePeople.createTable();
  const keys = ["d3Jvbmc=", emulatorKey];
  let calls = 0;
  const source = () => Promise.resolve({ ...credential, key: keys[calls++] ?? emulatorKey });
  const send = world.remote.fetch as Fetch;
  const sync = await world.start({ remote: { url, credential: source, fetch: send } });
  await until(() => sync.status.phase === "idle");
  assert.equal(calls, 2);
});

describe("conflicts", () => {
  /** Both sides change Ann. */
  async function conflict(t: TestContext, options: SyncOptions["tables"][string]) {
    const world = await World.open(t);
    await world.remotePeople.createTable();
    await world.remotePeople.createEntity({ ...ann, name: "Ann", age: 1, share: 3.5 });
    const sync = await world.start({ tables: { people: options } });
    await sync.now();
    sync.pause();
    await world.people.updateEntity({ ...ann, name: "here" });
    await world.remotePeople.updateEntity({ ...ann, name: "there", age: 2 });
    sync.resume();
    await sync.now();
    return { world, sync };
  }

  test("the remote wins, and what was lost can be restored", async (t) => {
    const { sync, world } = await conflict(t, {});
    assert.equal(await nameOf(world.people), "there");
    const [lost] = await listOf(sync.lost());
    assert(lost);
    assert.deepEqual(
      [lost.kind, lost.outcome, lost.local?.["name"], lost.remote?.["name"]],
      ["edit", "notApplied", "here", "there"],
    );
    assert.deepEqual(lost.base, { ...ann, name: "Ann", age: 1, share: 3.5 });
    await sync.restore(lost.id);
    await sync.now();
    assert.equal(await nameOf(world.remotePeople), "here");
    assert.equal((await world.people.getEntity("p", "ann"))["age"], 2);
    assert.equal(sync.status.lost, 0);
  });

  test("a lost write can be discarded", async (t) => {
    const { sync } = await conflict(t, {});
    for await (const { id } of sync.lost()) await sync.discard(id);
    assert.equal((await sync.now()).lost, 0);
  });

  test("this store wins, by property", async (t) => {
    const { world } = await conflict(t, { conflict: "local" });
    const { name, age } = await world.remotePeople.getEntity("p", "ann");
    assert.deepEqual([name, age], ["here", 2]);
  });

  test("a function decides, and sees all three versions", async (t) => {
    const { world } = await conflict(t, {
      conflict: ({ base, local, remote, table }) => {
        const names = [base, local, remote].map((entity) => entity?.["name"]);
        return { ...ann, ...remote, name: `${table}: ${names.join()}`, share: base?.["share"] };
      },
    });
    for (const side of [world.people, world.remotePeople]) {
      const { age, name, share } = await side.getEntity("p", "ann");
      assert.deepEqual([name, age, share], ["people: Ann,here,there", 2, 3.5]);
    }
  });

  test("a function that fails parks the write, which can be retried and discarded", async (t) => {
    let fails = true;
    const resolve = () => {
      if (fails) throw new Error("no answer");
      return "local" as const;
    };
    const { sync, world } = await conflict(t, { conflict: resolve });
    assert.equal(sync.status.parked, 1);
    const [parked] = await listOf(sync.parked());
    assert(parked);
    assert.deepEqual(
      [parked.reason, parked.writes],
      ["Conflict", [{ table: "people", ...ann, kind: "edit" }]],
    );
    assert.equal(await nameOf(world.people), "here");
    fails = false;
    await sync.retry(parked.id);
    await sync.now();
    assert.equal(await nameOf(world.remotePeople), "here");
  });

  test("a parked write that is discarded leaves the remote's row", async (t) => {
    const { sync, world } = await conflict(t, { conflict: () => "park" });
    for await (const { id } of sync.parked()) await sync.discard(id);
    await sync.now();
    assert.equal(await nameOf(world.people), "there");
    assert.equal(sync.status.parked, 0);
  });
});

describe("stop", () => {
  test("ends requests, and keeps local writes for the next start", async (t) => {
    const world = await World.open(t);
    const sync = await world.start();
    await sync.stop();
    const { length } = world.sent;
    await world.people.createEntity({ ...ann, name: "Ann" });
    await delay(300);
    assert.equal(world.sent.length, length);
    assert.equal(sync.status.phase, "stopped");
    const again = await world.start();
    await again.now();
    assert.equal(await nameOf(world.remotePeople), "Ann");
  });

  test("happens when the store is closed", async (t) => {
    const world = await World.open(t);
    const sync = await world.start();
    await world.local.close();
    await until(() => sync.status.phase === "stopped");
  });
});

describe("startSync() refuses", () => {
  test("a table that is synced already", async (t) => {
    const world = await World.open(t);
    await world.start();
    await assert.rejects(world.start({ tables: { PEOPLE: {} } }), /is synced already/);
    await assert.rejects(world.start(), (error) => {
      assert(error instanceof StoreError);
      assert.match(error.message, /people of this store is synced already/);
      return true;
    });
  });

  test("a table with rows that the remote does not know", async (t) => {
    const world = await World.open(t);
    await world.people.createTable();
    await world.people.createEntity(ann);
    await assert.rejects(world.start(), (error) => {
      assert(error instanceof StoreError);
      assert.match(error.hint, /import/);
      return true;
    });
    await world.people.deleteEntity("p", "ann");
    await world.start();
  });

  test("what is no store", async () => {
    const options = { remote: { url }, tables: { people: {} } };
    await assert.rejects(startSync({} as Store, options), /takes a store/);
  });

  test("ids of other writes", async (t) => {
    const world = await World.open(t);
    const sync = await world.start();
    for (const id of ["", "parked/people/p", "lost/other/p/1"]) {
      await assert.rejects(sync.restore(id), /restore takes the id of a write/);
    }
    await assert.rejects(sync.retry("lost/people/p/1"), { hint: /parked\(\)/ });
    await sync.retry("parked/people/p/1"); // no such write any more
  });
});

test("a table of partitions has only these", async (t) => {
  const world = await World.open(t);
  await world.remotePeople.createTable();
  for (const partitionKey of ["p", "q", "r"])
    await world.remotePeople.createEntity({ partitionKey, rowKey: "1" });
  const sync = await world.start({ tables: { people: { partitions: ["r", "p"] } } });
  await sync.now();
  const keys: unknown[] = [];
  for await (const { partitionKey } of world.people.listEntities()) keys.push(partitionKey);
  assert.deepEqual(keys, ["p", "r"]);
  await world.people.createEntity({ partitionKey: "z", rowKey: "1" });
  await sync.now();
  await world.remotePeople.getEntity("z", "1");
  await assert.rejects(world.people.getEntity("z", "1"), RestError);
});

test("an estimate follows from the rows and the schedule", async (t) => {
  const world = await World.open(t);
  await world.local.table("People").createTable();
  await world.remotePeople.createTable();
  for (let row = 0; row < 10; ++row)
    await world.remotePeople.createEntity({ partitionKey: "p", rowKey: `${row}` });
  const sync = await world.start({
    schedule: { minMs: 1000, maxMs: 10_000 },
    tables: { people: { maxAgeMs: 100_000 } },
  });
  await sync.now();
  const estimate = await sync.estimate();
  const transactions = 30 * 86_400 * (1 / 10 + 1 / 100);
  assert.equal(estimate.transactionsPerMonth, transactions);
  assert(Math.abs(estimate.scannedPerSecond - 1.1) < 1e-9);
  assert.equal(estimate.stalenessMs, 10_000);
  assert(Math.abs(estimate.costPerMonth - (transactions / 10_000) * 0.00036) < 1e-12);
});

test("the coverage tells how much was compared, and since when", async (t) => {
  const world = await World.open(t);
  world.answer = () => undefined;
  const maxAgeMs = 60_000;
  const sync = await world.start({ tables: { people: { maxAgeMs } } });
  const nothing = { table: "people", changesUntil: undefined, comparedSince: undefined };
  assert.deepEqual(await sync.coverage(), [{ ...nothing, comparedShare: 0 }]);
  world.answer = undefined;
  await world.remotePeople.createTable();
  const { timestamp } = await world.remotePeople
    .createEntity(ann)
    .then(() => world.remotePeople.getEntity("p", "ann"));
  const before = Date.now();
  assert.equal((await sync.now()).complete, true);
  const [coverage] = await sync.coverage();
  assert(coverage);
  assert.equal(coverage.comparedShare, 1);
  assert((coverage.comparedSince as Date).getTime() >= before);
  const untilMs = (coverage.changesUntil as Date).getTime();
  // The remote can still show a change that it has stamped some time before.
  const age = Date.parse(String(timestamp)) - untilMs;
  assert(age >= 119_000 && age < 180_000, `${age}`);
});

test("versions that were compared too long ago do not count", async (t) => {
  const world = await World.open(t);
  await world.remotePeople.createTable();
  const sync = await world.start({ tables: { people: { maxAgeMs: 100 } } });
  await sync.now();
  sync.pause();
  await delay(150);
  const [coverage] = await sync.coverage();
  assert.deepEqual([coverage?.comparedShare, coverage?.comparedSince], [0, undefined]);
});

test("receipts of one client have one name, also after a restart", async (t) => {
  const world = await World.open(t);
  for (const name of ["Ann", "Anna"]) {
    const sync = await world.start({ tables: { people: { receipts: true } } });
    await world.people.upsertEntity({ ...ann, name });
    assert.equal((await sync.now()).complete, true);
    await sync.stop();
  }
  const receipts: unknown[] = [];
  for await (const { rowKey } of world.remotePeople.listEntities())
    if (rowKey !== "ann") receipts.push(rowKey);
  assert.equal(receipts.length, 1);
  assert.match(String(receipts[0]), /^~entitable~[0-9a-f]{32}$/);
});

async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
