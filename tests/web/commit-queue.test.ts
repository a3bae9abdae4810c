// Tests the commit queue with a fake engine that checks the order of calls, and a storage that
// fails on demand.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../web/src/errors.ts";
import { CommitQueue } from "../../web/src/host/commit-queue.ts";
import type { LogSize } from "../../web/src/host/log-growth.ts";
import { PartLoader } from "../../web/src/host/part-loader.ts";
import { SpaceReserve } from "../../web/src/host/space-reserve.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import type { StorageReserve } from "../../web/src/storage/storage-reserve.ts";
import type { Durability } from "../../web/src/types.ts";
import { DeferredModuleNeeded, PartsNeeded } from "../../web/src/wasm/engine.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { decode, encode, FakeEngine, unwrapFromCall } from "./support/fake-engine.ts";
import { seededRandom } from "./support/random.ts";
import { loadAll } from "./support/storage-contract.ts";
import { until } from "./support/until.ts";

interface Reply {
  ok?: unknown;
  error?: string;
}

interface PersistError {
  message: string;
  retryInMs: number | undefined;
}

class Bench {
  readonly files = new Map<string, Uint8Array>();
  readonly engine = new FakeEngine();
  readonly storage = new ControlledStorage(new MemoryStorage(this.files));
  readonly persistErrors: PersistError[] = [];
  hidden = false;
  readonly memory = { isFull: false, addWritten() {} };
  waitedForMemory = 0;
  stored: LogSize[] = [];
  readonly queue: CommitQueue;

  constructor(
    options: {
      durability?: Durability;
      deferredDelayMs?: number;
      memoryLimit?: number;
      reserve?: StorageReserve;
      onDeferredModuleFailed?: (error: Error) => Promise<Error>;
    } = {},
  ) {
    this.queue = new CommitQueue({
      engine: this.engine,
      storage: this.storage,
      space: new SpaceReserve({ reserve: options.reserve, size: () => ({ rows: 0, log: 0 }) }),
      parts: new PartLoader({
        engine: this.engine,
        storage: this.storage,
        memoryLimit: options.memoryLimit ?? 0,
        onDamage() {},
      }),
      memory: this.memory,
      onWaitingForMemory: () => {
        this.waitedForMemory += 1;
      },
      durability: options.durability ?? "strict",
      client: new Uint8Array(16),
      onDeferredModuleFailed: options.onDeferredModuleFailed,
      deferredDelayMs: options.deferredDelayMs ?? 5,
      now: () => 0,
      hidden: () => this.hidden,
      onStored: (size) => {
        this.stored.push(size);
      },
      onPersistError: (error, retryInMs) => {
        this.persistErrors.push({ message: error.message, retryInMs });
      },
    });
  }

  // Writes, and resolves to the decoded response.
  async write(request: object, durability?: Durability, signal?: AbortSignal): Promise<Reply> {
    const reply = this.queue.write(encode(request), durability, signal);
    return decode(reply instanceof Promise ? await reply : reply) as Reply;
  }
  insert(key: string, durability?: Durability): Promise<Reply> {
    return this.write({ insert: key, value: key }, durability);
  }
  put(key: string, value: unknown, durability?: Durability): Promise<Reply> {
    return this.write({ put: key, value }, durability);
  }

  // Returns what an engine would hold after opening the stored files.
  async onDisk(): Promise<Record<string, unknown>> {
    const { segments } = await loadAll(new MemoryStorage(this.files));
    const reader = new FakeEngine();
    for (const [sequence, bytes] of segments)
      reader.replaySegment(sequence, Uint8Array.from(bytes ?? []));
    assert.deepEqual(reader.damage(), []);
    return Object.fromEntries(reader.rows);
  }
  inMemory(): Record<string, unknown> {
    return Object.fromEntries(this.engine.rows);
  }
}

