// Tests live queries and the change feed in tabs that share a store, with simulated locks and
// channels (support/simulated-tabs.ts). tests/browser/live.test.ts uses real tabs.

import assert from "node:assert/strict";
import { describe, test as realTest } from "node:test";
import "../../web/src/client/live-connection.ts"; // these are loaded before virtual time begins
import "../../web/src/client/feed-reader.ts";
import "../../web/src/client/observed-query.ts";
import { LiveRows } from "../../web/src/client/live-rows.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { ChangeBatch, ChangeFeed, LiveQuery, Store } from "../../web/src/types.ts";
import type { Random } from "./support/random.ts";
import {
  type CheckedQuery,
  checkQuery,
  type Item,
  Observations,
  RandomItems,
  wrongResult,
} from "./support/random-live.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { seed, simulate, simulatedTest as test } from "./support/simulated-test.ts";
import { sleep, until } from "./support/simulation.ts";

const tabsIn = (origin: Origin, count: number) =>
  Array.from({ length: count }, () => new Tab(origin));

async function open(tab: Tab): Promise<Store> {
  return new StoreHandle("shop", await tab.open());
}

const item = (rowKey: string, value = 1): Item => ({ partitionKey: "a", rowKey, value, note: "" });
const items = (store: Store) => store.table<Item>("items");
const keysOf = (live: LiveQuery<readonly Item[]>) =>
  live.getSnapshot().data?.map(({ rowKey }) => rowKey);

