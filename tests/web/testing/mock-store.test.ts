// Tests mock stores: forks, savepoints, fixtures, the clock, and that they otherwise behave like
// other stores.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RestError, TableClient } from "@azure/data-tables";
import { edm } from "../../../web/src/edm/edm.ts";
import type { MockStore } from "../../../web/src/testing/index.ts";
import { mockStore, VirtualClock } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";
import { packageFolder } from "../support/package.ts";

const people = {
  people: [
    { partitionKey: "p", rowKey: "ann", age: 40 },
    { partitionKey: "p", rowKey: "bob", age: edm.int64(7n) },
    { partitionKey: "q", rowKey: "cyd" },
  ],
};

async function keys(store: Store, table = "people"): Promise<string> {
  const found: string[] = [];
  for await (const { partitionKey, rowKey } of store.tableClient(table).listEntities()) {
    found.push(`${partitionKey}/${rowKey}`);
  }
  return found.join(" ");
}

function insert(store: Store, rowKey: string, more: object = {}): Promise<unknown> {
  return store.tableClient("people").createEntity({ partitionKey: "p", rowKey, ...more });
}

describe("fixtures", () => {
  test("are the store's initial data, and what reset() restores", async () => {
    await using store = await mockStore({ fixtures: { ...people, empty: [] } });
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
    assert.equal(await keys(store, "empty"), "");
    const bob = await store.tableClient("people").getEntity<{ age: bigint }>("p", "bob");
    assert.equal(bob.age, 7n);
    await insert(store, "dan");
    await store.serviceClient().deleteTable("empty");
    await store.reset();
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
    assert.equal(await keys(store, "empty"), "");
  });

  test("are added to existing data, or replace it", async () => {
    await using store = await mockStore({ fixtures: people });
    await store.seed({
      people: [{ partitionKey: "p", rowKey: "ann", name: "Ann" }],
      more: [{ partitionKey: "", rowKey: "" }],
    });
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
    assert.equal(await keys(store, "more"), "/");
    const { name, age } = await store.tableClient("people").getEntity("p", "ann");
    assert.deepEqual([name, age], ["Ann", undefined]);
    await store.reset();
    assert.equal((await store.tableClient("people").getEntity("p", "ann"))["age"], 40);
  });

  test("may have any number of entities, in the order of the list", async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => ({
      partitionKey: String(i % 7),
      rowKey: String(i),
    }));
    await using store = await mockStore({ fixtures: { rows } });
    assert.equal((await store.stats()).rows, 3000);
    const client = store.tableClient("rows");
    const [first, last] = [await client.getEntity("0", "0"), await client.getEntity("3", "2999")];
    assert.ok((first.timestamp as string) < (last.timestamp as string));
  });

  test("that are rejected are named in the error", async () => {
    const bad = [
      { partitionKey: "p", rowKey: "fine" },
      { partitionKey: "p", rowKey: "a/b" },
    ];
    const code = "ValidationFailed";
    await assert.rejects(mockStore({ fixtures: { bad } }), {
      code,
      message: /^Fixture bad\[1\]: /,
      hint: /rowKey "a\/b" contains "\/".*escapeKey/,
    });
    await assert.rejects(mockStore({ fixture: people } as object), {
      code,
      message: "mockStore has no option fixture.",
    });
    await assert.rejects(mockStore({ fixtures: { "1": [] } }), { code, message: /^Fixture 1: / });
    await using store = await mockStore({ fixtures: people });
    await assert.rejects(store.seed({ people: bad }), { code, message: /^Fixture people\[1\]: / });
    await store.close();
    await assert.rejects(store.seed(people), { code: "StoreClosed" });
  });
});

