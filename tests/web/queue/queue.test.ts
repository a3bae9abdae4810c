// Tests the queue over a store's table and over the official client: with one consumer, with
// several concurrent ones, and with failures.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import { openStore } from "../../../web/src/index.ts";
import { type QueueMessage, type QueueTable, TableQueue } from "../../../web/src/queue/index.ts";
import { type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import { dataTables } from "../support/data-tables.ts";
import { type Random, seededRandom } from "../support/random.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const steps = Number(process.env.ENTITABLE_STEPS ?? 120);

const open = () => mockStore({ name: "acme", fixtures: { work: [] } });
const byte = (value: number) => ({ fill: (bytes: Uint8Array) => void bytes.fill(value) });

const clients: Readonly<Record<string, (store: MockStore) => QueueTable>> = {
  "a store's table": (store) => store.table("work"),
  "the official client": (store) =>
    new official.TableClient("https://acme.table.core.windows.net", "work", {
      httpClient: store.httpClient,
      retryOptions: { maxRetries: 2, retryDelayInMs: 0, maxRetryDelayInMs: 0 },
    }),
  "the client in its place": (store) =>
    new dataTables.TableClient("https://acme.table.core.windows.net", "work", { store }),
};

async function rowKeys(store: MockStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { rowKey = "" } of store.table("work").listEntities()) keys.push(rowKey);
  return keys;
}