describe("in a tab that does not own the store", () => {
  test("live queries show the writes of all tabs", async () => {
    const [a, b, c] = tabsIn(new Origin(), 3) as [Tab, Tab, Tab];
    const stores = [await open(a), await open(b), await open(c)] as const;
    await items(stores[0]).createTable();
    const live = stores.map((store) => items(store).live({ limit: 3 }));
    const counts = stores.map((store) => items(store).liveCount());
    await Promise.all([...live, ...counts].map(({ ready }) => ready));
    await items(stores[1]).createEntity(item("1"));
    await items(stores[2]).createEntity(item("2"));
    for (const [i, store] of stores.entries()) await items(store).createEntity(item(`3${i}`));
    await until(() => live.every((query) => keysOf(query)?.join() === "1,2,30"));
    await items(stores[2]).deleteEntity("a", "1");
    await until(() => live.every((query) => keysOf(query)?.join() === "2,30,31"));
    await until(() => counts.every((count) => count.getSnapshot().data === 4));
    for (const store of stores) await store.close();
    for (const query of live) assert.equal(query.getSnapshot().status, "error");
  });

  test("a commit wakes only the tabs whose live queries it concerns", async () => {
    const origin = new Origin();
    let changes = 0;
    origin.alterMessage = (message) => {
      const { responses = [] } = message as { responses?: readonly object[] };
      changes += responses.filter((response) => "changes" in response).length;
      return message;
    };
    const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await items(first).createTable();
    const live = items(second).live({ queryOptions: { filter: "PartitionKey eq 'b'" } });
    await live.ready;
    for (const rowKey of ["1", "2", "3"]) await items(first).createEntity(item(rowKey));
    await sleep(10);
    assert.equal(changes, 0);
    await items(first).createEntity({ ...item("4"), partitionKey: "b" });
    await until(() => keysOf(live)?.join() === "4");
    assert.equal(changes, 1);
    await second.close();
    await first.close();
  });

  test("a frozen tab gets one message, and then shows the newest result", async () => {
    for (const note of ["short", "long".repeat(4500)]) {
      const origin = new Origin();
      let messages = 0;
      let resets = 0;
      origin.alterMessage = (message) => {
        const { responses = [] } = message as { responses?: readonly object[] };
        if (responses.some((response) => "changes" in response)) messages += 1;
        if (responses.some((response) => "reset" in response)) resets += 1;
        return message;
      };
      const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
      const first = await open(a);
      const second = await open(b);
      await items(first).createTable();
      const live = items(second).live();
      await live.ready;
      b.freeze();
      for (let batch = 0; batch < 6; ++batch) {
        const row = (_: unknown, i: number) => ({ ...item(`${batch}-${i}`), note });
        const rows = Array.from({ length: 100 }, row);
        await items(first).submitTransaction(rows.map((row) => ["create", row] as const));
      }
      await sleep(6000); // longer than a tab may need to read a message
      assert.equal(messages, 1);
      b.thaw();
      await until(() => keysOf(live)?.length === 600);
      await items(first).createEntity(item("last"));
      await until(() => keysOf(live)?.length === 601);
      assert(messages < 4, `${messages}`);
      assert.equal(resets, note === "short" ? 0 : 1); // more than 8 MiB waited
      await second.close();
      await first.close();
    }
  });

  test("a closed query gets nothing, and a new one begins again", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await items(first).createTable();
    const closed = items(second).live();
    await closed.ready;
    closed.close();
    await items(first).createEntity(item("1"));
    const live = items(second).live();
    assert.equal((await live.ready).length, 1);
    await items(first).createEntity(item("2"));
    await until(() => keysOf(live)?.length === 2);
    assert.deepEqual(keysOf(closed), []);
    await assert.rejects(items(second).live({ queryOptions: { filter: "no eq" } }).ready, {
      code: "InvalidInput",
    });
    await second.close();
    await first.close();
  });

  test("live queries go on when the owner closes, dies, freezes or sleeps", async () => {
    for (const end of ["close", "kill", "freeze", "suspend"] as const) {
      const [a, b, c] = tabsIn(new Origin(), 3) as [Tab, Tab, Tab];
      const first = await open(a);
      const stores = [await open(b), await open(c)] as const;
      await items(first).createTable();
      await items(first).createEntity(item("1"));
      const live = stores.map((store) => items(store).live());
      const [[one] = []] = await Promise.all(live.map(({ ready }) => ready));
      if (end === "close") await first.close();
      if (end === "kill") a.kill();
      if (end === "freeze") a.freeze();
      if (end === "suspend") a.dispatch("suspend");
      await items(stores[0]).createEntity(item("2"));
      await items(stores[1]).createEntity(item("3"));
      await until(() => live.every((query) => keysOf(query)?.join() === "1,2,3"));
      assert.equal(live[0]?.getSnapshot().data?.[0], one, end);
      if (end === "freeze") a.thaw();
      if (end === "suspend") a.dispatch("resume");
      for (const store of stores) await store.close();
      if (end !== "kill") await first.close();
    }
  });

  test("live queries go on when their owner has slept, and becomes the owner again", async () => {
    const [a, b, c] = tabsIn(new Origin(), 3) as [Tab, Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    const third = await open(c);
    await items(first).createTable();
    const live = items(third).live();
    await live.ready;
    b.freeze(); // it gets the lock, and cannot use it
    a.dispatch("suspend");
    await sleep(50);
    a.dispatch("resume");
    await items(first).createEntity(item("1"));
    await until(() => keysOf(live)?.join() === "1"); // the third tab makes no calls
    b.thaw();
    for (const store of [third, second, first]) await store.close();
  });

  test("live queries have one result until the next one is read, and can be iterated", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await items(first).createTable();
    await items(first).createEntity(item("1"));
    const live = items(second).live();
    const loading = live.getSnapshot();
    const results: Promise<IteratorResult<readonly Item[], undefined>>[] = [];
    for (let turn = 0; turn < 20; ++turn) {
      assert.equal(live.getSnapshot(), loading);
      results.push(live[Symbol.asyncIterator]().next());
      await Promise.resolve();
    }
    for (const result of results) assert.equal((await result).value?.length, 1);
    await second.close();
    await first.close();
  });

  test("live queries show a commit together, although some must read first", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const stores = [await open(a), await open(b)] as const;
    await items(stores[0]).createTable();
    const write = (version: number) =>
      items(stores[0]).bulk(
        Array.from({ length: 2500 }, (_, i) => ["upsert", item(String(i), version)] as const),
      );
    await write(2);
    const snapshot = await stores[0].snapshot();
    await write(1);
    for (const store of stores) {
      const all = items(store).live();
      const one = items(store).liveEntity("a", "1");
      await Promise.all([all.ready, one.ready]);
      let calls = 0;
      const check = () => {
        calls += 1;
        const versions = new Set(all.getSnapshot().data?.map(({ value }) => value));
        assert.deepEqual([...versions], [one.getSnapshot().data?.value]);
      };
      const stops = [all.subscribe(check), one.subscribe(check)];
      await stores[0].restore(snapshot); // all queries are read again
      await until(() => one.getSnapshot().data?.value === 2);
      assert.equal(calls, 2);
      for (const stop of stops) stop();
      await write(1);
      await until(() => one.getSnapshot().data?.value === 1);
      all.close();
      one.close();
    }
    for (const store of stores) await store.close();
  });

  test("live queries never lose acknowledged writes of their own tab", async () => {
    for (const tabCount of [2, 3]) {
      const [a, b, c] = tabsIn(new Origin(), tabCount) as [Tab, Tab, Tab?];
      const first = await open(a);
      await items(first).createTable();
      const second = await open(b);
      const third = c === undefined ? undefined : await open(c);
      const live = items(second).live();
      await live.ready;
      const seen: string[] = [];
      live.subscribe(() => seen.push(keysOf(live)?.join() ?? "none"));
      const deferred = second.table<Item>("items", { durability: "deferred" });
      await deferred.createEntity(item("1"));
      await until(() => seen.length === 1);
      a.kill();
      await deferred.createEntity(item("2"));
      await until(() => seen.at(-1) === "1,2");
      assert.deepEqual(
        seen.filter((keys) => !keys.startsWith("1")),
        [],
      );
      await second.close();
      await third?.close();
    }
  });

  test("the change feed has the commits of all tabs, and goes on with the next owner", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await items(first).createTable();
    const feed = second.changes();
    await feed.ready;
    await items(first).createEntity(item("1"));
    await items(second).createEntity(item("2"));
    const batches = [(await feed.next()).value, (await feed.next()).value] as ChangeBatch[];
    const rows = batches.flatMap(({ changes }) => changes.map(({ rowKey }) => rowKey));
    assert.deepEqual(rows, ["1", "2"]);
    a.kill();
    const next = feed.next();
    await items(second).createEntity(item("3"));
    const { changes = [], sequence = 0n, origin } = (await next).value ?? {};
    assert.deepEqual(
      changes.map(({ rowKey }) => rowKey),
      ["3"],
    );
    assert.equal(origin, "local");
    assert(sequence > (batches[1]?.sequence as bigint));
    await second.close();
  });

  test("a feed that no change concerns goes on with the next owner after a checkpoint", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await items(first).createTable();
    await first.table("lamps").createTable();
    const feed = second.changes({ tables: ["lamps"] });
    await feed.ready;
    for (const rowKey of ["1", "2", "3"]) await items(first).createEntity(item(rowKey));
    await first.compact();
    await items(first).createEntity(item("4"));
    await sleep(20); // messages of a tab that is killed may be lost
    a.kill();
    await items(second).createEntity(item("5"));
    await second.table("lamps").createEntity({ partitionKey: "desk", rowKey: "6" });
    const { value } = await feed.next();
    assert.deepEqual(
      value?.changes.map(({ rowKey }) => rowKey),
      ["6"],
    );
    await second.close();
  });

  test("the origin of a commit is that of the tab that listens", async () => {
    const tabs = tabsIn(new Origin(), 3);
    const stores: Store[] = [];
    for (const tab of tabs) stores.push(await open(tab));
    const first = stores[0] as Store;
    await items(first).createTable();
    for (const since of [undefined, 0n]) {
      const feeds = stores.map((store) => store.changes({ since, tables: ["items"] }));
      for (const feed of feeds) await feed.ready;
      const next = async () => {
        const results = await Promise.all(feeds.map((feed) => feed.next()));
        return results.map(({ value }) => value?.origin);
      };
      if (since !== undefined) {
        assert.deepEqual(await next(), ["local", "other-tab", "other-tab"]); // the table
        for (const writer of [0, 1, 2])
          assert.deepEqual(
            await next(),
            stores.map((_, i) => (i === writer ? "local" : "other-tab")),
          );
      }
      for (const [writer, store] of stores.entries()) {
        const row = item(`${since}-${writer}`);
        await store.table<Item>("items", { durability: "deferred" }).createEntity(row);
        assert.deepEqual(
          await next(),
          stores.map((_, i) => (i === writer ? "local" : "other-tab")),
        );
      }
      for (const feed of feeds) await feed.return();
    }
    for (const store of stores.reverse()) await store.close();
  });
});