// Replaces the timers and the clocks.
function simulatedClock(t: TestContext): { tick(ms: number): Promise<void> } {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  t.mock.method(performance, "now", () => Date.now());
  return {
    async tick(ms) {
      t.mock.timers.tick(ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol();
  return (await Promise.race([promise.catch(() => {}), sleep(1, waiting)])) === waiting;
}

describe("strict and relaxed writes", () => {
  test("are acknowledged after they are stored, with the requested durability", async () => {
    for (const durability of ["strict", "relaxed"] as const) {
      const bench = new Bench();
      bench.storage.auto = false;
      const write = bench.insert("a", durability);
      const call = await bench.storage.next();
      assert.equal(call.durability, durability);
      assert(await isPending(write));
      assert.deepEqual(bench.inMemory(), {}, "readers see the published version only");
      await call.succeed();
      assert.deepEqual(await write, { ok: "a" });
      assert.deepEqual(bench.inMemory(), { a: "a" });
      assert.deepEqual(await bench.onDisk(), { a: "a" });
    }
  });

  test("of one turn share a segment; those made meanwhile share the next one", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const first = Promise.all(["a", "b", "c"].map((key) => bench.insert(key)));
    const segment = await bench.storage.next();
    const second = [bench.insert("d"), bench.insert("e", "relaxed")];
    assert(await isPending(second[0] as Promise<unknown>));
    assert.equal(bench.storage.waiting, 0, "one store at a time");
    await segment.succeed();
    await first;
    const next = await bench.storage.next();
    assert.equal(next.sequence, 2);
    assert.equal(next.durability, "strict", "the strictest of the group");
    await next.succeed();
    await Promise.all(second);
    assert.deepEqual(bench.engine.stageCalls, [3, 2]);
  });

  test("of one group take as many segments as suit the storage, stored together", async () => {
    const bench = new Bench();
    bench.storage.segmentBytes = 200;
    bench.storage.auto = false;
    const keys = Array.from({ length: 20 }, (_, i) => `key${i}`);
    const group = Promise.all(keys.map((key) => bench.insert(key)));
    const call = await bench.storage.next();
    const count = call.segments as number;
    assert(count > 2 && count < keys.length, `${count} segments`);
    const rejected = assert.rejects(group, { code: "QuotaExceeded" });
    await call.fail("quota");
    await rejected;
    assert.deepEqual(await bench.onDisk(), {});
    const again = Promise.all(keys.map((key) => bench.insert(key)));
    const next = await bench.storage.next();
    assert.deepEqual([next.sequence, next.segments], [1, count]);
    await next.succeed();
    await again;
    const last = bench.insert("last");
    const behind = await bench.storage.next();
    assert.deepEqual([behind.sequence, behind.segments], [count + 1, 1]);
    await behind.succeed();
    await last;
    assert.equal(Object.keys(await bench.onDisk()).length, keys.length + 1);
    assert.deepEqual(
      bench.stored.map(({ segments }) => segments),
      [count, 1],
    );
  });

  test("see earlier writes of the same group", async () => {
    const bench = new Bench();
    const results = await Promise.all([bench.insert("a"), bench.insert("a"), bench.insert("b")]);
    assert.deepEqual(results, [{ ok: "a" }, { error: "exists" }, { ok: "b" }]);
  });

  test("that all fail store nothing", async () => {
    const bench = new Bench();
    await bench.insert("a");
    assert.deepEqual(await bench.insert("a"), { error: "exists" });
    assert.equal(bench.storage.calls.length, 1);
  });

  test("a large queue is cut into groups of 4 MiB", async () => {
    const bench = new Bench();
    const value = "x".repeat(1_500_000);
    await Promise.all(["a", "b", "c", "d", "e"].map((key) => bench.put(key, value)));
    assert.deepEqual(bench.engine.stageCalls, [2, 2, 1]);
    const huge = "y".repeat(5_000_000);
    await bench.put("f", huge); // a single write is never too large
    assert.equal(bench.stored.length, 4);
  });
});

describe("a full store with a reserve", () => {
  // A storage that is full until the reserve was given up.
  function fullBench(): { bench: Bench; entries: () => number } {
    let entries = 2;
    const reserve = {
      size: async () => entries,
      async resize(wanted: number) {
        if (wanted < entries) {
          entries = wanted;
          bench.storage.failing = undefined;
        }
        return entries;
      },
    };
    const bench = new Bench({ reserve });
    return { bench, entries: () => entries };
  }
  const remove = (bench: Bench, key: string, durability?: Durability) =>
    bench.write({ put: key, value: null }, durability);

  test("stores deletes, also if other writes of their group are rejected", async () => {
    const { bench, entries } = fullBench();
    await Promise.all([bench.insert("a"), bench.insert("b")]);
    bench.storage.failing = "quota";
    const deleting = [remove(bench, "a"), remove(bench, "b")];
    await assert.rejects(bench.insert("c"), { code: "QuotaExceeded" });
    assert.deepEqual(await Promise.all(deleting), [{ ok: null }, { ok: null }]);
    assert.deepEqual(await bench.onDisk(), { a: null, b: null });
    assert.equal(entries(), 1);
  });

  test("rejects other writes without using the reserve", async () => {
    const { bench, entries } = fullBench();
    bench.storage.failing = "quota";
    await assert.rejects(bench.insert("a"), { code: "QuotaExceeded" });
    await assert.rejects(bench.insert("a"), { code: "QuotaExceeded" });
    assert.equal(entries(), 2);
  });

  test("stores deferred writes when a delete follows them", async () => {
    const { bench, entries } = fullBench();
    bench.storage.failing = "quota";
    await bench.insert("a", "deferred");
    await assert.rejects(bench.queue.flush(), { code: "QuotaExceeded" });
    assert.equal(entries(), 2);
    await remove(bench, "a", "deferred");
    await bench.queue.flush();
    assert.deepEqual([await bench.onDisk(), entries()], [{ a: null }, 1]);
  });

  test("stores a deferred delete when small deferred writes follow it, and no large ones", async () => {
    for (const [bytes, isStored] of [
      [100_000, true],
      [300_000, false],
    ] as const) {
      const { bench, entries } = fullBench();
      bench.storage.failing = "quota";
      await remove(bench, "a", "deferred");
      await bench.put("b", "x".repeat(bytes), "deferred");
      const flush = await bench.queue.flush().catch(({ code }) => code);
      assert.deepEqual([flush, entries()], isStored ? [undefined, 1] : ["QuotaExceeded", 2]);
      // What is stored gives later writes no right to the reserve.
      bench.storage.failing = "quota";
      if (isStored) await assert.rejects(bench.insert("c"), { code: "QuotaExceeded" });
      bench.queue.stop(new Error("The test ends."));
    }
  });

  // Makes deferred writes until the bound on pending bytes is reached.
  async function fillPending(bench: Bench): Promise<void> {
    bench.storage.failing = "quota";
    const value = "x".repeat(1024 * 1024);
    for (let i = 0; i < 8; ++i) await bench.put(`pending${i}`, value, "deferred");
    await until(() => bench.persistErrors.length > 0);
  }
  const tooManyPending = { code: "QuotaExceeded", message: /^Too many writes are waiting/ };

  test("stores deferred deletes though too many writes are pending", async () => {
    const { bench, entries } = fullBench();
    await fillPending(bench);
    await assert.rejects(bench.put("a", 1, "deferred"), tooManyPending);
    assert.equal(entries(), 2);
    assert.deepEqual(await remove(bench, "pending0", "deferred"), { ok: null });
    assert.equal(entries(), 1);
    assert.equal((await bench.onDisk()).pending0, null);
  });

  test("stores the deletes of a group of deferred writes while too many are pending", async () => {
    const { bench } = fullBench();
    await fillPending(bench);
    const writing = [
      remove(bench, "pending0", "deferred"),
      bench.put("a", 1, "deferred"),
      remove(bench, "pending1", "deferred"),
    ];
    await assert.rejects(writing[1] as Promise<unknown>, tooManyPending);
    assert.deepEqual(await Promise.all([writing[0], writing[2]]), [{ ok: null }, { ok: null }]);
    assert.equal((await bench.onDisk()).a, undefined);
  });

  test("rejects deferred deletes if the reserve does not suffice for the pending writes", async () => {
    const { bench, entries } = fullBench();
    const refuseAll = bench.storage.addSegments.bind(bench.storage);
    await fillPending(bench);
    bench.storage.addSegments = async (...segments) => {
      bench.storage.failing = "quota";
      await refuseAll(...segments);
    };
    await assert.rejects(remove(bench, "pending0", "deferred"), { code: "QuotaExceeded" });
    assert.equal(entries(), 1, "one is left for the manifest of a checkpoint");
    bench.queue.stop(new Error("The test ends."));
  });

  for (const pending of ["few", "too many"] as const) {
    for (const order of ["before", "after"] as const) {
      test(`a deferred write ${order} a strict delete, ${pending} pending`, async () => {
        const { bench } = fullBench();
        if (pending === "too many") await fillPending(bench);
        bench.storage.failing = "quota";
        const put = () => bench.put("a", 1, "deferred");
        const early = order === "before" ? put() : undefined;
        const deleting = remove(bench, "b", "strict");
        const writing = early ?? put();
        if (pending === "too many") await assert.rejects(writing, tooManyPending);
        else assert.deepEqual(await writing, { ok: 1 });
        assert.deepEqual(await deleting, { ok: null });
        bench.queue.stop(new Error("The test ends."));
      });
    }
  }

  test("settles a write with unknown outcome, so that deletes can be stored", async () => {
    const { bench, entries } = fullBench();
    bench.storage.failing = "unknown";
    await assert.rejects(bench.insert("a"), { uncertain: true });
    bench.storage.failing = "quota";
    await until(() => entries() === 1);
    assert.deepEqual(await remove(bench, "a"), { ok: null });
    assert.deepEqual(await bench.onDisk(), { a: null });
  });
});

describe("a store that fails", () => {
  test("a failed strict write and a deferred one behind it do not keep each other waiting", async () => {
    const bench = new Bench();
    await bench.insert("there");
    bench.storage.failing = "aborted";
    const failed = bench.insert("there", "strict");
    const deferred = bench.put("a", 1, "deferred");
    assert.deepEqual(await failed, { error: "exists" });
    assert.deepEqual(await deferred, { ok: 1 });
    bench.queue.stop(new Error("The test ends."));
  });

  for (const failure of ["quota", "aborted"] as const) {
    test(`${failure}: staged writes are rejected, later writes succeed`, async () => {
      const bench = new Bench();
      await bench.insert("before");
      bench.storage.failing = failure;
      const code = failure === "quota" ? "QuotaExceeded" : "ConnectionLost";
      await assert.rejects(bench.insert("a"), { name: "StoreError", code });
      assert.deepEqual(bench.inMemory(), { before: "before" });
      assert.deepEqual(await bench.onDisk(), { before: "before" });
      bench.storage.failing = undefined;
      assert.deepEqual(await bench.insert("a"), { ok: "a" });
      assert.deepEqual(await bench.onDisk(), bench.inMemory());
      assert.equal(bench.queue.fatalError, undefined);
    });
  }

  test("a write that failed because of a discarded write is staged again", async () => {
    const bench = new Bench();
    await bench.insert("there");
    bench.storage.auto = false;
    const lost = bench.insert("a");
    const rested = bench.insert("a"); // fails with 409 only because of the write before it
    const real = bench.insert("there"); // fails with 409 even if the store succeeds
    lost.catch(() => {});
    await (await bench.storage.next()).fail("quota");
    await assert.rejects(lost, { code: "QuotaExceeded" });
    await (await bench.storage.next()).succeed();
    assert.deepEqual(await rested, { ok: "a" });
    assert.deepEqual(await real, { error: "exists" });
    assert.deepEqual(await bench.onDisk(), { there: "there", a: "a" });
  });

  test("a deferred write in the group does not fail with it", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const strict = bench.insert("s");
    const deferred = bench.insert("d", "deferred");
    strict.catch(() => {});
    await (await bench.storage.next()).fail("quota");
    await assert.rejects(strict, { code: "QuotaExceeded" });
    assert.deepEqual(await deferred, { ok: "d" });
    assert.deepEqual(bench.inMemory(), { d: "d" });
    await (await bench.storage.next()).succeed();
    assert.deepEqual(await bench.onDisk(), { d: "d" });
  });

  for (const durability of ["strict", "deferred"] as const) {
    test(`a ${durability} write of the turn in which a group fails follows the group`, async () => {
      const bench = new Bench();
      bench.storage.auto = false;
      const strict = bench.insert("s");
      const deferred = bench.put("x", "before", "deferred");
      strict.catch(() => {});
      const segment = await bench.storage.next();
      let after: Promise<unknown> | undefined;
      const failed = segment.fail("quota");
      queueMicrotask(() => {
        after = bench.put("x", "after", durability);
      });
      await failed;
      bench.storage.auto = true;
      while (bench.storage.waiting > 0) await (await bench.storage.next()).succeed();
      await Promise.all([deferred, after]);
      assert.deepEqual(bench.inMemory(), { x: "after" });
    });
  }

  test("a write made in the turn in which a segment is stored is counted once", async () => {
    for (let turns = 0; turns < 16; ++turns) {
      const bench = new Bench();
      bench.hidden = true; // so that deferred writes are stored immediately
      bench.storage.auto = false;
      await bench.put("a", 1, "deferred");
      const segment = await bench.storage.next();
      bench.storage.auto = true;
      const stored = segment.succeed();
      for (let i = 0; i < turns; ++i) await Promise.resolve();
      await bench.put("b", 2, "deferred");
      await stored;
      await bench.queue.flush();
      await bench.insert("c");
      assert.equal(bench.queue.pendingBytes, 0, `after ${turns}`);
      assert.deepEqual(await bench.onDisk(), { a: 1, b: 2, c: "c" });
    }
  });

  for (const failure of ["fenced", "gone", "closed"] as const) {
    test(`${failure} is final: queued and later writes are rejected, reads succeed`, async () => {
      const bench = new Bench();
      await bench.insert("before");
      bench.storage.auto = false;
      const inGroup = [bench.insert("a"), bench.insert("before")];
      const call = await bench.storage.next();
      const waiting = [bench.insert("b"), bench.insert("c", "deferred"), bench.queue.flush()];
      const all = [...inGroup, ...waiting].map((p) => p.catch((error) => error.failure));
      await call.fail(failure);
      assert.deepEqual(await Promise.all(all), Array(5).fill(failure));
      await assert.rejects(bench.insert("later"), { failure });
      assert.deepEqual(bench.inMemory(), { before: "before" });
      assert.equal(bench.persistErrors.at(-1)?.retryInMs, undefined);
    });
  }

  for (const arrived of [true, false]) {
    test(`unknown: a segment that ${arrived ? "" : "not "}arrived is offered until stored`, async () => {
      const bench = new Bench();
      bench.storage.auto = false;
      const write = bench.insert("a");
      const sibling = bench.insert("a"); // depends on the first write
      const first = await bench.storage.next();
      const both = [write, sibling].map((p) => p.catch((error) => error.failure));
      await (arrived ? first.storeAndFail("unknown") : first.fail("unknown"));
      assert.deepEqual(await Promise.all(both), ["unknown", "unknown"]);
      assert.equal(bench.persistErrors.at(-1)?.retryInMs, 1000);

      // The segment is still unsettled. The next write is rejected rather than delayed.
      const rejected = bench.insert("b");
      rejected.catch(() => {});
      const second = await bench.storage.next();
      assert.equal(second.sequence, first.sequence);
      await second.fail("unknown");
      await assert.rejects(rejected, { failure: "aborted" });
      assert.deepEqual(bench.inMemory(), {});

      // A retry that fails for lack of space does not show whether the first attempt was stored.
      const again = bench.insert("b");
      again.catch(() => {});
      const third = await bench.storage.next();
      assert.equal(third.sequence, first.sequence);
      await third.fail("quota");
      await assert.rejects(again, { failure: "aborted" });

      const accepted = bench.insert("c");
      const fourth = await bench.storage.next();
      assert.equal(fourth.sequence, first.sequence);
      await fourth.succeed();
      const last = await bench.storage.next();
      assert.equal(last.sequence, 2);
      await last.succeed();
      assert.deepEqual(await accepted, { ok: "c" });
      assert.deepEqual(bench.inMemory(), { a: "a", c: "c" });
      assert.deepEqual(await bench.onDisk(), bench.inMemory());
    });
  }

  test("unknown: deferred writes are still accepted, are kept, and are stored once", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    await (await bench.storage.next()).storeAndFail("unknown");
    await bench.insert("b", "deferred");
    const flush = bench.queue.flush();
    const again = await bench.storage.next();
    assert.equal(again.sequence, 1);
    await again.succeed();
    await (await bench.storage.next()).succeed();
    await flush;
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b" });
    assert.equal(bench.queue.pendingBytes, 0);
  });

  test("unknown: the segment is offered again without a further write", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    await (await bench.storage.next()).fail("unknown");
    bench.storage.auto = true;
    await until(() => bench.stored.length === 1);
    assert.deepEqual(await bench.onDisk(), { a: "a" });
  });

  test("exhausted memory rejects only the write that needs more", async () => {
    const bench = new Bench();
    const results = await Promise.allSettled([
      bench.insert("a"),
      bench.write({ fail: "OutOfMemory" }),
      bench.insert("b"),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.equal((results[1] as PromiseRejectedResult).reason.code, "OutOfMemory");
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b" });
  });

  test("a broken engine accepts no more writes", async () => {
    const bench = new Bench();
    await assert.rejects(bench.write({ fail: "trap" }), { message: "trap" });
    await assert.rejects(bench.insert("a"), { message: "trap" });
    assert.equal(bench.queue.fatalError?.message, "trap");
  });
});

describe("deferred writes", () => {
  test("are applied within the call if nothing is queued, otherwise in their order", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const now = bench.queue.write(encode({ insert: "a", value: 1 }), "deferred");
    assert.ok(now instanceof Uint8Array);
    assert.deepEqual(decode(now), { ok: 1 });
    assert.deepEqual(bench.inMemory(), { a: 1 });
    const strict = bench.insert("b");
    const waits = bench.queue.write(encode({ insert: "c", value: 2 }), "deferred");
    assert.ok(waits instanceof Promise);
    assert.deepEqual(bench.inMemory(), { a: 1 }, "not before the strict one");
    await (await bench.storage.next()).succeed();
    await strict;
    assert.deepEqual(decode(await waits), { ok: 2 });
  });

  test("are kept with their call numbers until they are stored", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    const requests = Array.from({ length: 5 }, (_, i) => encode({ put: `k${i}`, value: i }));
    const write = (i: number) => {
      const request = Uint8Array.from(requests[i] as Uint8Array);
      const reply = bench.queue.write(request, "deferred", undefined, 10 + i);
      request.fill(0); // callers reuse the memory after the call
      return reply;
    };
    write(0);
    const strict = bench.insert("s");
    const waiting = [write(1), write(2)];
    await Promise.all([strict, ...waiting]);
    write(3);
    write(4);
    const callNumbers = () => bench.queue.unstoredWrites.map(({ callNumber }) => callNumber);
    assert.deepEqual(callNumbers(), [13, 14], "the others were stored with the strict one");
    for (const { request, callNumber } of bench.queue.unstoredWrites) {
      assert.deepEqual(unwrapFromCall(request), requests[callNumber - 10]);
    }
    await bench.queue.flush();
    assert.deepEqual(callNumbers(), []);
    assert.deepEqual(await bench.onDisk(), bench.inMemory());
  });

  test("of this tab: each tells after which commit it was applied", async (t) => {
    const { tick } = simulatedClock(t);
    const bench = new Bench();
    const unstored = () =>
      bench.queue.unstoredWrites.map(({ callNumber, appliedAfter }) => [callNumber, appliedAfter]);
    const write = (callNumber: number) =>
      bench.queue.write(encode({ put: `k${callNumber}` }), "deferred", undefined, callNumber);
    write(1);
    await bench.queue.flush();
    write(2); // commit 2
    bench.storage.auto = false;
    await tick(5);
    const storing = await bench.storage.next();
    write(3);
    assert.deepEqual(unstored(), [
      [2, 1],
      [3, 1],
    ]);
    await storing.succeed();
    assert.deepEqual(unstored(), [[3, 2]]);
    bench.queue.stop(new Error("the test is over"));
  });

  test("of this tab: each is a call, whether it is applied at once or waits", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    const write = (callNumber: number) =>
      bench.queue.write(encode({ put: `k${callNumber}` }), "deferred", undefined, callNumber);
    for (const number of [1, 2]) write(number);
    const strict = bench.insert("s"); // not of this tab, so it has no number
    await Promise.all([strict, write(3), write(4)]);
    write(5);
    assert.deepEqual(bench.engine.callNumbers, [1, 2, 3, 4, 5]);
    const { numbers } = await bench.queue.knownCalls(new Uint8Array(16));
    assert.deepEqual(numbers, [1, 2, 3, 4, 5]);
    bench.queue.stop(new Error("the test is over"));
  });

  test("that are repeated are applied together, in the order of the calls", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    bench.storage.auto = false;
    const strict = bench.put("k", "strict");
    const repeated = bench.queue.repeatWrites([
      encode({ put: "k", value: "repeated" }),
      encode({ insert: "k", value: "fails" }),
      encode({ insert: "l", value: 1 }),
    ]);
    const later = bench.put("l", 2, "deferred");
    await (await bench.storage.next()).succeed();
    await strict;
    const { responses, failed } = await repeated;
    assert.deepEqual(failed, [false, true, false]);
    assert.equal(responses.length, 3);
    await later;
    assert.deepEqual(bench.inMemory(), { k: "repeated", l: 2 });
    assert(bench.queue.pendingBytes > 0);
    const { accepted, stored } = bench.queue.deferredPositions;
    assert.deepEqual([accepted, stored], [2, 0]);
    const flushed = bench.queue.flush();
    await (await bench.storage.next()).succeed();
    await flushed;
    assert.equal(bench.queue.deferredPositions.stored, 2);
    assert.deepEqual(await bench.onDisk(), bench.inMemory());
  });

  test("are staged when memory is full, though their parts are found one after the other", async () => {
    const bench = new Bench({ memoryLimit: 1 });
    const loaded = new Set<number>();
    let stagings = 0;
    const write = bench.engine.stage.bind(bench.engine);
    Object.assign(bench.engine, {
      memoryBytes: 2,
      loadPart: (id: number) => loaded.add(id),
      trimMemory: () => loaded.clear(),
      stage(requests: Uint8Array[], nowMs: number) {
        if (++stagings > 100) throw new Error("staged again and again");
        const needed = [1, 2, 3].find((id) => !loaded.has(id));
        return needed === undefined ? write(requests, nowMs) : new PartsNeeded([needed]);
      },
    });
    await Promise.all([bench.put("a", 1, "relaxed"), bench.put("b", 2, "relaxed")]);
    await bench.put("c", 3, "relaxed");
    assert.deepEqual(await bench.onDisk(), { a: 1, b: 2, c: 3 });
    assert.equal(stagings, 8); // each group once, and once after each part
  });

  test("are staged although the write before them has unloaded the part that both need", async () => {
    const bench = new Bench({ memoryLimit: 1 });
    let isLoaded = false;
    const write = bench.engine.stageAndPublish.bind(bench.engine);
    Object.assign(bench.engine, {
      loadPart: () => (isLoaded = true),
      stageAndPublishOne: () => new PartsNeeded([1]),
      stageAndPublish(requests: Uint8Array[], nowMs: number) {
        if (!isLoaded) return new PartsNeeded([1]);
        isLoaded = false;
        return write(requests, nowMs);
      },
    });
    const large = "x".repeat(3_000_000);
    const writes = ["a", "b", "c"].map((key) => bench.put(key, large, "deferred"));
    for (const { error } of await Promise.all(writes)) assert.equal(error, undefined);
    assert.deepEqual(Object.keys(bench.inMemory()), ["a", "b", "c"]);
  });

  test("that are repeated are applied in smaller groups if they need many parts", async () => {
    const bench = new Bench();
    const groups: number[] = [];
    const needed = new PartsNeeded(Array.from({ length: 65 }, (_, i) => i));
    const write = bench.engine.stageAndPublish.bind(bench.engine);
    bench.engine.stageAndPublish = (requests, nowMs) => {
      groups.push(requests.length);
      return requests.length > 3 ? needed : write(requests, nowMs);
    };
    const requests = Array.from({ length: 10 }, (_, i) => encode({ put: `k${i}`, value: i }));
    const { responses } = await bench.queue.repeatWrites(requests);
    assert.equal(responses.length, 3);
    assert.deepEqual(groups, [10, 5, 3]);
  });

  test("that are repeated are rejected as a whole, or cancelled while they wait", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const strict = bench.insert("s");
    const abort = new AbortController();
    const requests = [encode({ put: "a" }), encode({ fail: "OutOfMemory" })];
    const cancelled = bench.queue.repeatWrites(requests, abort.signal);
    const rejected = assert.rejects(bench.queue.repeatWrites(requests), { code: "OutOfMemory" });
    abort.abort();
    await assert.rejects(cancelled, { name: "AbortError" });
    await (await bench.storage.next()).succeed();
    await strict;
    await rejected;
    assert.deepEqual(bench.inMemory(), { s: "s" });
  });

  test("that are repeated are rejected if the deferred module cannot be loaded", async () => {
    const bench = new Bench();
    const error = new StoreError("WasmLoadFailed", "not found");
    let loads = 0;
    const load = () => {
      loads += 1;
      return Promise.reject(error);
    };
    bench.engine.stageAndPublish = () => new DeferredModuleNeeded(load, () => true);
    await assert.rejects(bench.queue.repeatWrites([encode({ put: "a" })]), error);
    assert.equal(loads, 1);
  });

  test("do not wait for the timer of a failure once storing succeeds", async (t) => {
    const { tick } = simulatedClock(t);
    const bench = new Bench({ deferredDelayMs: 20 });
    bench.storage.failing = "quota";
    await bench.put("a", 1, "deferred");
    await tick(20);
    await tick(1000); // the second failure: the next attempt would be after 2 s
    assert.equal(bench.persistErrors.at(-1)?.retryInMs, 2000);
    bench.storage.failing = undefined;
    await bench.insert("s");
    await bench.put("b", 2, "deferred");
    await tick(20);
    assert.deepEqual(await bench.onDisk(), { a: 1, s: "s", b: 2 });
  });

  test("of another tab: their positions tell which are stored", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    bench.storage.auto = false;
    const positions: number[] = [];
    const write = (request: object) =>
      bench.queue.write(encode(request), "deferred", undefined, (position) => {
        positions.push(position);
      });
    write({ insert: "a" });
    write({ insert: "a" }); // fails, so there is nothing to store
    bench.queue.storePendingNow();
    write({ insert: "b" });
    assert.deepEqual(positions, [1, 2]);
    assert.deepEqual(bench.queue.deferredPositions, { accepted: 2, stored: 0 });
    await (await bench.storage.next()).succeed();
    assert.deepEqual(bench.queue.deferredPositions, { accepted: 2, stored: 1 });
    const strict = bench.insert("s");
    const waiting = write({ insert: "c" }); // stored before it is acknowledged
    await (await bench.storage.next()).succeed();
    await Promise.all([strict, waiting]);
    assert.deepEqual(positions, [1, 2]);
    assert.deepEqual(bench.queue.deferredPositions, { accepted: 2, stored: 2 });
  });

  test("are acknowledged after publishing and stored within the delay", async () => {
    const bench = new Bench({ durability: "deferred" });
    assert.deepEqual(await bench.insert("a"), { ok: "a" });
    assert.deepEqual(bench.inMemory(), { a: "a" });
    assert.equal(bench.storage.calls.length, 0);
    assert(bench.queue.pendingBytes > 0);
    await until(() => bench.stored.length === 1);
    assert.equal(bench.storage.calls[0]?.durability, "relaxed");
    assert.equal(bench.queue.pendingBytes, 0);
    assert.deepEqual(await bench.onDisk(), { a: "a" });
  });

  test("are stored at once while the page is hidden", async () => {
    const bench = new Bench({ deferredDelayMs: 3_600_000 });
    bench.hidden = true;
    await bench.insert("a", "deferred");
    await until(() => bench.stored.length === 1);
  });

  test("are stored at once when they reach a megabyte, also while others are being stored", {
    timeout: 10_000,
  }, async () => {
    const bench = new Bench({ deferredDelayMs: 3_600_000 });
    bench.storage.auto = false;
    const value = "x".repeat(600_000);
    await bench.put("a", value, "deferred");
    await bench.put("b", value, "deferred");
    const first = await bench.storage.next();
    for (const key of ["c", "d"]) await bench.put(key, value, "deferred");
    await first.succeed();
    await (await bench.storage.next()).succeed();
    assert.equal(bench.queue.pendingBytes, 0);
    bench.queue.stop(new Error("the test is over")); // also stops its timer
  });

  test("are then stored without a timer, which browsers slow down in hidden pages", async (t) => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    await bench.insert("a", "deferred"); // its timer is still pending when the page is hidden
    bench.hidden = true;
    bench.queue.storePendingNow();
    t.mock.method(globalThis, "setTimeout", () => undefined);
    for (const key of ["b", "c"]) await bench.insert(key, "deferred");
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b", c: "c" });
  });

  test("are stored at once when the page may close", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    const write = bench.insert("a", "deferred");
    bench.queue.storePendingNow(); // also stores writes that are still in the queue
    await write;
    assert.equal(bench.storage.calls.length, 1);
  });

  test("share a segment, and are stored within the delay while further ones arrive", async (t) => {
    const clock = simulatedClock(t);
    const bench = new Bench({ deferredDelayMs: 200 });
    const writtenAt = new Map<string, number>();
    for (let now = 0; now < 2000; now += 20) {
      const key = `k${now}`;
      writtenAt.set(key, now);
      await bench.insert(key, "deferred");
      await clock.tick(20);
      const onDisk = await bench.onDisk();
      for (const [written, at] of writtenAt)
        assert(written in onDisk || now + 20 - at <= 200, `${written} at ${now + 20}`);
    }
    assert.equal(bench.storage.calls.length, 10);
  });

  test("are stored within the delay although a strict write is stored meanwhile", async (t) => {
    const clock = simulatedClock(t);
    const bench = new Bench({ deferredDelayMs: 200 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    await clock.tick(150);
    const strict = bench.insert("s");
    const call = await bench.storage.next();
    const late = bench.insert("b", "deferred"); // after the strict write
    await clock.tick(300);
    await call.succeed();
    await Promise.all([strict, late]);
    await clock.tick(199);
    assert.equal(bench.storage.waiting, 0);
    await clock.tick(1);
    assert.equal(bench.storage.waiting, 1, "200 ms after it was acknowledged");
  });

  test("do not wait longer because earlier ones are being stored", async (t) => {
    const clock = simulatedClock(t);
    const bench = new Bench({ deferredDelayMs: 200 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    await clock.tick(200);
    const first = await bench.storage.next();
    await bench.insert("b", "deferred");
    await clock.tick(150);
    await first.succeed();
    assert.equal(bench.stored.length, 1);
    await clock.tick(49);
    assert.equal(bench.storage.waiting, 0);
    await clock.tick(1);
    assert.equal(bench.storage.waiting, 1);
  });

  test("are accepted while earlier ones are being stored; strict ones wait", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    const store = await bench.storage.next();
    assert.deepEqual(await bench.insert("b", "deferred"), { ok: "b" });
    const strict = bench.insert("c");
    const after = bench.insert("d", "deferred"); // must follow the strict write
    assert(await isPending(strict));
    assert(await isPending(after));
    await store.succeed();
    assert.deepEqual(await bench.onDisk(), { a: "a" });
    const next = await bench.storage.next();
    assert.equal(next.durability, "strict");
    await next.succeed();
    await Promise.all([strict, after]);
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b", c: "c", d: "d" });
  });

  test("before a strict write are stored with it", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    await bench.insert("a", "deferred");
    await bench.insert("b", "deferred");
    await bench.insert("c", "strict");
    assert.equal(bench.storage.calls.length, 1);
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b", c: "c" });
    assert.equal(bench.queue.pendingBytes, 0);
  });

  test("that cannot be stored are kept, reported and stored later", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.failing = "quota";
    await bench.insert("a", "deferred");
    await until(() => bench.persistErrors.length === 1);
    assert.equal(bench.persistErrors[0]?.retryInMs, 1000);
    await assert.rejects(bench.queue.flush(), { code: "QuotaExceeded" });
    await assert.rejects(bench.insert("s", "strict"), { code: "QuotaExceeded" });
    assert.deepEqual(bench.inMemory(), { a: "a" });
    bench.storage.failing = undefined;
    await until(() => bench.stored.length === 1);
    assert.deepEqual(await bench.onDisk(), { a: "a" });
    await bench.queue.flush();
  });

  test("beyond 8 MiB are rejected while storing fails", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.failing = "quota";
    const value = "x".repeat(1 << 20);
    for (let i = 0; i < 8; ++i) await bench.put(`k${i}`, value, "deferred");
    await until(() => bench.persistErrors.length > 0);
    await assert.rejects(bench.put("more", value, "deferred"), { code: "QuotaExceeded" });
    bench.storage.failing = undefined;
    await bench.queue.flush();
    assert.deepEqual(await bench.put("more", 1, "deferred"), { ok: 1 });
    await bench.queue.flush();
    assert.equal(Object.keys(await bench.onDisk()).length, 9);
  });

  test("beyond 8 MiB wait while storing is merely slow", async () => {
    const bench = new Bench({ deferredDelayMs: 0 });
    bench.storage.auto = false;
    const value = "x".repeat(1 << 20);
    for (let i = 0; i < 8; ++i) await bench.put(`k${i}`, value, "deferred");
    const store = await bench.storage.next();
    const more = bench.put("more", value, "deferred");
    assert(await isPending(more));
    bench.storage.auto = true;
    await store.succeed();
    assert.deepEqual(await more, { ok: value });
  });
});