for (const [name, clientOf] of Object.entries(clients)) {
  describe(`over ${name}`, () => {
    test("messages come in order, and are hidden for the visibility timeout", async () => {
      await using store = await open();
      const { clock } = store;
      const queue = new TableQueue<{ n: number }>(clientOf(store), {
        clock,
        visibilityTimeoutMs: 1000,
      });
      for (const n of [1, 2, 3]) await queue.put({ n });
      assert.deepEqual(await queue.count(), { visible: 3, hidden: 0 });
      assert.deepEqual(
        (await queue.peek(2)).map(({ body, dequeueCount }) => [body.n, dequeueCount]),
        [
          [1, 0],
          [2, 0],
        ],
      );
      const first = (await queue.get()) as QueueMessage<{ n: number }>;
      assert.deepEqual([first.body, first.dequeueCount], [{ n: 1 }, 1]);
      assert.equal(first.insertedAt.toISOString(), "2026-01-01T00:00:00.000Z");
      assert.equal(first.visibleAt.toISOString(), "2026-01-01T00:00:01.000Z");
      assert.deepEqual(
        (await queue.getMany(5)).map(({ body }) => body.n),
        [2, 3],
      );
      assert.equal(await queue.get(), undefined);
      assert.deepEqual(await queue.count(), { visible: 0, hidden: 3 });
      assert.equal(await queue.delete(first), true);
      assert.equal(await queue.delete(first), false);

      clock.advance(999);
      assert.equal(await queue.get(), undefined);
      clock.advance(1);
      const again = await queue.getMany(5);
      assert.deepEqual(
        again.map(({ body, dequeueCount }) => [body.n, dequeueCount]),
        [
          [2, 2],
          [3, 2],
        ],
      );
      for (const message of again) assert(await queue.delete(message));
      assert.deepEqual(await rowKeys(store), []);
    });

    test("a consumer that lost a message can neither delete nor renew it", async () => {
      await using store = await open();
      const { clock } = store;
      const slow = new TableQueue(clientOf(store), { clock, visibilityTimeoutMs: 1000 });
      const quick = new TableQueue(clientOf(store), { clock, visibilityTimeoutMs: 1000 });
      await slow.put("job");
      const lost = (await slow.get()) as QueueMessage;
      clock.advance(1000);
      const held = (await quick.get()) as QueueMessage;
      assert.equal(held.id, lost.id);
      assert.equal(await slow.delete(lost), false);
      assert.equal(await slow.extend(lost, 5000), undefined);
      assert.equal(await slow.release(lost), false);
      const longer = (await quick.extend(held, 5000)) as QueueMessage;
      assert.equal(longer.visibleAt.toISOString(), "2026-01-01T00:00:06.000Z");
      assert.equal(await quick.delete(held), false, "the receipt is a new one");
      clock.advance(4999);
      assert.equal(await slow.get(), undefined);
      assert.equal(await quick.delete(longer), true);
    });

    test("an abandoned message comes again at once, or after a delay", async () => {
      await using store = await open();
      const { clock } = store;
      const queue = new TableQueue(clientOf(store), { clock });
      await queue.put("later", { delayMs: 10 });
      assert.equal(await queue.get(), undefined);
      clock.advance(10);
      const message = (await queue.get()) as QueueMessage;
      assert(await queue.release(message, { delayMs: 5 }));
      assert.equal(await queue.get(), undefined);
      clock.advance(5);
      const second = (await queue.get()) as QueueMessage;
      assert(await queue.release(second));
      assert.equal((await queue.get())?.dequeueCount, 3);
    });

    test("a handler may modify its message: the stored body does not change", async () => {
      await using store = await open();
      const { clock } = store;
      const queue = new TableQueue<{ todo: string[] }>(clientOf(store), {
        clock,
        maxDequeueCount: 4,
      });
      await queue.put({ todo: ["a", "b"] });
      const spoil = (message: QueueMessage<{ todo: string[] }>) => {
        message.body.todo.length = 0;
        message.insertedAt.setTime(0);
        return message;
      };
      const got = spoil((await queue.get()) as QueueMessage<{ todo: string[] }>);
      const longer = await queue.extend(got, 5000);
      assert.deepEqual(longer?.body, { todo: ["a", "b"] });
      assert.equal(longer?.insertedAt.toISOString(), "2026-01-01T00:00:00.000Z");
      assert(await queue.release(spoil(longer)));
      // A structured clone of a message can be used instead of the message.
      const again = (await queue.get()) as QueueMessage<{ todo: string[] }>;
      assert.deepEqual(again.body, { todo: ["a", "b"] });
      assert(await queue.release(spoil(structuredClone(again))));
      assert.equal(await queue.extend(spoil(structuredClone(again)), 1000), undefined);
      for (let turn = 0; turn < 2; ++turn) {
        const next = (await queue.get()) as QueueMessage<{ todo: string[] }>;
        assert(await queue.release(next));
      }
      assert.equal(await queue.get(), undefined);
      const [dead] = await queue.poison.peek();
      assert(await queue.requeue(spoil(dead as QueueMessage<{ todo: string[] }>)));
      assert.deepEqual((await queue.get())?.body, { todo: ["a", "b"] });
    });

    test("a message dequeued too often moves to the poison queue and back", async () => {
      await using store = await open();
      const { clock } = store;
      const queue = new TableQueue(clientOf(store), {
        clock,
        visibilityTimeoutMs: 10,
        maxDequeueCount: 2,
      });
      await queue.put("bad");
      for (let i = 0; i < 2; ++i) {
        assert.equal((await queue.get())?.dequeueCount, i + 1);
        clock.advance(10);
      }
      await queue.put("good");
      assert.equal((await queue.get())?.body, "good");
      assert.equal(await queue.get(), undefined);
      assert.deepEqual(await queue.poison.count(), { visible: 1, hidden: 0 });
      const [poisoned] = await queue.poison.peek();
      assert.deepEqual([poisoned?.body, poisoned?.dequeueCount], ["bad", 2]);
      assert(await queue.requeue(poisoned as QueueMessage));
      assert.equal(await queue.requeue(poisoned as QueueMessage), false);
      assert.deepEqual(await queue.poison.count(), { visible: 0, hidden: 0 });
      assert.equal((await queue.get())?.dequeueCount, 1);

      clock.advance(10);
      for (let i = 0; i < 6; ++i) {
        await queue.getMany(5);
        clock.advance(10);
      }
      const left = await queue.poison.getMany(5);
      assert.deepEqual(left.map(({ body }) => body).sort(), ["bad", "good"]);
      for (const message of left) assert(await queue.poison.delete(message));
      assert.deepEqual(await rowKeys(store), []);
    });

    test("queues in one table do not see each other, whatever their names", async () => {
      await using store = await open();
      const names = ["a", "a/b", "o'clock", "a!", ""];
      const queues = names.map(
        (name) => new TableQueue(clientOf(store), { name, clock: store.clock }),
      );
      for (const queue of queues) await queue.put(queue.name);
      for (const queue of queues) {
        assert.deepEqual(
          (await queue.getMany(9)).map(({ body }) => body),
          [queue.name],
        );
      }
    });

    test("pages that end early hide no message", async () => {
      await using store = await open();
      const queue = new TableQueue<number>(clientOf(store), { clock: store.clock });
      for (let n = 0; n < 40; ++n) await queue.put(n);
      const got: number[] = [];
      for (let some = await queue.getMany(7); some.length > 0; some = await queue.getMany(7)) {
        got.push(...some.map(({ body }) => body));
      }
      assert.deepEqual(
        got,
        Array.from({ length: 40 }, (_, n) => n),
      );
    });

    test("hidden messages cost a reader nothing", async () => {
      await using store = await open();
      const queue = new TableQueue<number>(clientOf(store), { clock: store.clock });
      for (let n = 0; n < 300; ++n) await queue.put(n, { delayMs: 1000 + n });
      await queue.put(-1);
      store.requests.clear();
      assert.equal((await queue.get())?.body, -1);
      const [query, move, ...more] = store.requests.all();
      assert.deepEqual(
        [query?.operation, query?.rowsRead, move?.operation, more],
        ["query", 1, "batch", []],
      );
    });

    test(`failing consumers lose no message, and share none (seed ${seed})`, async () => {
      await withFaults(clientOf, seededRandom(seed), name === "the official client");
    });
  });
}

