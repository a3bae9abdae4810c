// Tests tabs that share a store: each tab sees the writes of the others, and no write is lost or
// applied twice when the owner closes, dies, freezes or sleeps. All tabs run in one process, with
// simulated locks and channels (support/simulated-tabs.ts). tests/browser uses real ones.

import assert from "node:assert/strict";
import { describe } from "node:test";
import type { StoreError } from "../../web/src/errors.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { protocolVersion, type RemoteCall } from "../../web/src/tabs/messages.ts";
import type { SharedHostOptions } from "../../web/src/tabs/shared-host.ts";
import { requestStoreLock } from "../../web/src/tabs/web-locks.ts";
import type { Store } from "../../web/src/types.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import type { Random } from "./support/random.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest as test } from "./support/simulated-test.ts";
import { sleep, turn, until } from "./support/simulation.ts";

const tabsIn = (origin: Origin, count: number) =>
  Array.from({ length: count }, () => new Tab(origin));

async function open(tab: Tab, options: Partial<SharedHostOptions> = {}): Promise<Store> {
  return new StoreHandle("shop", await tab.open(options));
}

// Opens a store with a table in the first of `count` tabs, on a disk that the test controls.
async function ownedOnControlledDisk(count: number) {
  const origin = new Origin();
  const tabs = tabsIn(origin, count);
  const disk = new ControlledStorage(new MemoryStorage(origin.files));
  origin.disk = () => disk;
  const first = await open(tabs[0] as Tab);
  await first.table("people").createTable();
  return { origin, tabs, disk, first };
}

// Opens a store in `a` and `b`, and kills `a`. Tab `b` gets the lock but is frozen. Returns the
// store of `b`.
async function heirAsleep(a: Tab, b: Tab): Promise<Store> {
  const first = await open(a);
  await first.table("people").createTable();
  const second = await open(b);
  a.kill();
  await until(() => b.opening);
  b.freeze();
  return second;
}

// For a test whose steps have their effect only if messages and responses arrive in this order.
const inOrder = { isRandom: false };

const row = (rowKey: string, n = 0) => ({ partitionKey: "p", rowKey, n });

describe("two tabs", () => {
  test("see each other's writes, through either entry point", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    assert.deepEqual([first.status.owner, second.status.owner], ["self", "other-tab"]);
    await second.table("people").createTable();
    await first.table("people").createEntity(row("1"));
    await second.table("people").createEntity(row("2"));
    assert.equal((await first.table("people").getEntity("p", "2")).n, 0);
    assert.equal((await second.table("people").getEntity("p", "1")).n, 0);
    const url = "http://127.0.0.1:10002/shop/people(PartitionKey='p',RowKey='2')";
    assert.equal((await second.fetch(url)).status, 200);
    assert.equal(
      (await second.fetch(url, { method: "DELETE", headers: { "If-Match": "*" } })).status,
      204,
    );
    assert.equal((await first.fetch(url)).status, 404);
    assert.equal((await second.stats()).rows, 1);
    await second.flush();
    await second.close();
    await first.close();
  });

  test("transfer ownership without rewriting; the last one shortens the log", async () => {
    const origin = new Origin();
    const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await first.table("people").createTable();
    for (let i = 0; i < 70; ++i) await first.table("people").createEntity(row(String(i)));
    const segments = () => [...origin.files.keys()].filter((name) => name.startsWith("wal-"));
    await first.close();
    assert(segments().length >= 72);
    assert.equal((await second.stats()).rows, 70);
    await second.close();
    assert.deepEqual(segments(), []);
    await using again = await open(new Tab(origin));
    assert.equal((await again.stats()).rows, 70);
  });

  test("get the same errors", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await first.table("people").createTable();
    await first.table("people").createEntity(row("1"));
    for (const store of [first, second]) {
      const table = store.table("people");
      await assert.rejects(table.createEntity(row("1")), {
        name: "RestError",
        statusCode: 409,
        code: "EntityAlreadyExists",
      });
      await assert.rejects(table.getEntity("p", "nobody"), { name: "RestError", statusCode: 404 });
      await assert.rejects(store.table("none").createEntity(row("1")), { code: "TableNotFound" });
    }
    for (const store of [second, first]) {
      const states: string[] = [];
      store.on("status", ({ state }) => states.push(state));
      await store.close();
      assert.deepEqual(states, ["closed"]);
    }
    await assert.rejects(second.table("people").getEntity("p", "1"), { code: "StoreClosed" });
    await first.close();
  });

  test("the second continues when the first closes, dies, freezes or sleeps", async () => {
    for (const end of ["close", "kill", "freeze", "suspend"] as const) {
      const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
      const first = await open(a);
      const second = await open(b);
      await first.table("people").createTable();
      await second.table("people").createEntity(row("1"));
      const under = Promise.all(
        ["2", "3", "4"].map((key) => second.table("people").createEntity(row(key))),
      );
      if (end === "close") await first.close();
      if (end === "kill") a.kill();
      if (end === "freeze") a.freeze();
      if (end === "suspend") a.dispatch("suspend");
      await under;
      await second.table("people").createEntity(row("5"));
      assert.equal(second.status.owner, "self", end);
      assert.equal((await second.stats()).rows, 5, end);
      if (end === "freeze") a.thaw();
      if (end === "suspend") a.dispatch("resume");
      if (end === "freeze" || end === "suspend") {
        await first.table("people").createEntity(row("6"));
        assert.equal(first.status.owner, "other-tab", end);
        assert.equal((await first.stats()).rows, 6, end);
        await first.close();
      }
      await second.close();
    }
  });

  test("report who owns the store, and whether it is persisted, in each tab", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    const owners: string[] = [];
    let persisted = 0;
    second.on("owner", ({ owner }) => owners.push(owner));
    second.on("persisted", () => ++persisted);
    await second.table("people").createTable();
    await until(() => persisted === 1);
    const { generation } = second.status;
    await first.close();
    await until(() => second.status.owner === "self");
    assert.deepEqual(owners, ["self"]);
    assert.equal(second.status.generation, generation + 1);
    await second.close();
  });
});