describe("flush", () => {
  test("resolves at once when everything is stored", async () => {
    const bench = new Bench();
    await bench.queue.flush();
    await bench.insert("a");
    await bench.queue.flush();
    assert.equal(bench.storage.calls.length, 1);
  });

  test("that fails does not stage failed writes again, after later deferred ones", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    const exists = bench.insert("a");
    const flush = bench.queue.flush();
    flush.catch(() => {});
    const call = await bench.storage.next();
    assert.deepEqual(await exists, { error: "exists" }, "it does not wait for the flush");
    await bench.put("b", 1, "deferred");
    const staged = [...bench.engine.stageCalls];
    await call.fail("quota");
    await assert.rejects(flush, { code: "QuotaExceeded" });
    assert.deepEqual(bench.engine.stageCalls, staged);
    bench.storage.auto = true;
    await bench.queue.flush();
    assert.deepEqual(await bench.onDisk(), { a: "a", b: 1 });
  });

  test("resolves when all earlier writes are stored", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    bench.storage.auto = false;
    await bench.insert("a", "deferred");
    const relaxed = bench.insert("b", "relaxed");
    const flush = bench.queue.flush();
    const call = await bench.storage.next();
    assert.equal(call.durability, "strict");
    assert(await isPending(flush));
    await call.succeed();
    await flush;
    await relaxed;
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b" });
  });

  test("needs no strict durability if it is relaxed", async () => {
    const bench = new Bench({ deferredDelayMs: 1000 });
    await bench.insert("a", "deferred");
    await bench.queue.flush("relaxed");
    await bench.insert("b", "deferred");
    await Promise.all([bench.queue.flush("relaxed"), bench.insert("c", "relaxed")]);
    await bench.insert("d", "deferred");
    await Promise.all([bench.queue.flush("relaxed"), bench.queue.flush()]);
    const levels = bench.storage.calls.map(({ durability }) => durability);
    assert.deepEqual(levels, ["relaxed", "relaxed", "strict"]);
    assert.deepEqual(await bench.onDisk(), { a: "a", b: "b", c: "c", d: "d" });
  });
});