// ---- At random ----------------------------------------------------------------------------------

class User {
  readonly tab: Tab;
  queries: CheckedQuery[] = [];
  done: Promise<void> | undefined;

  constructor(tab: Tab) {
    this.tab = tab;
  }

  async work(store: Store, random: Random, observations: Observations): Promise<void> {
    const items = new RandomItems(store, random);
    const whole = items.openWhole();
    this.queries = Array.from({ length: 6 }, () => items.openQuery());
    observations.observe(whole.live, this.queries);
    this.queries.push(whole);
    for (let i = 0; i < 15; ++i) await items.write();
  }
}

const frozenMsMax = 400;

// Tabs with live queries and random writes, of which some are killed, frozen, and suspended.
async function runTabs(random: Random): Promise<number> {
  const origin = new Origin();
  const founder = await open(new Tab(origin));
  await items(founder).createTable();
  await founder.close();
  const observations = new Observations();
  const users: { user: User; store: Store }[] = [];
  const start = async () => {
    const user = new User(new Tab(origin));
    const store = await open(user.tab);
    users.push({ user, store });
    user.done = user.work(store, random, observations);
    user.done.catch(() => {});
  };
  await Promise.all([start(), start(), start()]);
  for (let event = 0; event < 5; ++event) {
    await sleep(random.below(60));
    const alive = users.filter(({ user: { tab } }) => !tab.dead && !tab.frozen);
    const { tab } = (alive[random.below(alive.length)] as (typeof alive)[number]).user;
    const what = ["kill", "freeze", "suspend", "start"][random.below(4)];
    if (what === "kill" && alive.length > 1) tab.kill();
    if (what === "freeze" && alive.length > 1) {
      tab.freeze();
      setTimeout(() => tab.thaw(), random.below(frozenMsMax));
    }
    if (what === "suspend") {
      tab.dispatch("suspend");
      setTimeout(() => tab.dispatch("resume"), random.below(200));
    }
    if (what === "start") await start();
  }
  const alive = users.filter(({ user }) => !user.tab.dead);
  await Promise.all(alive.map(({ user }) => user.done));
  await sleep(frozenMsMax); // a frozen tab would lose the calls that this function makes
  const { store: last } = alive[0] as (typeof alive)[number];
  const queries = alive.flatMap(({ user }) => user.queries);
  // Calls of tabs that were killed may still be applied.
  for (let trial = 0; ; ++trial) {
    const all = await new RandomItems(last, random).list();
    try {
      for (const query of queries) checkQuery(query, all);
      break;
    } catch (error) {
      if (trial === 100) throw error;
      await sleep(10);
    }
  }
  for (const { store } of alive) await store.close();
  return observations.check();
}