describe("a deferred write", () => {
  for (const writer of ["first", "second"] as const) {
    test(`of the ${writer} tab that was not stored is repeated by the next owner`, async () => {
      const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
      const stores = { first: await open(a), second: await open(b) };
      await stores.first.table("people").createTable();
      await stores[writer].table("people", { durability: "deferred" }).createEntity(row("1"));
      a.freeze();
      await stores.second.table("people").createEntity(row("2"));
      // A follower repeats its own at once; those of the frozen owner wait until it wakes.
      assert.equal((await stores.second.stats()).rows, writer === "first" ? 1 : 2);
      a.thaw();
      await stores.first.flush();
      assert.equal((await stores.second.stats()).rows, 2);
      await stores.first.close();
      await stores.second.close();
    });
  }
});

type OwnerEnd = "close" | "close without storing" | "kill";

// Writes in a follower while the owner ends. Resolves to the keys of acknowledged writes that are
// not stored in the end.
async function lostWithOwner(origin: Origin, end: OwnerEnd): Promise<string[]> {
  const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
  const disk = new ControlledStorage(new MemoryStorage(origin.files));
  origin.disk = (tab) => (tab === a ? disk : new MemoryStorage(origin.files));
  const first = await open(a);
  const second = await open(b);
  await first.table("people").createTable();
  const keys: string[] = [];
  for (let i = 0; i < 300; ++i) {
    const key = String(i).padStart(3, "0");
    const durability = i % 20 === 19 ? "strict" : "deferred";
    await second.table("people", { durability }).createEntity(row(key));
    keys.push(key);
    if (i !== 150) continue;
    if (end === "kill") a.kill();
    else first.close().catch(() => {});
    if (end === "close without storing") disk.failing = "quota";
  }
  await second.flush();
  await second.close();
  await using last = await open(new Tab(origin));
  const stored = new Set<string>();
  for await (const { rowKey } of last.table("people").listEntities()) stored.add(rowKey as string);
  return keys.filter((key) => !stored.has(key));
}

describe("the deferred writes of a follower", () => {
  for (const end of ["close", "close without storing", "kill"] as const) {
    test(`are stored although the owner ends before it stored them: ${end}`, async () => {
      assert.deepEqual(await lostWithOwner(new Origin(), end), []);
    });
  }

  for (const end of ["close without storing", "kill"] as const) {
    test(
      `canary: are lost if the follower does not learn that they are not stored: ${end}`,
      inOrder,
      async () => {
        const origin = new Origin();
        origin.alterMessage = (message) => {
          const { responses = [] } = message as { responses?: { mayBeLost?: true }[] };
          for (const response of responses) delete response.mayBeLost;
          return message;
        };
        assert.notDeepEqual(await lostWithOwner(origin, end), []);
      },
    );
  }
});