// Runs three concurrent consumers over a network and a service that fail at random, and compares
// them with a list of the expected messages.
async function withFaults(
  clientOf: (store: MockStore) => QueueTable,
  random: Random,
  triesAgain: boolean,
): Promise<void> {
  await using store = await mockStore({
    name: "acme",
    seed: 1 + random.below(1e6),
    fixtures: { work: [] },
    latency: [0, 3],
    emptyPages: 0.2,
  });
  const visibilityTimeoutMs = 100;
  const maxDequeueCount = 4;
  const options = { clock: store.clock, visibilityTimeoutMs, maxDequeueCount };
  const consumers = [0, 1, 2].map(
    (i) => new TableQueue<number>(clientOf(store), { ...options, random: byte(i) }),
  );
  const [first] = consumers as [TableQueue<number>];
  const chance = 0.08;
  const faults = [
    store.faults.add({ on: "*", probability: chance, network: "timeout-after-commit", delayMs: 5 }),
    store.faults.add({ on: "*", probability: chance, network: "reset" }),
    store.faults.add({
      on: "*",
      probability: chance,
      respond: { code: "ServerBusy", retryAfter: 0 },
    }),
  ];

  const stored = new Map<number, "yes" | "perhaps">(); // by body
  const gone = new Map<number, "yes" | "perhaps">();
  // The messages that a consumer has, each with the latest time when it was dequeued.
  const holding = new Map<number, QueueMessage<number>>();
  let next = 0;

  const put = async (queue: TableQueue<number>) => {
    const n = next++;
    stored.set(n, "perhaps"); // other consumers may get the message before put() resolves
    await queue.put(n, { delayMs: random.below(2) * random.below(200) }).then(
      () => stored.set(n, "yes"),
      () => {},
    );
  };
  // Returns whether a message may exist twice: it was put, dequeued and moved by a consumer, and
  // then put again by a client whose first response was lost.
  const mayBeDuplicate = ({ id }: QueueMessage<number>) =>
    triesAgain &&
    store.requests
      .matching({ on: "insert", code: "ETIMEDOUT" })
      .some(({ rowKey }) => rowKey?.includes(id));
  const recordDelivery = (message: QueueMessage<number>) => {
    const before = holding.get(message.body);
    assert(stored.has(message.body), "it was put");
    assert(message.dequeueCount <= maxDequeueCount);
    if (mayBeDuplicate(message)) return;
    assert.notEqual(gone.get(message.body), "yes", "it was not deleted");
    if (before !== undefined) {
      const given = message.visibleAt.getTime() - visibilityTimeoutMs;
      assert(given >= before.visibleAt.getTime(), "no other consumer has it");
      assert(message.dequeueCount > before.dequeueCount);
    }
    holding.set(message.body, message);
  };
  const get = async (queue: TableQueue<number>) => {
    const messages = await queue.getMany(1 + random.below(4)).catch(() => []);
    for (const message of messages) recordDelivery(message);
  };
  const remove = async (queue: TableQueue<number>) => {
    const held = [...holding.values()];
    const message = held[random.below(held.length)];
    if (message === undefined) return;
    const n = message.body;
    const deleted = await queue.delete(message).catch(() => undefined);
    if (deleted) gone.set(n, "yes");
    const lostAnswer = { on: "delete", rowKey: message.popReceipt, code: "ETIMEDOUT" } as const;
    if (!deleted && store.requests.matching(lostAnswer).length > 0)
      gone.set(n, gone.get(n) ?? "perhaps");
  };
  const giveBack = async (queue: TableQueue<number>) => {
    const held = [...holding.values()];
    const message = held[random.below(held.length)];
    if (message === undefined) return;
    // From now on any consumer may get the message, even before this call's response arrives. The
    // exception is a call that was rejected before it reached the store.
    const free = { ...message, visibleAt: new Date(0) };
    holding.set(message.body, free);
    const released = await queue.release(message).catch(() => undefined);
    const isStill = holding.get(message.body) === free;
    if (released === false && !triesAgain && isStill) holding.set(message.body, message);
  };

  for (let step = 0; step < steps; ++step) {
    const acts = consumers.map((queue) => {
      const act = [put, put, get, get, get, remove, remove, giveBack][random.below(8)];
      return (act as typeof put)(queue);
    });
    await Promise.all(acts);
    store.clock.advance(random.below(60));
  }

  // After the last failure, every message that was stored and not deleted exists exactly once.
  for (const fault of faults) fault.remove();
  const left: number[] = [];
  for (const queue of [first, first.poison]) {
    for (let round = 0; round < maxDequeueCount + 2; ++round) {
      store.clock.advance(1000);
      for (;;) {
        const messages = await queue.getMany(50);
        if (messages.length === 0) break;
        for (const message of messages) {
          if (!mayBeDuplicate(message)) {
            assert.notEqual(gone.get(message.body), "yes", "it was not deleted");
            assert(!left.includes(message.body), "no message is there twice");
          }
          left.push(message.body);
          assert(await queue.delete(message));
        }
      }
    }
  }
  for (const [n, how] of stored) {
    if (how === "yes" && !gone.has(n)) assert(left.includes(n), `${n} was lost`);
  }
  for (const n of left) assert(stored.has(n));
  assert.deepEqual(await rowKeys(store), []);
  assert(
    faults.every(({ hits }) => hits > 0),
    "all of it happened",
  );
}