// A tab that writes rows with keys of its own, and reads the changes of all tabs: from the first
// one on or from now on, and in one feed or in one after the other. Nothing is written with
// "deferred", which a crash could lose.
class FeedUser {
  readonly tab: Tab;
  readonly store: Store;
  readonly reading: Promise<void>;
  readonly writing: Promise<void>;
  seen: { sequence: bigint; rowKey: string }[] = [];
  written: string[] = []; // since the feed was opened, or the user had to begin again
  truncations = 0;
  readonly #random: Random;

  constructor(tab: Tab, store: Store, name: string, random: Random, fromNow: boolean) {
    this.tab = tab;
    this.store = store;
    this.#random = random;
    const reopens = random.below(2) === 0;
    const feed = store.changes(fromNow ? {} : { since: 0n });
    this.reading = this.#read(feed, reopens);
    this.writing = feed.ready.then(() => this.#write(name));
    for (const work of [this.reading, this.writing]) work.catch(() => {});
  }

  // The log may lack changes that were made while no feed was open, or while the owner changed.
  async #read(opened: ChangeFeed, reopens: boolean): Promise<void> {
    let feed = opened;
    let since = 0n;
    while (this.store.status.state !== "closed") {
      try {
        for await (const { sequence, changes } of feed) {
          assert(sequence > since);
          since = sequence;
          for (const { rowKey } of changes) this.seen.push({ sequence, rowKey });
          if (reopens && this.#random.below(5) === 0) break;
        }
        feed = this.store.changes({ since });
      } catch (error) {
        assert.equal((error as { code?: string }).code, "FeedTruncated");
        this.truncations += 1;
        feed = this.store.changes();
        await feed.ready;
        since = 0n;
        this.seen = [];
        this.written = [];
      }
    }
  }

  async #write(name: string): Promise<void> {
    for (let i = 0; i < 8; ++i) {
      const durability = this.#random.below(2) === 0 ? "strict" : "relaxed";
      const { written } = this;
      await items(this.store).upsertEntity(item(`${name}-${i}`), "Replace", { durability });
      written.push(`${name}-${i}`);
    }
  }
}