// The first tab stores two deferred writes, but does not learn that. The second tab takes over and
// writes the same rows again. Then the first tab repeats what it may not have stored. Resolves to
// the final rows.
async function repeatedByFormerOwner(origin: Origin): Promise<unknown[]> {
  const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
  const disk = new ControlledStorage(new MemoryStorage(origin.files));
  origin.disk = (tab) => (tab === a ? disk : new MemoryStorage(origin.files));
  const first = await open(a);
  const second = await open(b);
  await first.table("people").createTable();
  disk.auto = false;
  const deferred = first.table("people", { durability: "deferred" });
  for (const key of ["1", "2"]) await deferred.upsertEntity(row(key, 1), "Replace");
  await (await disk.next()).storeAndFail("unknown");
  disk.auto = true;
  disk.failing = "aborted"; // the connection stays broken
  a.freeze();
  for (const key of ["1", "2"]) await second.table("people").upsertEntity(row(key, 2), "Replace");
  origin.disk = () => new MemoryStorage(origin.files);
  a.thaw();
  await until(() => first.status.owner === "other-tab");
  await first.flush();
  const rows: unknown[] = [];
  for await (const { n } of first.table("people").listEntities()) rows.push(n);
  await first.close();
  await second.close();
  return rows;
}

describe("deferred writes of an owner that was replaced before it knew that they are stored", () => {
  test("are applied once", async () => {
    assert.deepEqual(await repeatedByFormerOwner(new Origin()), [2, 2]);
  });

  test("canary: are applied twice if the next owner does not recognise them", inOrder, async () => {
    const origin = new Origin();
    origin.alterMessage = (message) => {
      const { calls = [] } = message as { calls?: RemoteCall[] };
      for (const { kind, request, unstored = [] } of calls) {
        if (kind !== "recover") continue;
        request?.fill(0); // the client id
        for (const call of unstored) call.request.fill(0, 16, 32); // the client id
      }
      return message;
    };
    assert.deepEqual(await repeatedByFormerOwner(origin), [1, 1]);
  });
});

test("a tab that is closed during its takeover leaves the store to the others", async () => {
  const [a, b, c] = tabsIn(new Origin(), 3) as [Tab, Tab, Tab];
  const first = await open(a);
  const second = await open(b);
  const third = await open(c);
  await first.table("people").createTable();
  const { generation } = third.status;
  void first.close();
  await until(() => b.opening);
  await second.close();
  await third.table("people").createEntity(row("1"));
  assert.equal(third.status.owner, "self");
  assert(third.status.generation <= generation + 2);
  await third.close();
});

test("a tab that is closed after a failed takeover does not try again", async () => {
  const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
  const first = await open(a);
  let takeovers = 0;
  const openLocal = () => {
    takeovers += 1;
    return Promise.reject(new Error("The disk cannot be read."));
  };
  const second = await open(b, { openLocal });
  const failed = new Promise((resolve) => second.on("persist-error", resolve));
  await first.close();
  await failed;
  await second.close();
  await sleep(1200); // a takeover is tried again after 1 s
  assert.equal(takeovers, 1);
});

test("a tab that is closed during its takeover and loses the lock does not try again", async () => {
  const [a, b, c] = tabsIn(new Origin(), 3) as [Tab, Tab, Tab];
  const first = await open(a);
  let takeovers = 0;
  let fail = () => {};
  const openLocal = () => {
    takeovers += 1;
    return new Promise<never>((_, reject) => {
      fail = () => reject(new Error("The disk cannot be read."));
    });
  };
  const second = await open(b, { openLocal });
  const third = await open(c);
  await first.table("people").createTable();
  void first.close();
  await until(() => takeovers === 1);
  const closed = second.close();
  await third.table("people").createEntity(row("1")); // steals the lock
  fail();
  await closed;
  await third.close(); // releases the lock
  await sleep(50);
  assert.equal(takeovers, 1);
});

test("a write is applied once if its owner stored it and died before it responded", async () => {
  const origin = new Origin();
  const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
  await (await open(a)).table("people").createTable();
  const second = await open(b);
  const stored = origin.files.size;
  const written = second.table("people").createEntity(row("1"));
  await until(() => origin.files.size > stored);
  a.kill();
  await written; // a second insert of the same row would fail
  assert.equal(second.status.owner, "self");
  assert.equal((await second.stats()).rows, 1);
  await second.close();
});

// The window of calls holds this many clients (core/store/call_window.h).
const clientsMax = 256;
const manyTabs = { ordersMax: 1 }; // one simulation takes seconds

// Opens and closes `count` tabs, each of which writes the row "2".
async function writeInOthers(origin: Origin, count: number): Promise<void> {
  for (let i = 0; i < count; ++i) {
    await using other = await open(new Tab(origin));
    await other.table("people").upsertEntity(row("2", i));
  }
}

// Collects the messages of a store's persist errors.
function persistErrors(store: Store): string[] {
  const messages: string[] = [];
  store.on("persist-error", ({ error }) => messages.push(error.message));
  return messages;
}

// Opens a store with a table in a tab, from which the others then get it.
async function openFirst(origin: Origin): Promise<{ tab: Tab; store: Store }> {
  const tab = new Tab(origin);
  const store = await open(tab);
  await store.table("people").createTable();
  return { tab, store };
}