describe("a queue", () => {
  test("gives one message to one of three concurrent consumers", async () => {
    await using store = await open();
    const queues = [1, 2, 3].map(() => new TableQueue(store.table("work"), { clock: store.clock }));
    await queues[0]?.put("only");
    const got = await Promise.all(queues.map((queue) => queue.get()));
    assert.equal(got.filter((message) => message !== undefined).length, 1);
    assert.deepEqual(await queues[0]?.count(), { visible: 0, hidden: 1 });
  });

  test("survives a reload while messages are being processed", async () => {
    const path = mkdtempSync(join(tmpdir(), "entitable-queue-"));
    try {
      let now = Date.UTC(2026, 0, 1);
      const clock = { now: () => now };
      const reload = () => openStore({ name: "q", persistence: "file", path, clock });
      const of = (store: Awaited<ReturnType<typeof reload>>) =>
        new TableQueue<string>(store.table("work"), { clock });
      {
        await using store = await reload();
        await store.table("work").createTable();
        await of(store).put("move 456 to the archive");
        assert.equal((await of(store).get())?.dequeueCount, 1);
      }
      {
        await using store = await reload();
        assert.equal(await of(store).get(), undefined);
        now += 30_000;
        const message = (await of(store).get()) as QueueMessage<string>;
        assert.deepEqual([message.body, message.dequeueCount], ["move 456 to the archive", 2]);
        assert(await of(store).delete(message));
      }
      await using store = await reload();
      now += 60_000;
      assert.equal(await of(store).get(), undefined);
    } finally {
      rmSync(path, { recursive: true });
    }
  });

  test("accepts JSON values, up to the size limit of a property", async () => {
    await using store = await open();
    const queue = new TableQueue(store.table("work"), { clock: store.clock });
    const bodies = [null, 0, "", "\u{1f600}", [1, { a: [] }], "x".repeat(32_766)];
    for (const body of bodies) await queue.put(body);
    assert.deepEqual(
      (await queue.getMany(10)).map(({ body }) => body),
      bodies,
    );
    await assert.rejects(queue.put("x".repeat(32_767)), {
      name: "RangeError",
      message: /^A message has at most 32768 characters as JSON, and this one has 32769\. /,
    });
    await assert.rejects(queue.put(undefined), { name: "TypeError" });
  });

  test("stores a message once if a response is lost and the client retries", async () => {
    await using store = await open();
    const table = clients["the official client"]?.(store) as QueueTable;
    const queue = new TableQueue(table, { clock: store.clock });
    const lost = { times: 1, network: "timeout-after-commit", delayMs: 1 } as const;
    store.faults.add({ on: "insert", ...lost });
    await queue.put("once");
    assert.deepEqual(await queue.count(), { visible: 1, hidden: 0 });
    // The message was dequeued but the response was lost. The message is hidden, and becomes
    // visible later.
    store.faults.add({ on: "batch", ...lost });
    assert.equal(await queue.get(), undefined);
    store.clock.advance(30_000);
    const message = (await queue.get()) as QueueMessage;
    assert.equal(message.dequeueCount, 2);
    store.faults.add({ on: "delete", ...lost });
    assert.equal(await queue.delete(message), false);
    assert.deepEqual(await rowKeys(store), []);
  });

  test("uses the platform's clock and randomness by default", async () => {
    await using store = await open();
    const queue = new TableQueue(store.table("work"));
    const before = Date.now();
    const ids = [await queue.put(1), await queue.put(2)].map(({ id }) => id);
    assert.match(ids.join(), /^000000-[\da-f]{16},000001-[\da-f]{16}$/);
    assert.notEqual(ids[0]?.slice(7), ids[1]?.slice(7));
    const { insertedAt } = (await queue.get()) as QueueMessage;
    assert(insertedAt.getTime() >= before && insertedAt.getTime() <= Date.now());
  });

  test("rejects invalid options, and passes errors on", async () => {
    await using store = await open();
    const table = store.table("work");
    for (const visibilityTimeoutMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => new TableQueue(table, { visibilityTimeoutMs }), {
        message: `visibilityTimeoutMs must be 0 or more milliseconds, not ${visibilityTimeoutMs}.`,
      });
    }
    assert.throws(() => new TableQueue(table, { maxDequeueCount: 0 }), RangeError);
    const queue = new TableQueue(table);
    await assert.rejects(queue.put(1, { delayMs: -1 }), RangeError);
    await assert.rejects(queue.get({ visibilityTimeoutMs: -1 }), RangeError);
    await table.deleteTable();
    for (const call of [queue.get(), queue.put(1), queue.delete({ popReceipt: "x" })]) {
      await assert.rejects(call, { statusCode: 404, code: "TableNotFound" });
    }
  });
});