describe("aborting", () => {
  test("an aborted signal rejects immediately, and nothing is written", async () => {
    const bench = new Bench();
    const write = bench.write({ insert: "a" }, "strict", AbortSignal.abort());
    await assert.rejects(write, { name: "AbortError" });
    assert.deepEqual(bench.engine.stageCalls, []);
  });

  test("a write that is aborted while its group fails is not staged again", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const stop = new AbortController();
    const first = bench.insert("a");
    const aborted = bench.write({ insert: "a", value: 2 }, "strict", stop.signal); // fails: exists
    const deferred = bench.write({ put: "d", value: 3 }, "deferred", stop.signal);
    for (const write of [first, aborted, deferred]) write.catch(() => {});
    const call = await bench.storage.next();
    stop.abort();
    await call.fail("quota");
    await assert.rejects(first, { code: "QuotaExceeded" });
    for (const write of [aborted, deferred]) await assert.rejects(write, { name: "AbortError" });
    assert.equal(bench.storage.waiting, 0);
    assert.deepEqual(bench.inMemory(), {});
  });

  test("a write can be cancelled while it is queued, but not once it is staged", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const abort = new AbortController();
    const first = bench.write({ insert: "a", value: 1 }, "strict", abort.signal);
    const call = await bench.storage.next();
    const second = bench.write({ insert: "b", value: 1 }, "strict", abort.signal);
    const third = bench.insert("c");
    abort.abort();
    await assert.rejects(second, { name: "AbortError" });
    await call.succeed();
    assert.deepEqual(await first, { ok: 1 }, "its outcome is what it is");
    await (await bench.storage.next()).succeed();
    await third;
    assert.deepEqual(Object.keys(await bench.onDisk()), ["a", "c"]);
  });
});