// Resolves to how often the log lacked what a feed needed, and how many tabs had feeds to the end.
async function runFeeds(random: Random, compacts: boolean) {
  const origin = new Origin();
  const founder = await open(new Tab(origin));
  await items(founder).createTable();
  await founder.close();
  const users: FeedUser[] = [];
  const start = async () => {
    const tab = new Tab(origin);
    const fromNow = compacts || random.below(3) === 0;
    users.push(new FeedUser(tab, await open(tab), `t${users.length}`, random, fromNow));
  };
  await Promise.all([start(), start(), start()]);
  for (let event = 0; event < 5; ++event) {
    await sleep(random.below(60));
    const awake = users.filter(({ tab }) => !tab.dead && !tab.frozen);
    const { tab, store } = awake[random.below(awake.length)] as FeedUser;
    const whats = ["kill", "freeze", "suspend", "start"];
    const what = compacts && random.below(2) === 0 ? "compact" : whats[random.below(4)];
    if (what === "compact") void store.compact().catch(() => {});
    if (what === "kill" && awake.length > 1) tab.kill();
    if (what === "freeze" && awake.length > 1) {
      tab.freeze();
      setTimeout(() => tab.thaw(), random.below(frozenMsMax));
    }
    if (what === "suspend") {
      tab.dispatch("suspend");
      setTimeout(() => tab.dispatch("resume"), random.below(200));
    }
    if (what === "start") await start();
  }
  const alive = users.filter(({ tab }) => !tab.dead);
  await Promise.all(alive.map(({ writing }) => writing));
  await sleep(frozenMsMax);
  const [{ store }] = alive as [FeedUser];
  // A user that has to begin again after the last row does not see it.
  for (let lasts = 0, last = ""; !alive.every(({ seen }) => seen.at(-1)?.rowKey === last); ) {
    last = `last-${lasts++}`;
    assert(lasts < 10);
    await items(store).createEntity(item(last));
    for (let ms = 0; ms < 1000 && !alive.every(({ seen }) => seen.at(-1)?.rowKey === last); ++ms)
      await sleep(1);
  }
  await checkFeeds(users, alive, store, random);
  for (const user of alive) {
    await user.store.close();
    await user.reading;
  }
  const truncations = alive.reduce((sum, user) => sum + user.truncations, 0);
  return { truncations, users: alive.length };
}