describe("a write that its owner stored before it died, of a tab that slept meanwhile", () => {
  interface Sleep {
    others: number; // how many other tabs write meanwhile
    durability: "strict" | "deferred";
    reopens?: boolean; // the store is opened several times meanwhile, also from a checkpoint
  }

  // Lets a follower write before the owner dies, and sleep while other tabs write. Returns the row
  // that it wrote and that another tab has changed since, and how its write ended.
  async function writeAndSleep(origin: Origin, { others, durability, reopens = false }: Sleep) {
    const { tab: a } = await openFirst(origin);
    const b = new Tab(origin);
    const second = await open(b);
    const errors = persistErrors(second);
    const stored = origin.files.size;
    const written = second.table("people", { durability }).upsertEntity(row("1", 1));
    const outcome = written.then(
      () => "written",
      (error: StoreError) => `${error.code}, uncertain: ${error.uncertain}`,
    );
    await until(() => origin.files.size !== stored);
    b.dispatch("suspend");
    a.kill();
    let owner = new Tab(origin);
    let next = await open(owner);
    await next.table("people").upsertEntity(row("1", 2));
    for (let left = others - 1; left > 0; ) {
      const count = reopens ? Math.min(left, 60) : left;
      await writeInOthers(origin, count);
      left -= count;
      if (!reopens) continue;
      if (left % 2 === 0) await next.compact();
      owner.kill();
      owner = new Tab(origin);
      next = await open(owner); // does not write
    }
    b.dispatch("resume");
    const result = await outcome;
    await second.flush();
    const found = await next.table("people").getEntity("p", "1");
    await second.close();
    await next.close();
    return { found: found["n"], outcome: result, errors };
  }

  test(
    "is applied once if no more than the limit of tabs have written since",
    manyTabs,
    async () => {
      for (const durability of ["strict", "deferred"] as const) {
        const sleep = { others: clientsMax - 1, durability, reopens: durability === "strict" };
        const ended = await writeAndSleep(new Origin(), sleep);
        assert.deepEqual(ended, { found: 2, outcome: "written", errors: [] });
      }
    },
  );

  test("is not applied again if more have written since, and is reported", manyTabs, async () => {
    const others = clientsMax;
    const strict = await writeAndSleep(new Origin(), { others, durability: "strict" });
    assert.deepEqual([strict.found, strict.outcome], [2, "ConnectionLost, uncertain: true"]);
    const sleep = { others, durability: "deferred", reopens: true } as const;
    const deferred = await writeAndSleep(new Origin(), sleep);
    assert.equal(deferred.found, 2);
    const [message = "", ...more] = deferred.errors;
    assert.match(message, /1 acknowledged write could not be applied again: .* has forgotten/);
    assert.deepEqual(more, []);
  });

  test(
    "canary: is applied again if the owner does not say what it has forgotten",
    manyTabs,
    async () => {
      const origin = new Origin();
      origin.alterMessage = (message) => {
        const { responses = [] } = message as { responses?: { value?: object }[] };
        for (const { value } of responses)
          if (value !== undefined && "droppedThrough" in value) value.droppedThrough = 0;
        return message;
      };
      const { found } = await writeAndSleep(origin, { others: clientsMax, durability: "strict" });
      assert.equal(found, 1);
    },
  );
});

describe("the first write of a tab after more tabs have written than the store remembers", () => {
  test("is stored if it is deferred and the owner dies", manyTabs, async () => {
    const origin = new Origin();
    const { tab, store } = await openFirst(origin);
    const second = await open(new Tab(origin));
    const errors = persistErrors(second);
    await writeInOthers(origin, clientsMax + 2);
    await store.flush();
    await second.table("people", { durability: "deferred" }).createEntity(row("1", 1));
    tab.kill();
    await second.flush();
    assert.equal((await second.table("people").getEntity("p", "1"))["n"], 1);
    assert.deepEqual(errors, []);
    await second.close();
  });

  test(
    "is stored if it is deferred, of the owner, and the owner is replaced",
    manyTabs,
    async () => {
      const origin = new Origin();
      const { tab, store } = await openFirst(origin);
      const second = await open(new Tab(origin));
      const errors = persistErrors(store);
      await writeInOthers(origin, clientsMax + 2);
      await store.flush();
      await store.table("people", { durability: "deferred" }).createEntity(row("1", 1));
      await second.stats(); // the response tells how many commits there are
      tab.freeze();
      await second.table("people").upsertEntity(row("2", 0)); // goes to the frozen owner first
      tab.thaw();
      await until(() => store.status.owner === "other-tab");
      await store.flush();
      assert.equal((await second.table("people").getEntity("p", "1"))["n"], 1);
      assert.deepEqual(errors, []);
      await store.close();
      await second.close();
    },
  );

  test(
    "is applied once if the owner opened a checkpoint, stored it and died",
    manyTabs,
    async () => {
      const origin = new Origin();
      const { tab, store } = await openFirst(origin);
      await writeInOthers(origin, clientsMax + 2);
      await store.compact();
      tab.kill();
      const owner = new Tab(origin);
      await open(owner);
      const second = await open(new Tab(origin));
      const stored = origin.files.size;
      const written = second.table("people").createEntity(row("1", 1));
      await until(() => origin.files.size !== stored);
      owner.kill();
      await written;
      assert.equal((await second.table("people").getEntity("p", "1"))["n"], 1);
      await second.close();
    },
  );
});