describe("a write that needs unloaded parts", () => {
  // Prepares the bench so that the write of `b` needs parts that are not loaded. The test decides
  // when loading ends and whether it succeeds.
  function lacking(bench: Bench): { arrive(): void; fail(): void } {
    let isThere = false;
    let [resolve, reject] = [() => {}, (_: Error) => {}];
    const promise = new Promise<void>((...both) => {
      [resolve, reject] = both;
    });
    const stage = bench.engine.stage.bind(bench.engine);
    const isB = (request: Uint8Array) => decode(request).put === "b";
    bench.engine.stage = (requests, nowMs) => {
      const lacks = !isThere && requests.some(isB);
      return lacks ? new DeferredModuleNeeded(() => promise, isB) : stage(requests, nowMs);
    };
    const arrive = () => {
      isThere = true;
      resolve();
    };
    return { arrive, fail: () => reject(new StoreError("WasmLoadFailed", "it is not there")) };
  }

  test("can be cancelled while it waits, and so can the others of its group", async () => {
    for (const arrives of [true, false]) {
      const bench = new Bench();
      const { arrive, fail } = lacking(bench);
      const stops = { b: new AbortController(), c: new AbortController() };
      const a = bench.put("a", 1);
      const b = bench.write({ put: "b", value: 2 }, "strict", stops.b.signal);
      const c = bench.write({ put: "c", value: 3 }, "strict", stops.c.signal);
      assert(await isPending(a));
      stops.b.abort();
      await assert.rejects(b, { name: "AbortError" });
      assert(await isPending(c));
      if (arrives) arrive();
      else fail();
      assert.deepEqual(await Promise.all([a, c]), [{ ok: 1 }, { ok: 3 }]);
      stops.c.abort(); // too late to cancel
      assert.deepEqual(await bench.onDisk(), { a: 1, c: 3 });
    }
  });

  test("is rejected with the error of the hook if the deferred module cannot be loaded", async () => {
    for (const resolves of [true, false]) {
      const causes: Error[] = [];
      const reason = new Error("of the hook");
      const onDeferredModuleFailed = (cause: Error) => {
        causes.push(cause);
        return resolves ? Promise.resolve(reason) : Promise.reject(reason);
      };
      const bench = new Bench({ onDeferredModuleFailed });
      const { fail } = lacking(bench);
      const a = bench.put("a", 1);
      const b = bench.put("b", 2);
      await sleep(1);
      fail();
      await assert.rejects(b, reason);
      assert.deepEqual(await Promise.all([a, bench.put("c", 3)]), [{ ok: 1 }, { ok: 3 }]);
      assert.deepEqual(
        causes.map(({ message }) => message),
        ["it is not there"],
      );
    }
  });

  // The queue must still store what is pending, so that the next owner has it.
  test("does not stop the queue if the store is handed over", async () => {
    for (const durability of ["strict", "deferred"] as const) {
      const closed = new StoreError("StoreClosed", "The store is closed.");
      const bench = new Bench({ onDeferredModuleFailed: () => Promise.resolve(closed) });
      const load = () => Promise.reject(new StoreError("WasmLoadFailed", "it is not there"));
      const isB = (request: Uint8Array) => decode(unwrapFromCall(request)).put === "b";
      for (const how of ["stage", "stageAndPublish"] as const) {
        const stage = bench.engine[how].bind(bench.engine);
        bench.engine[how] = (requests, nowMs) =>
          requests.some(isB) ? new DeferredModuleNeeded(load) : stage(requests, nowMs);
      }
      const stageOne = bench.engine.stageAndPublishOne.bind(bench.engine);
      bench.engine.stageAndPublishOne = (request, ...rest) =>
        isB(request) ? new DeferredModuleNeeded(load) : stageOne(request, ...rest);
      await bench.put("a", 1, "deferred");
      const b = bench.put("b", 2, durability);
      await assert.rejects(b, closed);
      await bench.queue.flush();
      assert.deepEqual(await bench.onDisk(), { a: 1 });
      assert.deepEqual(bench.persistErrors, []);
    }
  });

  test("and is rejected meanwhile leaves the others of its group queued", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const { fail } = lacking(bench);
    await bench.put("a", 1, "deferred");
    const b = bench.put("b", 2);
    b.catch(() => {});
    await sleep(1);
    const c = bench.put("c", 3, "deferred");
    // writes that are not deferred no longer wait for it
    await (await bench.storage.next()).fail("unknown");
    await assert.rejects(b, { failure: "aborted" });
    fail();
    assert.deepEqual(await c, { ok: 3 });
    bench.storage.auto = true;
    await bench.queue.flush();
    assert.deepEqual(await bench.onDisk(), { a: 1, c: 3 });
  });
});