describe("a fork", () => {
  test("begins with all of the store's data, and is independent afterwards", async () => {
    await using store = await mockStore({ fixtures: people });
    await using fork = store.fork();
    await insert(fork, "dan");
    await store.tableClient("people").deleteEntity("p", "ann");
    assert.equal(await keys(fork), "p/ann p/bob p/dan q/cyd");
    assert.equal(await keys(store), "p/bob q/cyd");
    await using second = fork.fork();
    await fork.reset();
    assert.equal(await keys(fork), "p/ann p/bob q/cyd");
    assert.equal(await keys(second), "p/ann p/bob p/dan q/cyd");
    await second.reset();
    assert.equal(await keys(second), "p/ann p/bob p/dan q/cyd");
  });

  test("outlives its original store", async () => {
    const store = await mockStore({ fixtures: people });
    await using fork = store.fork();
    await store.close();
    assert.equal(await keys(fork), "p/ann p/bob q/cyd");
    await insert(fork, "dan");
    assert.equal((await fork.verify()).ok, true);
    assert.equal(fork.status.state, "open");
    assert.throws(() => store.fork(), { code: "StoreClosed" });
    assert.throws(() => store.savepoint(), { code: "StoreClosed" });
    await assert.rejects(store.reset(), { code: "StoreClosed" });
  });

  test("has its own clock", async () => {
    await using store = await mockStore({ clock: "2026-03-01T00:00:00Z" });
    store.clock.advance(1000);
    await using fork = store.fork();
    fork.clock.advance(5000);
    store.clock.advance(1);
    assert.equal(store.clock.elapsedMs, 1001);
    assert.equal(fork.clock.elapsedMs, 6000);
    await fork.serviceClient().createTable("people");
    await insert(fork, "a");
    const { timestamp } = await fork.tableClient("people").getEntity("p", "a");
    assert.match(timestamp as string, /^2026-03-01T00:00:06\.0000/);
  });

  test("has the same account, and requires the same signatures", async () => {
    const key = Buffer.from("secret").toString("base64");
    // The built package, because it contains an HMAC implementation.
    const built = await import(new URL("dist/testing/index.js", packageFolder).href);
    const account = { name: "acme", keys: [key], authorize: true };
    const store: MockStore = await built.mockStore({ account });
    await using fork = store.fork();
    await store.close();
    const answer = await fork.fetch("https://acme.table.core.windows.net/Tables");
    assert.equal(answer.status, 403);
    await fork.serviceClient().createTable("people");
  });

  test("is one of a thousand that are alive at once, each with its own data", async () => {
    await using store = await mockStore({ fixtures: people });
    const forks: MockStore[] = [];
    for (let i = 0; i < 1000; ++i) forks.push(store.fork());
    await Promise.all(forks.map((fork, i) => insert(fork, `x${i}`, { [`name${i}`]: i })));
    for (const i of [0, 499, 999]) {
      assert.equal(await keys(forks[i] as MockStore), `p/ann p/bob p/x${i} q/cyd`);
    }
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
    await Promise.all(forks.map((fork) => fork.close()));
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
  });
});

describe("a savepoint", () => {
  test("can be restored any number of times", async () => {
    await using store = await mockStore({ fixtures: people });
    const before = store.savepoint();
    await insert(store, "dan");
    const after = store.savepoint();
    for (let round = 0; round < 3; ++round) {
      store.rollback(before);
      assert.equal(await keys(store), "p/ann p/bob q/cyd");
      await store.serviceClient().deleteTable("people");
      store.rollback(after);
      assert.equal(await keys(store), "p/ann p/bob p/dan q/cyd");
    }
  });

  test("restores clock and seed, so that everything repeats", async () => {
    await using store = await mockStore({ fixtures: people });
    store.clock.advance(500);
    const moment = store.savepoint();
    const run = async () => {
      store.clock.advance(100);
      const { etag } = (await insert(store, "dan")) as { etag: string };
      const answer = await store.fetch("http://127.0.0.1:10002/devstoreaccount1/missing()");
      return { etag, id: answer.headers.get("x-ms-request-id"), text: await answer.text() };
    };
    const first = await run();
    store.rollback(moment);
    assert.equal(store.clock.elapsedMs, 500);
    assert.deepEqual(await run(), first);
    await store.reset();
    assert.equal(store.clock.elapsedMs, 0);
  });

  test("restores the clock's mode", async () => {
    await using store = await mockStore({ fixtures: people, latency: 5 });
    store.clock.autoAdvance = false;
    const standing = store.savepoint();
    await store.reset();
    assert.equal(store.clock.autoAdvance, true);
    await insert(store, "dan"); // would not resolve while the clock stands still
    store.rollback(standing);
    assert.equal(store.clock.autoAdvance, false);
  });

  test("belongs to its store, until it is released", async () => {
    await using store = await mockStore({ fixtures: people });
    await using fork = store.fork();
    const code = "ValidationFailed";
    const moment = store.savepoint();
    assert.throws(() => fork.rollback(moment), { code });
    moment.release();
    moment.release();
    assert.throws(() => store.rollback(moment), { code });
    let scoped: ReturnType<typeof store.savepoint>;
    {
      using inner = store.savepoint();
      scoped = inner;
      store.rollback(inner);
    }
    assert.throws(() => store.rollback(scoped), { code });
    const last = store.savepoint();
    await store.close();
    last.release(); // has no effect after closing
  });

  test("does not wait for writes, and rejects during a write", async () => {
    await using store = await mockStore({ fixtures: people });
    const moment = store.savepoint();
    await insert(store, "dan");
    const waiting = insert(store, "eve");
    store.rollback(moment);
    await waiting;
    assert.equal(await keys(store), "p/ann p/bob p/eve q/cyd");

    const begun = insert(store, "fay");
    let refusals = 0;
    for (let i = 0; i < 20; ++i) {
      await Promise.resolve();
      for (const call of [
        () => store.fork(),
        () => store.savepoint(),
        () => store.rollback(moment),
      ]) {
        try {
          call();
        } catch (error) {
          assert.equal((error as { code?: string }).code, "NotSupported");
          refusals += 1;
        }
      }
    }
    await begun;
    assert.ok(refusals > 0);
  });

  test("a reset waits for earlier calls", async () => {
    await using store = await mockStore({ fixtures: people });
    const before = insert(store, "dan");
    const reset = store.reset();
    const after = insert(store, "eve");
    await Promise.all([before, reset, after]);
    assert.equal(await keys(store), "p/ann p/bob p/eve q/cyd");
  });

  test("contains deferred writes", async () => {
    await using store = await mockStore({ fixtures: people, durability: "deferred" });
    const moment = store.savepoint();
    await insert(store, "dan");
    assert.ok(store.status.pendingBytes > 0);
    await using fork = store.fork();
    assert.equal(fork.status.pendingBytes, 0);
    store.rollback(moment);
    assert.equal(store.status.pendingBytes, 0);
    await insert(store, "eve");
    await store.flush();
    assert.equal(await keys(store), "p/ann p/bob p/eve q/cyd");
    assert.equal(await keys(fork), "p/ann p/bob p/dan q/cyd");
  });

  test("survives restoring a snapshot, after which the store can be forked", async () => {
    await using store = await mockStore({ fixtures: people });
    const file = await store.snapshot();
    await using other = await mockStore({
      fixtures: { towns: [{ partitionKey: "t", rowKey: "u" }] },
    });
    const moment = other.savepoint();
    const restoring = other.restore(file);
    await restoring;
    await using fork = other.fork();
    assert.equal(await keys(fork), "p/ann p/bob q/cyd");
    other.rollback(moment);
    assert.equal(await keys(other, "towns"), "t/u");
    await fork.reset();
    assert.equal(await keys(fork), "p/ann p/bob q/cyd");
    assert.deepEqual(await fork.snapshot(), file);
  });
});