test("a tab that wakes after its log was removed causes no harm", async () => {
  for (const work of ["write", "compact"] as const) {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await first.table("people").createTable();
    const under = work === "write" ? first.table("people").createEntity(row("1")) : first.compact();
    await Promise.resolve(); // the storage call has begun
    a.freeze();
    await second.table("people").createEntity(row("2"));
    await second.compact();
    a.thaw();
    await under;
    await second.close();
    await first.close();
    const last = await open(new Tab(a.origin));
    assert.equal((await last.stats()).rows, work === "write" ? 2 : 1, work);
    assert.deepEqual((await last.verify()).damage, []);
    await last.close();
  }
});

describe("consecutive writes of a tab that loses ownership of the store", () => {
  for (const how of ["freeze", "suspend"] as const) {
    for (const durability of ["strict", "deferred"] as const) {
      test(`keep their order: ${durability}, ${how}`, async () => {
        const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
        const first = await open(a);
        const second = await open(b);
        await first.table("people").createTable();
        const table = first.table("people", { durability });
        const writes: Promise<{ etag?: string }>[] = [];
        const write = () => writes.push(table.upsertEntity(row("1", writes.length), "Replace"));
        write();
        await Promise.resolve(); // the write is being stored
        for (let i = 0; i < 5; ++i) write(); // these writes wait in the queue
        if (how === "suspend") a.dispatch("suspend");
        write();
        a.freeze();
        await second.table("people").createEntity(row("2"));
        a.thaw();
        if (how === "suspend") a.dispatch("resume");
        for (let i = 0; i < 40; ++i) {
          write();
          await turn();
        }
        const etags = (await Promise.all(writes)).map(({ etag }) => etag);
        if (durability === "strict") assert.deepEqual(etags, [...etags].sort());
        await first.flush();
        assert.equal((await table.getEntity("p", "1"))["n"], writes.length - 1);
        await first.close();
        await second.close();
      });
    }
  }
});

for (const durability of ["strict", "deferred"] as const) {
  test(`writes of a new owner follow its earlier ones: ${durability}`, async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a);
    const second = await open(b);
    await first.table("people").createTable();
    const table = second.table("people", { durability });
    const writes: Promise<unknown>[] = [];
    const write = () => writes.push(table.upsertEntity(row("1", writes.length), "Replace"));
    a.kill();
    for (let i = 0; i < 200; ++i) write(); // more than are sent to an owner at a time
    const written = new Promise<void>((resolve) => {
      second.on("owner", () => {
        write();
        resolve();
      });
    });
    await written;
    await second.flush();
    await Promise.all(writes);
    assert.equal((await table.getEntity("p", "1"))["n"], writes.length - 1);
    await second.close();
  });
}

test("a tab that is closed while it becomes the owner completes its earlier calls", async () => {
  const origin = new Origin();
  const [a, b] = tabsIn(origin, 2) as [Tab, Tab];
  const first = await open(a);
  const second = await open(b);
  await first.table("people").createTable();
  a.kill();
  const table = second.table("people");
  const writes = Array.from({ length: 200 }, (_, i) => table.createEntity(row(String(i))));
  const closed = new Promise<void>((resolve, reject) => {
    second.on("owner", () => void second.close().then(resolve, reject));
  });
  await Promise.all([...writes, closed]);
  await using again = await open(new Tab(origin));
  assert.equal((await again.stats()).rows, 200);
});

test("a follower whose hello arrives a second time has its writes applied in order", async () => {
  const origin = new Origin();
  const [a, b, c] = tabsIn(origin, 3) as [Tab, Tab, Tab];
  const first = await open(a);
  await first.table("people").createTable();
  let hello: unknown;
  const channel = origin.channel(c, "entitable/shop", (message) => {
    if ((message as { type: string }).type === "hello") hello = message;
  });
  const table = (await open(b)).table("people");
  await until(() => hello !== undefined);
  for (let round = 0; round < 10; ++round) {
    channel.post(hello);
    const writes: Promise<{ etag?: string }>[] = [];
    for (let i = 0; i < 20; ++i) {
      writes.push(table.createEntity(row(`${round}-${i}`)));
      if (i % 3 === 0) await turn();
    }
    const etags = (await Promise.all(writes)).map(({ etag }) => etag);
    assert.deepEqual(etags, [...etags].sort());
  }
  await first.close();
});