describe("stop", () => {
  test("rejects queued and later writes", async () => {
    const bench = new Bench();
    bench.storage.auto = false;
    const stored = bench.insert("a");
    const call = await bench.storage.next();
    const waiting = bench.insert("b");
    waiting.catch(() => {});
    bench.queue.stop(new Error("over"));
    await assert.rejects(waiting, { message: "over" });
    await assert.rejects(bench.insert("c"), { message: "over" });
    await call.succeed();
    await stored;
  });
});

// Makes random writes of every durability, with failing and slow stores. At any time, the disk
// contains a prefix of the writes in the order of acknowledgement (unacknowledged writes may be
// stored or not), and all acknowledged strict writes. At the end, memory and disk are equal.
describe("what is stored is a prefix of what was acknowledged", () => {
  const seed = Number(process.env.ENTITABLE_SEED ?? 20261121);
  test(`random runs, ENTITABLE_SEED=${seed}`, async () => {
    for (let run = 0; run < 30; ++run) await randomRun(seed + run);
  });
});

async function randomRun(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const bench = new Bench({ deferredDelayMs: random.below(3) });
  bench.storage.auto = false;
  const acknowledged: string[] = []; // keys, in order of acknowledgement
  const unknown = new Set<string>(); // reported with an unknown outcome
  let over = false;
  let arrived: number | undefined;
  const disk = (async () => {
    while (!over) {
      if (bench.storage.waiting === 0) {
        await sleep(0);
        continue;
      }
      const call = await bench.storage.next();
      for (let i = random.below(4); i > 0; --i) await sleep(0);
      const fate = random.below(16);
      // A stored segment is never reported as not stored.
      const mayFail = call.sequence !== arrived;
      if (fate < 2 && mayFail) await call.fail("quota");
      else if (fate < 4 && mayFail) await call.fail("aborted");
      else if (fate === 4) await call.fail("unknown");
      else if (fate === 5) {
        arrived = call.sequence;
        await call.storeAndFail("unknown");
      } else await call.succeed();
      await checkPrefix(bench, acknowledged, seed);
    }
  })();

  const writes: Promise<void>[] = [];
  for (let i = 0; i < 60; ++i) {
    const durability = (["strict", "relaxed", "deferred"] as const)[random.below(3)] as Durability;
    const key = `k${i}`;
    const write = bench.put(key, i, durability).then(
      async () => {
        acknowledged.push(key);
        if (durability === "deferred") return;
        const stored = await bench.onDisk();
        assert(key in stored, `seed ${seed}: ${key} was acknowledged and is not stored`);
      },
      (error) => {
        assert.equal(error.name, "StoreError", `seed ${seed}: ${error.stack}`);
        if (error.failure === "unknown") return void unknown.add(key);
        assert(!bench.engine.rows.has(key), `seed ${seed}: ${key} was rejected and is visible`);
      },
    );
    writes.push(write);
    if (random.below(3) === 0) await sleep(0);
    if (random.below(20) === 0) bench.queue.flush().catch(() => {});
  }
  await Promise.all(writes);
  over = true;
  await disk;
  bench.storage.auto = true;
  while (bench.storage.waiting > 0) await (await bench.storage.next()).succeed();
  await bench.queue.flush();
  assert.deepEqual(await bench.onDisk(), bench.inMemory(), `seed ${seed}`);
  const visible = Object.keys(bench.inMemory()).filter((key) => !unknown.has(key));
  assert.deepEqual(new Set(visible), new Set(acknowledged), `seed ${seed}`);
}

async function checkPrefix(bench: Bench, acknowledged: string[], seed: number): Promise<void> {
  const stored = new Set(Object.keys(await bench.onDisk()));
  const missing = acknowledged.findIndex((key) => !stored.has(key));
  if (missing === -1) return;
  const later = acknowledged.slice(missing).filter((key) => stored.has(key));
  assert.deepEqual(later, [], `seed ${seed}: stored, although ${acknowledged[missing]} is not`);
}