describe("a mock store", () => {
  test("lets timers run, however many requests follow each other", async () => {
    await using store = await mockStore({ fixtures: people });
    let over = false;
    setTimeout(() => {
      over = true;
    }, 1);
    const table = store.tableClient("people");
    for (let i = 0; i < 20_000 && !over; ++i) await table.getEntity("p", "ann");
    assert(over);
  });

  test("answers the official client", async () => {
    await using store = await mockStore({ name: "acme", fixtures: people });
    await using fork = store.fork();
    const client = new TableClient("https://acme.table.core.windows.net", "people", {
      httpClient: fork.httpClient,
    });
    assert.equal((await client.getEntity("p", "ann"))["age"], 40);
    await assert.rejects(client.createEntity({ partitionKey: "p", rowKey: "ann" }), RestError);
    await client.submitTransaction([["delete", { partitionKey: "q", rowKey: "cyd" }]]);
    assert.equal(await keys(fork), "p/ann p/bob");
    assert.equal(await keys(store), "p/ann p/bob q/cyd");
  });

  test("answers the official client that uses the emulator's account", async () => {
    await using store = await mockStore({ fixtures: people });
    const client = TableClient.fromConnectionString("UseDevelopmentStorage=true", "people", {
      httpClient: store.httpClient,
    });
    assert.equal((await client.getEntity("p", "ann"))["age"], 40);
    assert.equal(store.name, "devstoreaccount1");
    // The account's key is known, too.
    await using strict = await mockStore({ fixtures: people, account: { authorize: true } });
    const signed = TableClient.fromConnectionString("UseDevelopmentStorage=true", "people", {
      httpClient: strict.httpClient,
    });
    assert.equal((await signed.getEntity("p", "ann"))["age"], 40);
    const unsigned = await strict.fetch("http://127.0.0.1:10002/devstoreaccount1/people()");
    assert.equal(unsigned.status, 403);
  });

  test("has the time that is set, every time", async () => {
    await using store = await mockStore({ fixtures: people });
    const ann = await store.tableClient("people").getEntity("p", "ann");
    assert.match(ann.timestamp as string, /^2026-01-01T00:00:00\.0000/);
    store.clock.set("2026-02-01T00:00:00Z");
    const { date, etag } = (await insert(store, "dan")) as { date: Date; etag: string };
    assert.equal(date.toISOString(), "2026-02-01T00:00:00.000Z");
    assert.match(etag, /2026-02-01T00%3A00%3A00\.0000/);
    const answer = await store.fetch("http://127.0.0.1:10002/devstoreaccount1/Tables");
    assert.equal(answer.headers.get("date"), "Sun, 01 Feb 2026 00:00:00 GMT");
  });

  test("uses a given clock", async () => {
    await using store = await mockStore({ clock: new VirtualClock(new Date(0)) });
    assert.equal(store.clock.now(), 0);
    await using real = await mockStore({ clock: Date });
    assert.ok(Math.abs(real.clock.now() - Date.now()) < 60_000);
  });

  test("rejects invalid options", async () => {
    const code = "ValidationFailed";
    for (const options of [{ seed: 0.5 }, { clock: "soon" }, { name: "a b" }]) {
      await assert.rejects(mockStore(options), { code });
    }
    const signal = AbortSignal.abort();
    await assert.rejects(mockStore({ signal }), { name: "AbortError" });
  });
});