test("a lock that was stolen before its holder got it is lost, not forbidden", async () => {
  const heard: string[] = [];
  const locks = { request: () => Promise.reject(new DOMException("stolen", "AbortError")) };
  requestStoreLock(locks as unknown as LockManager, "shop", "queue", {
    held: () => heard.push("held"),
    lost: () => heard.push("lost"),
    failed: () => heard.push("failed"),
  });
  await turn();
  assert.deepEqual(heard, ["lost"]);
});

test(
  "a follower of a tab that becomes the owner again has its writes applied in order",
  inOrder,
  async () => {
    const origin = new Origin();
    const [a, b, c, d] = tabsIn(origin, 4) as [Tab, Tab, Tab, Tab];
    const first = await open(a);
    await first.table("people").createTable();
    await open(b);
    let session = 0; // the follower's session
    let onHello = () => {};
    const channel = origin.channel(d, "entitable/shop", (message) => {
      const { type, from } = message as { type: string; from: string };
      if (type !== "hello") return;
      onHello();
      origin.channel(d, `entitable/shop/client/${from}`, (received) => {
        session = (received as { session?: number }).session ?? session;
      });
    });
    const third = await open(c);
    const table = third.table("people");
    await until(() => session > 0);
    b.freeze(); // gets the lock next, and does nothing with it
    const { generation } = first.status;
    a.dispatch("suspend");
    a.dispatch("resume");
    await until(() => first.status.owner === "self" && first.status.generation > generation);
    // As many further clients as the owner had sessions before the follower's.
    for (let i = 1; i < session; ++i) {
      channel.post({ entitable: protocolVersion, type: "hello", from: `${i}` });
    }
    const writes: Promise<{ etag?: string }>[] = [];
    const write = () => writes.push(table.createEntity(row(String(writes.length))));
    write(); // the owner does not know the follower any more, so the follower will say hello
    onHello = () => setImmediate(write); // the owner has heard it too, and has not answered yet
    await until(() => writes.length > 1);
    onHello = () => {};
    const etags = (await Promise.all(writes)).map(({ etag }) => etag);
    assert.deepEqual(etags, [...etags].sort());
    b.kill();
    await third.close();
    await first.close();
  },
);

test(
  "a write that an owner rejected is not applied after later ones by the next",
  inOrder,
  async () => {
    const { origin, tabs, disk, first } = await ownedOnControlledDisk(3);
    const [, b, c] = tabs as [Tab, Tab, Tab];
    const second = await open(b);
    await second.table("people").createEntity(row("0"));
    const channel = origin.channel(c, "entitable/shop", () => {});
    disk.auto = false;
    const rejected = assert.rejects(second.table("people").createEntity(row("1")), {
      code: "ConnectionLost",
      message: /had no effect/,
    });
    const call = await disk.next();
    const written = second.table("people").createEntity(row("2"));
    for (let i = 0; i < 20; ++i) await turn();
    b.freeze();
    // The follower hears of another owner first, so it ignores the responses.
    channel.post({ entitable: protocolVersion, type: "owner", from: "x", account: "" });
    await call.fail("quota");
    await (await disk.next()).succeed();
    disk.auto = true;
    b.thaw();
    await Promise.all([rejected, written]);
    assert.equal((await second.stats()).rows, 2);
    await second.close();
    await first.close();
  },
);

test("a write that was rejected on its second sending may have been applied", inOrder, async () => {
  const { origin, tabs, disk, first } = await ownedOnControlledDisk(3);
  const [, b, c] = tabs as [Tab, Tab, Tab];
  let hello: unknown;
  const channel = origin.channel(c, "entitable/shop", (message) => {
    if ((message as { type: string }).type === "hello") hello = message;
  });
  const second = await open(b);
  await until(() => hello !== undefined);
  disk.auto = false;
  const written = assert.rejects(second.table("people").createEntity(row("1")), {
    code: "ConnectionLost",
    uncertain: true,
    hint: /^The call was applied completely or not at all/,
  });
  const call = await disk.next();
  channel.post(hello); // as if the follower were new; the follower sends the write again
  for (let i = 0; i < 20; ++i) await turn();
  await call.storeAndFail("unknown");
  await written;
  disk.auto = true;
  await first.flush();
  assert.equal((await second.stats()).rows, 1);
  await second.close();
  await first.close();
});