// Each user must have seen all commits from its first one on, once, in their order.
async function checkFeeds(
  users: readonly FeedUser[],
  alive: readonly FeedUser[],
  store: Store,
  random: Random,
): Promise<void> {
  const known = new Map<bigint, string>();
  for (const { seen } of users)
    for (const { sequence, rowKey } of seen) known.set(sequence, rowKey);
  const all = [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rowKey]) => rowKey);
  const rows = (await new RandomItems(store, random).list()).map(({ rowKey }) => rowKey);
  for (const { seen, written } of alive) {
    const keys = seen.map(({ rowKey }) => rowKey);
    assert.deepEqual(keys, all.slice(-keys.length));
    for (const rowKey of written) assert(keys.includes(rowKey), rowKey);
  }
  assert.equal(new Set(all).size, all.length);
  assert(all.every((rowKey) => rows.includes(rowKey)));
  const seenAll = alive.find(({ seen }) => seen.length === rows.length);
  if (seenAll !== undefined) assert.deepEqual([...all].sort(), rows.sort());
}

// ---- Durable readers ----------------------------------------------------------------------------

// What all tabs together have done with one durable reader.
class SharedReader {
  readonly since: bigint; // where it began
  acknowledged: bigint; // by a call that has resolved
  readonly seen = new Map<bigint, string>(); // row keys by sequence
  readonly failures: unknown[] = [];
  doubles = 0; // batches that were got again, because they were not acknowledged
  private holder: Tab | undefined;

  constructor(since: bigint) {
    this.since = since;
    this.acknowledged = since;
  }

  // Reads and acknowledges until the tab is gone, or the store is closed.
  async use(tab: Tab, store: Store, random: Random): Promise<void> {
    while (store.status.state !== "closed") {
      const reader = await store.reader("backup");
      assert(this.holder === undefined || this.holder.dead);
      this.holder = tab;
      assert(reader.acknowledged >= this.acknowledged);
      let last = reader.acknowledged;
      for (let count = random.below(12); count > 0; --count) {
        const { value, done } = await reader.next();
        if (done || tab.dead) return;
        this.#see(value, last);
        last = value.sequence;
        if (random.below(3) !== 0) continue;
        const acknowledged = last;
        const acknowledging = reader.ack(acknowledged).then(() => {
          if (acknowledged > this.acknowledged) this.acknowledged = acknowledged;
        });
        if (random.below(2) === 0) await acknowledging;
        else acknowledging.catch(() => {});
      }
      this.holder = undefined;
      await reader.close();
    }
  }

  #see({ sequence, changes }: ChangeBatch, last: bigint): void {
    assert(sequence > last, "the order");
    assert(sequence > this.acknowledged, "acknowledged before");
    const rowKey = changes.map((change) => change.rowKey).join();
    if (this.seen.has(sequence)) {
      this.doubles += 1;
      assert.equal(this.seen.get(sequence), rowKey);
    }
    this.seen.set(sequence, rowKey);
  }
}