test("two tabs that both believe they are the owner do not loop endlessly", async () => {
  const origin = new Origin();
  origin.lockLossDelayMs = () => 200;
  const [a, b, c, ...rest] = tabsIn(origin, 8) as [Tab, Tab, Tab, ...Tab[]];
  const first = await open(a);
  await first.table("people").createTable();
  const stores = await Promise.all([b, ...rest].map((tab) => open(tab)));
  let hellos = 0;
  origin.channel(c, "entitable/shop", (message) => {
    if ((message as { type: string }).type === "hello") hellos += 1;
  });
  a.freeze();
  const written = stores.map((store, i) => store.table("people").createEntity(row(`${i}`)));
  await until(() => origin.tabs.some((tab) => tab !== a && tab.opening));
  a.thaw();
  await Promise.all(written);
  assert(hellos < 200, `${hellos}`);
  for (const store of [...stores, first]) await store.close();
});

test("an owner steps down for a later claim, even if it holds the lock", async () => {
  const origin = new Origin();
  origin.lockLossDelayMs = () => 500;
  const [a, b, c, d] = tabsIn(origin, 4) as [Tab, Tab, Tab, Tab];
  const second = await heirAsleep(a, b);
  const third = await open(c); // steals the lock of the frozen tab
  assert.equal(third.status.owner, "self");
  await third.table("people").createEntity(row("1"));
  b.thaw(); // does not know yet that it lost the lock, and claims the log
  const written = second.table("people").createEntity(row("2"));
  const { generation } = third.status;
  const started = performance.now();
  await until(() => third.status.generation > generation);
  assert(performance.now() - started < 400, "before the other learns that its lock was stolen");
  await written;
  const fourth = await open(d);
  for (const store of [second, third, fourth]) {
    assert.equal((await store.table("people").getEntity("p", "2")).rowKey, "2");
  }
  for (const store of [second, third, fourth]) await store.close();
});

test("an owner that is still opening the store steps down for a later claim", async () => {
  const origin = new Origin();
  origin.lockLossDelayMs = () => 2000;
  const [a, b, c] = tabsIn(origin, 3) as [Tab, Tab, Tab];
  let claimed = () => {};
  const held = new Promise<void>((resolve) => {
    claimed = resolve;
  });
  origin.disk = (tab) => {
    const storage = new MemoryStorage(origin.files);
    if (tab !== c) return storage;
    const claim = storage.claim.bind(storage);
    storage.claim = (...claiming) => claim(...claiming).then(() => held);
    return storage;
  };
  const second = await heirAsleep(a, b);
  const opening = open(c); // steals the lock of the frozen tab, and claims the log
  await until(() => c.opening);
  const segments = origin.files.size;
  await until(() => origin.files.size > segments);
  b.thaw();
  await second.table("people").createEntity(row("1"));
  claimed();
  const third = await opening;
  const { generation } = second.status;
  const started = performance.now();
  await until(() => third.status.generation > generation || third.status.owner !== "self");
  assert(performance.now() - started < 1500, "before it learns that its lock was stolen");
  assert.equal((await third.table("people").getEntity("p", "1")).rowKey, "1");
  await second.close();
  await third.close();
});

describe("a tab that is about to be suspended", () => {
  const ownerTimeoutMs = 600_000; // long enough that the lock is not stolen

  test("releases the store even while a write is being stored", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a, { ownerTimeoutMs });
    const second = await open(b, { ownerTimeoutMs });
    await first.table("people").createTable();
    const written = first.table("people").createEntity(row("1"));
    await Promise.resolve(); // the write is being stored
    a.dispatch("suspend");
    a.freeze();
    await second.table("people").createEntity(row("2"));
    assert.equal(second.status.owner, "self");
    a.thaw();
    a.dispatch("resume");
    await written;
    assert.equal((await second.stats()).rows, 2);
    await first.close();
    await second.close();
  });

  test("and is closed before it wakes completes its earlier calls before it closes", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a, { ownerTimeoutMs });
    const second = await open(b, { ownerTimeoutMs });
    await first.table("people").createTable();
    a.dispatch("suspend");
    const written = first.table("people").createEntity(row("1"));
    const closed = first.close();
    a.dispatch("resume");
    await Promise.all([written, closed]);
    assert.equal((await second.stats()).rows, 1);
    await second.close();
  });

  test("keeps deferred writes that the next owner's log does not contain", async () => {
    const [a, b] = tabsIn(new Origin(), 2) as [Tab, Tab];
    const first = await open(a, { ownerTimeoutMs });
    const second = await open(b, { ownerTimeoutMs });
    await first.table("people").createTable();
    const deferred = first.table("people", { durability: "deferred" });
    await deferred.createEntity(row("1"));
    const flushed = first.flush();
    await Promise.resolve(); // a write is being stored, and later ones wait for it
    await deferred.createEntity(row("2"));
    a.dispatch("suspend");
    a.freeze();
    await second.table("people").createEntity(row("3"));
    a.thaw();
    a.dispatch("resume");
    await flushed;
    await first.flush();
    assert.equal((await second.stats()).rows, 3);
    await first.close();
    await second.close();
  });
});

// ---- At random ----------------------------------------------------------------------------------

const counters = 3;

// The operations of one tab, and their outcomes.
class User {
  readonly tab: Tab;
  readonly name: string;
  readonly acknowledged: string[] = [];
  readonly increments = new Array<number>(counters).fill(0); // increments that were acknowledged
  // increments that were requested and may have succeeded
  readonly tried = new Array<number>(counters).fill(0);
  done: Promise<void> | undefined;

  constructor(tab: Tab, name: string) {
    this.tab = tab;
    this.name = name;
  }

  async work(store: Store, random: Random, writes: number): Promise<void> {
    const table = store.table<{ n: number }>("people");
    for (let i = 0; i < writes; ++i) {
      if (random.below(10) < 4) await this.#insert(store, `${this.name}-${i}`, random);
      else await this.#increment(table, random.below(counters));
    }
  }

  // Inserts keys that are used only once. A conflict would mean that an insert was applied twice.
  async #insert(store: Store, key: string, random: Random): Promise<void> {
    const durability = random.below(2) === 0 ? "strict" : "relaxed";
    const keys = [key, `${key}+`, `${key}++`];
    const insert = (k: string) => store.table("people", { durability }).createEntity(row(k));
    await Promise.all(keys.map(insert));
    this.acknowledged.push(...keys);
  }

  async #increment(table: ReturnType<Store["table"]>, counter: number): Promise<void> {
    const key = `counter-${counter}`;
    for (;;) {
      const entity = (await table.getEntity("p", key)) as unknown as { n: number; etag: string };
      this.tried[counter] = (this.tried[counter] as number) + 1;
      try {
        await table.updateEntity(row(key, entity.n + 1), "Replace", { etag: entity.etag });
        this.increments[counter] = (this.increments[counter] as number) + 1;
        return;
      } catch (error) {
        this.tried[counter] = (this.tried[counter] as number) - 1;
        if ((error as { statusCode?: number }).statusCode !== 412) throw error;
      }
    }
  }
}

test("tabs killed, frozen, suspended and closed at random lose no write", {
  orders: process.env["ENTITABLE_ALL"] ? 100 : 20,
}, async ({ random }) => {
  const origin = new Origin();
  const founder = await open(new Tab(origin));
  await founder.table("people").createTable();
  for (let i = 0; i < counters; ++i) {
    await founder.table("people").createEntity(row(`counter-${i}`));
  }
  await founder.close();
  const users: User[] = [];
  const start = async () => {
    const tab = new Tab(origin);
    const user = new User(tab, `t${users.length}`);
    users.push(user);
    const store = await open(tab);
    user.done = user.work(store, random, 12).then(() => store.close());
  };
  await Promise.all([start(), start(), start(), start()]);
  for (let event = 0; event < 8; ++event) {
    await sleep(random.below(60));
    const alive = users.filter(({ tab }) => !tab.dead && !tab.frozen);
    if (alive.length === 0) continue;
    const { tab } = alive[random.below(alive.length)] as User;
    const what = ["kill", "freeze", "suspend", "start"][random.below(4)];
    if (what === "kill" && alive.length > 1) tab.kill();
    if (what === "freeze") {
      tab.freeze();
      setTimeout(() => tab.thaw(), random.below(400));
    }
    if (what === "suspend") {
      tab.dispatch("suspend");
      setTimeout(() => tab.dispatch("resume"), random.below(200));
    }
    if (what === "start") void start();
  }
  await until(() => users.every(({ tab, done }) => tab.dead || done !== undefined));
  await Promise.all(users.filter(({ tab }) => !tab.dead).map(({ done }) => done));

  const last = await open(new Tab(origin));
  const table = last.table<{ n: number }>("people");
  const there = new Map<string, number>();
  for await (const { rowKey, n } of table.listEntities()) there.set(rowKey as string, n);
  for (const { acknowledged } of users) for (const key of acknowledged) assert(there.has(key), key);
  for (let i = 0; i < counters; ++i) {
    const sum = (of: (user: User) => number[]) =>
      users.reduce((total, user) => total + (of(user)[i] as number), 0);
    const n = there.get(`counter-${i}`) as number;
    assert(n >= sum((user) => user.increments), `lost: ${n}`);
    assert(n <= sum((user) => user.tried), `twice: ${n}`);
  }
  await last.close();
});