async function runReaders(random: Random): Promise<SharedReader> {
  const origin = new Origin();
  const founder = await open(new Tab(origin));
  await items(founder).createTable();
  const { acknowledged } = await founder.reader("backup");
  const shared = new SharedReader(acknowledged);
  await founder.close();
  const users: { tab: Tab; store: Store; writing: Promise<void> }[] = [];
  const start = async () => {
    const tab = new Tab(origin);
    const store = await open(tab);
    shared.use(tab, store, random).catch((error) => {
      if (!tab.dead) shared.failures.push(error);
    });
    users.push({ tab, store, writing: writeRows(store, `t${users.length}`, random) });
  };
  await Promise.all([start(), start(), start()]);
  for (let event = 0; event < 6; ++event) {
    await sleep(random.below(60));
    const awake = users.filter(({ tab }) => !tab.dead && !tab.frozen);
    const { tab, store } = awake[random.below(awake.length)] as (typeof awake)[number];
    const what = ["kill", "freeze", "suspend", "start", "compact"][random.below(5)];
    if (what === "compact") void store.compact().catch(() => {});
    if (what === "kill" && awake.length > 1) tab.kill();
    if (what === "freeze" && awake.length > 1) {
      tab.freeze();
      setTimeout(() => tab.thaw(), random.below(frozenMsMax));
    }
    if (what === "suspend") {
      tab.dispatch("suspend");
      setTimeout(() => tab.dispatch("resume"), random.below(200));
    }
    if (what === "start") await start();
  }
  const alive = users.filter(({ tab }) => !tab.dead);
  await Promise.all(alive.map(({ writing }) => writing));
  await sleep(frozenMsMax);
  const [{ store }] = alive as [(typeof alive)[number]];
  await items(store).createEntity(item("last"));
  const isOver = () => [...shared.seen.values()].includes("last") || shared.failures.length > 0;
  await until(isOver);
  assert.deepEqual(shared.failures, []);
  const rows = (await new RandomItems(store, random).list()).map(({ rowKey }) => rowKey);
  assert.deepEqual([...shared.seen.values()].sort(), rows.sort());
  for (const user of alive.reverse()) await user.store.close();
  return shared;
}

async function writeRows(store: Store, name: string, random: Random): Promise<void> {
  try {
    for (let i = 0; i < 8; ++i) {
      const durability = random.below(2) === 0 ? "strict" : "relaxed";
      await items(store).upsertEntity(item(`${name}-${i}`), "Replace", { durability });
    }
  } catch {
    // the tab was killed
  }
}

describe("at random", () => {
  const orders = process.env["ENTITABLE_ALL"] ? 100 : 10;
  test(
    "feeds of tabs that are killed, frozen and suspended have each commit once",
    {
      orders,
    },
    async ({ random }) => assert.equal((await runFeeds(random, false)).truncations, 0),
  );

  let truncations = 0;
  let feedUsers = 0;
  test("feeds go on although checkpoints remove the log", {
    orders,
  }, async ({ random }) => {
    const run = await runFeeds(random, true);
    truncations += run.truncations;
    feedUsers += run.users;
  });
  realTest("feeds are rarely truncated", () =>
    assert(3 * truncations < feedUsers, `${truncations} of ${feedUsers}`),
  );

  let acknowledged = 0;
  let doubles = 0;
  test("a durable reader gets each commit, and none after acknowledging it", {
    orders,
  }, async ({ random }) => {
    const reader = await runReaders(random);
    if (reader.acknowledged > reader.since) acknowledged += 1;
    doubles += reader.doubles;
  });
  realTest("durable readers acknowledge, and get batches again", () =>
    assert(acknowledged > 0 && doubles > 0, `${acknowledged}, ${doubles}`),
  );

  let checked = 0;
  test("live queries of tabs that are killed, frozen and suspended show the truth", {
    orders,
  }, async ({ random }) => {
    checked += await runTabs(random);
  });

  realTest("many results were checked at their sequence", () =>
    assert(checked > 1000, `${checked}`),
  );

  realTest("the check fails if rows that leave are ignored", async (t) => {
    const { apply } = LiveRows.prototype;
    LiveRows.prototype.apply = function (this: LiveRows, rows, delta) {
      const kept = rows.filter(({ row }) => row !== undefined);
      apply.call(this, kept, delta);
    };
    t.after(() => {
      LiveRows.prototype.apply = apply;
    });
    const running = simulate(t, seed, async ({ random }) => void (await runTabs(random)));
    await assert.rejects(running, { message: wrongResult });
  });
});
