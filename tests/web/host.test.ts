// Tests the host: opening a log, the checkpointer, and the ownership of a store.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Emitter } from "../../web/src/host/emitter.ts";
import { acquireOwnership } from "../../web/src/host/exclusive-lock.ts";
import type { LocalHost, LocalHostOptions } from "../../web/src/host/local-host.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import type { StoreWarning } from "../../web/src/types.ts";
import { yieldToEventLoop } from "../../web/src/util/event-loop.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { decode, encode, FakeEngine } from "./support/fake-engine.ts";
import { openHost } from "./support/open-host.ts";
import { until } from "./support/until.ts";

class Bench {
  readonly files = new Map<string, Uint8Array>();
  engine = new FakeEngine();
  storage = new ControlledStorage(new MemoryStorage(this.files));
  warnings: StoreWarning[] = [];
  released = 0;

  open(options: Partial<LocalHostOptions> = {}): Promise<LocalHost> {
    this.engine = new FakeEngine();
    this.storage = new ControlledStorage(new MemoryStorage(this.files));
    return openHost({
      engine: this.engine,
      storage: this.storage,
      ownership: {
        release: () => {
          this.released += 1;
        },
      },
      clock: { now: () => 1_000_000 },
      persisted: false,
      onWarning: (warning) => this.warnings.push(warning),
      ...options,
    });
  }
  names(prefix: string): string[] {
    return [...this.files.keys()].filter((name) => name.startsWith(prefix)).sort();
  }
}

function put(key: string, value: unknown): Uint8Array {
  return encode({ put: key, value });
}

describe("a host", () => {
  test("reads synchronously", async () => {
    const host = await new Bench().open();
    await host.write(put("a", 1));
    const reply = host.read(encode({ get: "a" }));
    assert(reply instanceof Uint8Array);
    assert.deepEqual(decode(reply), { value: 1 });
    await host.close();
  });

  test("that is abandoned reports the outcome of what is being stored", async () => {
    for (const end of ["succeed", "fail"] as const) {
      const bench = new Bench();
      const host = await bench.open();
      bench.storage.auto = false;
      const written = host.write(put("a", 1), "strict") as Promise<unknown>;
      written.catch(() => {});
      const call = await bench.storage.next();
      const waiting = assert.rejects(host.write(put("b", 1), "strict") as Promise<unknown>, {
        code: "StoreClosed",
      });
      const abandoned = host.abandon();
      await waiting;
      assert.equal(bench.storage.closes, 0);
      if (end === "succeed") await call.succeed();
      else await call.fail("aborted");
      await abandoned;
      if (end === "succeed") await written;
      else await assert.rejects(written, { code: "ConnectionLost" });
    }
  });

  test("reads what was written before reopening", async () => {
    const bench = new Bench();
    const first = await bench.open();
    for (const key of ["a", "b", "c"]) await first.write(put(key, key));
    await first.close();
    await bench.open();
    assert.deepEqual(Object.fromEntries(bench.engine.rows), { a: "a", b: "b", c: "c" });
  });

  test("that had no space for its claim claims the log before a checkpoint", async () => {
    const bench = new Bench();
    const before = new MemoryStorage(bench.files);
    const storage = new ControlledStorage(before);
    storage.failing = "quota";
    const host = await bench.open({ storage });
    assert.deepEqual(bench.names("wal-"), []);
    storage.failing = undefined;
    await host.compact();
    assert.deepEqual(
      storage.calls.filter(({ name }) => name === "claim").map(({ sequence }) => sequence),
      [1, 1],
    );
    await host.close();
  });

  describe("a host that had no space for its claim", () => {
    // Opens a host while the previous owner is about to commit a checkpoint.
    async function behindCheckpoint() {
      const bench = new Bench();
      const first = await bench.open();
      const before = bench.storage;
      for (let i = 0; i < 64; ++i) await first.write(put(`k${i}`, 1));
      before.auto = false;
      const compacting = first.compact();
      compacting.catch(() => {});
      let call = await before.next();
      for (; call.name !== "commitManifest"; call = await before.next()) await call.succeed();
      before.auto = true;
      const storage = new ControlledStorage(new MemoryStorage(bench.files));
      storage.failing = "quota";
      const host = await bench.open({ storage });
      storage.failing = undefined;
      return { bench, first, compacting, commit: call, host, storage };
    }

    async function isWhole(bench: Bench, last: string) {
      const host = await bench.open();
      assert.deepEqual(host.status.damage, []);
      for (const key of ["k0", last]) {
        assert.deepEqual(decode(await host.read(encode({ get: key }))), { value: 1 });
      }
      await host.close();
    }

    test("removes nothing: the previous owner's manifest may still name it", async () => {
      const { bench, first, compacting, commit, host, storage } = await behindCheckpoint();
      await sleep(5);
      await host.close(); // the log is long enough for a checkpoint
      assert.deepEqual(
        storage.calls.map(({ name }) => name),
        ["claim"],
      );
      await commit.succeed();
      await compacting;
      await first.close();
      await isWhole(bench, "k63");
    });

    for (const [claims, last] of [
      ["compact", "k63"],
      ["write", "claims"],
    ] as const) {
      test(`does both once it has claimed the log: ${claims}`, async () => {
        const { bench, first, compacting, commit, host, storage } = await behindCheckpoint();
        if (claims === "compact") await host.compact();
        else await host.write(put("claims", 1));
        await until(() => storage.calls.some(({ name }) => name === "deleteParts"));
        await commit.succeed();
        await assert.rejects(compacting, { failure: "fenced" });
        await first.close().catch(() => {});
        await host.close();
        await isWhole(bench, last);
      });
    }
  });

  test("closing stores pending writes, releases everything once, and ends every call", async () => {
    const bench = new Bench();
    const host = await bench.open({ durability: "deferred", deferredDelayMs: 1000 });
    await host.write(put("a", 1));
    assert.equal(bench.names("wal-").length, 1, "the claim");
    assert.equal(host.status.state, "open");
    const states: string[] = [];
    host.on("status", ({ state }) => states.push(state));
    await Promise.all([host.close(), host.close()]);
    assert.equal(bench.names("wal-").length, 2);
    assert.deepEqual([bench.released, bench.engine.closed, states], [1, true, ["closed"]]);
    const closed = { name: "StoreError", code: "StoreClosed" };
    assert.throws(() => host.read(encode({ get: "a" })), closed);
    await assert.rejects(async () => host.write(put("b", 1)), closed);
    await assert.rejects(host.flush(), closed);
    await assert.rejects(host.stats(), closed);
    assert.equal(host.status.state, "closed");
  });

  test("closing rejects if acknowledged writes are lost, and releases everything", async () => {
    const bench = new Bench();
    const host = await bench.open({ durability: "deferred", deferredDelayMs: 1000 });
    await host.write(put("a", 1));
    bench.storage.failing = "quota";
    await assert.rejects(host.close(), { code: "QuotaExceeded" });
    assert.deepEqual([bench.released, bench.engine.closed], [1, true]);

    const other = await new Bench().open();
    await assert.rejects(async () => other.write(encode({ fail: "trap" })));
    await other.close(); // the engine is broken, but closing loses nothing
  });

  test("closing releases everything, although the engine broke once a group was stored", async () => {
    const bench = new Bench();
    const host = await bench.open();
    bench.storage.auto = false;
    const written = host.write(put("a", 1));
    const call = await bench.storage.next();
    const abandoned = host.abandon();
    bench.engine.trimMemory = () => {
      throw new Error("The engine broke.");
    };
    await call.succeed();
    await Promise.all([written, abandoned]);
    assert.deepEqual([bench.storage.closes, bench.engine.closed, bench.released], [1, true, 1]);
  });

  test("has savepoints and forks only in memory, and only while it is open", async () => {
    const host = await new Bench().open();
    const clock = { now: () => 0 };
    const calls = [() => host.fork(clock), () => host.retainVersion(), () => host.rollback(1)];
    for (const call of calls) assert.throws(call, { code: "NotSupported", message: /in memory/ });
    await host.close();
    for (const call of calls) assert.throws(call, { code: "StoreClosed" });
    await assert.rejects(
      host.rollbackWhenIdle(1, () => {}),
      { code: "StoreClosed" },
    );
  });

  test("reports its status after the engine broke, and emits the event", async () => {
    const bench = new Bench();
    const host = await bench.open();
    const states: string[] = [];
    host.on("status", ({ state }) => states.push(state));
    await assert.rejects(async () => host.write(encode({ fail: "trap" })), /trap/);
    assert.deepEqual(
      [host.status.state, host.status.damage, states],
      ["read-only", [], ["read-only"]],
    );
    await host.close();
  });

  test("that cannot be opened releases everything", async () => {
    const bench = new Bench();
    bench.files.set("manifest", encode({ format: 2 }));
    await assert.rejects(bench.open(), { code: "FormatTooNew" });
    assert.deepEqual([bench.released, bench.engine.closed, bench.storage.closes], [1, true, 1]);
  });

  test("opened read-only rejects writes and changes nothing", async () => {
    const bench = new Bench();
    const writer = await bench.open();
    await writer.write(put("a", 1));
    await writer.close();
    bench.files.set("part-0000000000000009", encode([]));
    const host = await bench.open({ readOnly: true });
    assert.equal(host.status.state, "read-only");
    await assert.rejects(async () => host.write(put("b", 1)), { code: "NotSupported" });
    assert.deepEqual(decode(await host.read(encode({ get: "a" }))), { value: 1 });
    await host.close();
    assert.equal(bench.storage.calls.length, 0);
  });

  test("emits events for stored groups and for errors", async () => {
    const bench = new Bench();
    const host = await bench.open();
    const events: unknown[] = [];
    host.on("persisted", ({ at }) => events.push(at));
    host.on("persist-error", ({ error, retryInMs }) => events.push([error.message, retryInMs]));
    const off = host.on("reopened", () => events.push("reopened"));
    await host.write(put("a", 1));
    assert.deepEqual(events, [new Date(1_000_000)]);
    assert.deepEqual(host.status.lastPersistedAt, new Date(1_000_000));
    host.emitReopened();
    off();
    host.emitReopened();
    bench.storage.failing = "gone";
    await assert.rejects(async () => host.write(put("b", 1)));
    assert.deepEqual(events.slice(1), ["reopened", ["injected: gone", undefined]]);
    assert.equal(host.status.state, "read-only");
    await host.close();
  });
});

describe("damage", () => {
  async function damaged(harm: (files: Map<string, Uint8Array>) => void): Promise<Bench> {
    const bench = new Bench();
    const host = await bench.open();
    for (const key of ["a", "b", "c"]) await host.write(put(key, key));
    await host.close();
    harm(bench.files);
    return bench;
  }

  test("a missing segment ends the replay before it", async () => {
    const bench = await damaged((files) => files.delete("wal-0000000000000003"));
    const host = await bench.open();
    assert.equal(host.status.state, "read-only");
    assert.deepEqual(host.status.damage, [{ file: "wal-3", message: "is missing" }]);
    assert.deepEqual([...bench.engine.rows.keys()], ["a"]);
    await host.close();
  });

  test("parts without a manifest are the remains of a store, and are kept", async () => {
    const bench = await damaged((files) => {
      for (const name of [...files.keys()]) files.delete(name);
      files.set("part-0000000000000007", encode({ a: 1 }));
    });
    const host = await bench.open();
    assert.deepEqual(host.status.damage, [{ file: "manifest", message: "is missing" }]);
    assert.equal(host.status.state, "read-only");
    await host.close();
    assert.deepEqual(bench.names("part-"), ["part-0000000000000007"]);
  });

  test("nothing is removed from a damaged log, not even leftover files", async () => {
    const bench = await damaged((files) => {
      files.set("manifest", new Uint8Array());
      files.set("part-0000000000000001", encode([["x", 1]]));
    });
    const before = [...bench.files.keys()];
    const host = await bench.open();
    assert.equal(host.status.state, "read-only");
    await sleep(5);
    await host.close();
    assert.deepEqual([...bench.files.keys()], before);
  });

  test("a missing part is reported by the engine", async () => {
    const bench = await damaged((files) => {
      files.clear();
      files.set("manifest", encode({ format: 1, firstLive: 1, parts: [7], lastCommit: 3 }));
    });
    const host = await bench.open();
    assert.deepEqual(host.status.damage, [{ file: "part-7", message: "is missing" }]);
    await host.close();
  });
});

describe("checkpoints", () => {
  // With values of this size, a checkpoint is due after a few segments.
  const large = "x".repeat(1_500_000);

  async function someTurns(): Promise<void> {
    for (let turn = 0; turn < 20; ++turn) await yieldToEventLoop();
  }
  // Advances the test's clock by `ms`. Returns whether a checkpoint was stored.
  async function isCheckpointed(bench: Bench, t: TestContext, ms: number): Promise<boolean> {
    t.mock.timers.tick(ms);
    await someTurns();
    return bench.files.has("manifest");
  }

  test("shorten the log when they are due, while writes continue", async () => {
    const bench = new Bench();
    const host = await bench.open();
    for (let i = 0; i < 3; ++i) await host.write(put(`k${i}`, large));
    await host.write(put("meanwhile", 1));
    await until(() => bench.files.has("manifest"));
    await host.write(put("after", 2));
    await host.close();
    assert(bench.names("wal-").length <= 2);
    const { rows } = bench.engine;
    await (await bench.open()).read(encode({ get: "k0" }));
    assert.deepEqual(bench.engine.rows, rows);
    assert.deepEqual(bench.warnings, []);
  });

  test("are also due after 256 segments, including those found at opening", async () => {
    const bench = new Bench();
    const first = await bench.open();
    for (let i = 0; i < 250; ++i) await first.write(put("k", i));
    assert.equal(bench.files.has("manifest"), false);
    await first.closeForTakeover();
    const second = await bench.open();
    for (let i = 0; i < 6; ++i) await second.write(put("k", i));
    await until(() => bench.files.has("manifest"));
    await second.close();
    assert.equal(bench.names("wal-").length, 0);
  });

  test("of a smaller log are made when nothing was stored for a second", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const bench = new Bench();
    const host = await bench.open();
    const shortened = (ms: number) => isCheckpointed(bench, t, ms);
    // The segment that claims the log counts too.
    for (let i = 1; i < 63; ++i) await host.write(put("k", i));
    assert.equal(await shortened(1000), false);
    assert.equal(await shortened(1000), false, "63 segments are few");
    await host.write(put("k", 63));
    assert.equal(await shortened(999), false);
    await host.write(put("k", 64));
    assert.equal(await shortened(1), false, "it is not quiet yet");
    assert.equal(await shortened(999), false);
    assert.equal(await shortened(1), true);
    await host.close();
    assert.equal(bench.names("wal-").length, 0);
  });

  test("wait for a longer log if they would write much, however idle the store is", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const bench = new Bench();
    const host = await bench.open();
    bench.engine.checkpointWork = 8 * 1024 * 1024; // allows 2 MB of log, or 128 segments
    const write = async (count: number, value: unknown) => {
      for (let i = 0; i < count; ++i) await host.write(put("k", value));
      for (let second = 0; second < 3; ++second) t.mock.timers.tick(1000);
      await someTurns();
      return bench.files.has("manifest");
    };
    assert.equal(await write(1, large), false);
    assert.equal(await write(120, 1), false);
    assert.equal(await write(8, 1), true);
    await host.close();
  });

  test("wait in proportion to what they would write, up to a limit", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const megabyte = 1024 * 1024;
    const logAtCheckpoint = async (work: number) => {
      const bench = new Bench();
      const host = await bench.open();
      bench.engine.checkpointWork = work;
      let stored = 0;
      for (; !bench.storage.calls.some(({ name }) => name === "putPart"); ++stored) {
        await host.write(put("k", large));
        t.mock.timers.tick(100); // a pause in the writes
        for (let turn = 0; turn < 5; ++turn) await yieldToEventLoop();
      }
      await host.close();
      return (stored * large.length) / megabyte;
    };
    const few = await logAtCheckpoint(0);
    assert.ok(few >= 4 && few < 8, String(few));
    const some = await logAtCheckpoint(40 * megabyte); // 10 MB of log: a quarter of the data
    assert.ok(some >= 10 && some < 14, String(some));
    const most = await logAtCheckpoint(4000 * megabyte);
    assert.ok(most >= 16 && most < 20, String(most));
  });

  describe("that are due while writes keep coming", () => {
    // Stores `count` segments without a pause.
    async function burst(host: LocalHost, count: number, value: unknown): Promise<void> {
      for (let i = 0; i < count; ++i) await host.write(put("k", value));
      await someTurns();
    }

    test("wait for a pause", async (t) => {
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const bench = new Bench();
      const host = await bench.open();
      const paused = (ms: number) => isCheckpointed(bench, t, ms);
      await burst(host, 300, 1);
      assert.equal(await paused(99), false);
      await burst(host, 1, 1);
      assert.equal(await paused(1), false, "it was no pause");
      assert.equal(await paused(99), false);
      assert.equal(await paused(1), true);
      assert.deepEqual(bench.names("wal-"), []);
      await host.close();
    });

    for (const [what, value, bearable] of [
      ["2048 segments", 1, 2046], // and the segment that claims the log
      ["32 MB", large, 22],
    ] as const) {
      test(`wait for no more than ${what}`, async (t) => {
        t.mock.timers.enable({ apis: ["setTimeout"] });
        const bench = new Bench();
        const host = await bench.open();
        await burst(host, bearable, value);
        assert.equal(bench.files.has("manifest"), false);
        await burst(host, 1, value);
        assert.equal(bench.files.has("manifest"), true);
        await host.close();
      });
    }
  });

  describe("under way", () => {
    // Resolves when the first of three parts is being stored. A segment is stored at the same time.
    async function atDisturbedPart(t: TestContext) {
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const bench = new Bench();
      const host = await bench.open();
      for (let i = 0; i < 3; ++i) await host.write(put(`k${i}`, large));
      bench.storage.auto = false;
      t.mock.timers.tick(100);
      const part = await bench.storage.next();
      assert.equal(part.name, "putPart");
      bench.storage.auto = true;
      await host.write(put("meanwhile", 0));
      const parts = () => bench.storage.calls.filter(({ name }) => name === "putPart").length;
      return { bench, host, part, parts };
    }
    // Resolves after the first part, while the checkpoint pauses for writes.
    async function waiting(t: TestContext) {
      const { bench, host, part, parts } = await atDisturbedPart(t);
      await part.succeed();
      await someTurns();
      assert.equal(parts(), 1);
      return { bench, host, parts };
    }

    test("yield to writes for a while after each part", async (t) => {
      const { bench, host, parts } = await waiting(t);
      await host.write(put("meanwhile", 1));
      t.mock.timers.tick(100);
      await someTurns();
      assert.equal(parts(), 3, "nothing was stored during the others");
      assert.equal(bench.files.has("manifest"), true);
      await host.close();
    });

    for (const [what, value, bearable] of [
      ["2048 segments", 1, 2043], // and earlier segments, and the one that claims the log
      ["32 MB", large, 20],
    ] as const) {
      test(`do not yield with a log of ${what}`, async (t) => {
        for (const [count, made] of [
          [bearable - 1, 1],
          [bearable, 3],
        ] as const) {
          const { bench, host, part, parts } = await atDisturbedPart(t);
          for (let i = 0; i < count; ++i) await host.write(put("meanwhile", value));
          await part.succeed();
          await someTurns();
          assert.equal(Math.min(parts(), 3), made);
          assert.equal(bench.files.has("manifest"), made === 3);
          await host.close();
          t.mock.timers.reset();
        }
      });
    }

    test("do not yield while a caller waits for their end", async (t) => {
      for (const [end, left] of [
        ["compact", 0],
        ["close", 1], // segments stored during the checkpoint do not justify another one
      ] as const) {
        const already = await waiting(t);
        await already.host[end]();
        assert.equal(already.bench.files.has("manifest"), true);
        assert.equal(already.bench.names("wal-").length, left);
        await already.host.close();
        t.mock.timers.reset();
        const notYet = await atDisturbedPart(t);
        const ending = notYet.host[end]();
        await notYet.part.succeed();
        await ending;
        assert.equal(notYet.bench.names("wal-").length, left);
        await notYet.host.close();
        t.mock.timers.reset();
      }
    });

    test("end while they yield, when the store is abandoned", async (t) => {
      const { bench, host, parts } = await waiting(t);
      await host.closeForTakeover();
      assert.equal(parts(), 1);
      assert.equal(bench.files.has("manifest"), false);
      assert.deepEqual(bench.names("part-"), []);
    });
  });

  test("requested at the same time run one after another", async () => {
    const bench = new Bench();
    const host = await bench.open();
    await host.write(put("k", 1));
    const compact = async (i: number) => {
      await host.compact();
      await host.write(put("k", i));
    };
    await Promise.all([1, 2, 3, 4].map(compact));
    await host.close();
    assert.deepEqual(bench.warnings, []);
    assert.ok(bench.storage.calls.filter(({ name }) => name === "commitManifest").length >= 2);
  });

  test("keep their parts, even if a leftover part had the same number", async () => {
    const bench = new Bench();
    const before = await bench.open();
    await before.write(put("a", 0));
    await before.close();
    bench.files.set("part-0000000000000001", encode([["x", 1]]));
    const opening = bench.open();
    bench.storage.auto = false;
    let call = await bench.storage.next();
    for (; call.name !== "deleteParts"; call = await bench.storage.next()) await call.succeed();
    await call.fail("aborted");
    bench.storage.auto = true;
    const host = await opening;
    await host.write(put("a", 1));
    await host.compact();
    assert.deepEqual(bench.names("part-"), ["part-0000000000000001"]);
    await host.close();
    const again = await bench.open();
    assert.deepEqual(again.status.damage, []);
    assert.deepEqual(decode(await again.read(encode({ get: "a" }))), { value: 1 });
    await again.close();
  });

  test("leave no part that no manifest names", async () => {
    const bench = new Bench();
    const host = await bench.open();
    for (let round = 0; round < 3; ++round) {
      for (let i = 0; i < 3; ++i) await host.write(put(`k${i}`, large));
      const seen = bench.storage.calls.length;
      await until(() => bench.storage.calls.slice(seen).some((c) => c.name === "commitManifest"));
      await sleep(1);
    }
    await host.close();
    assert.equal(bench.names("part-").length, 3);
  });

  for (const callName of ["putPart", "commitManifest"] as const) {
    test(`that fail at ${callName} keep the old manifest, clean up and are retried`, async () => {
      const bench = new Bench();
      const host = await bench.open();
      bench.storage.auto = false;
      const writes = [0, 1, 2].map((i) => host.write(put(`k${i}`, large)));
      let failed = false;
      const disk = (async () => {
        while (!failed) {
          const call = await bench.storage.next();
          failed = call.name === callName;
          await (failed ? call.fail("quota") : call.succeed());
        }
        bench.storage.auto = true;
        while (bench.storage.waiting > 0) await (await bench.storage.next()).succeed();
      })();
      await Promise.all(writes);
      await disk;
      await until(() => bench.warnings.length === 1);
      assert.equal(bench.warnings[0]?.code, "CheckpointFailed");
      assert.equal(bench.files.has("manifest"), false);
      assert.deepEqual(bench.names("part-"), [], "what it wrote is gone");
      for (let i = 3; i < 5; ++i) await host.write(put(`k${i}`, large));
      await until(() => bench.files.has("manifest"));
      await host.close();
      const { rows } = bench.engine;
      await (await bench.open()).read(encode({ get: "k0" }));
      assert.deepEqual(bench.engine.rows, rows);
    });
  }

  test("with an unknown outcome are repeated until the outcome is known", async () => {
    const bench = new Bench();
    const host = await bench.open();
    bench.storage.auto = false;
    const writes = Promise.all([0, 1, 2].map((i) => host.write(put(`k${i}`, large))));
    let call = await bench.storage.next();
    for (; call.name !== "commitManifest"; call = await bench.storage.next()) await call.succeed();
    await writes;
    await call.storeAndFail("unknown");
    const again = await bench.storage.next();
    assert.equal(again.name, "commitManifest");
    bench.storage.auto = true;
    await again.succeed();
    await host.write(put("after", 1));
    await host.close();
    assert.deepEqual(bench.warnings, []);
    const { rows } = bench.engine;
    await (await bench.open()).read(encode({ get: "k0" }));
    assert.deepEqual(bench.engine.rows, rows);
  });

  // Resolves in the middle of a checkpoint, with the storage call for a part.
  async function atPart() {
    const bench = new Bench();
    const host = await bench.open();
    bench.storage.auto = false;
    const writes = Promise.all([0, 1, 2].map((i) => host.write(put(`k${i}`, large))));
    let part = await bench.storage.next();
    for (; part.name !== "putPart"; part = await bench.storage.next()) await part.succeed();
    await writes;
    bench.storage.auto = true;
    return { bench, host, part };
  }

  test("that are running end when the store is abandoned, and are swept later", async () => {
    const { bench, host, part } = await atPart();
    const closing = host.closeForTakeover();
    await part.succeed();
    await closing;
    assert.equal(bench.files.has("manifest"), false);
    bench.files.set("part-0000000000000009", encode([]));
    const again = await bench.open();
    await until(() => bench.names("part-").length === 0);
    await again.closeForTakeover();
  });

  test("that are running are completed when the store is closed", async () => {
    const { bench, host, part } = await atPart();
    const closing = host.close();
    await part.succeed();
    await closing;
    assert.equal(bench.files.has("manifest"), true);
    assert.deepEqual(bench.names("wal-"), []);
  });

  test("are made on closing if they save the next opening enough log", async () => {
    const leftAfter = async (count: number, value: unknown, work: number) => {
      const bench = new Bench();
      const host = await bench.open();
      bench.engine.checkpointWork = work;
      for (let i = 0; i < count; ++i) await host.write(put("k", value));
      await host.close();
      return bench.names("wal-").length;
    };
    assert.equal(await leftAfter(62, 1, 0), 63, "and the segment that claims the log");
    assert.equal(await leftAfter(63, 1, 0), 0);
    assert.equal(await leftAfter(1, large, 0), 0);
    const work = 24 * 1024 * 1024; // allows 1.5 MB of log, which is 1.43 MB of data and the claim
    assert.equal(await leftAfter(1, large, work), 2);
    assert.equal(await leftAfter(2, large, work), 0);
  });

  test("may fail on closing: the store is closed, and keeps its log", async () => {
    const bench = new Bench();
    const host = await bench.open();
    for (let i = 0; i < 64; ++i) await host.write(put("k", i));
    bench.storage.auto = false;
    const closing = host.close();
    const part = await bench.storage.next();
    assert.equal(part.name, "putPart");
    bench.storage.auto = true;
    await part.fail("quota");
    await closing;
    assert.equal(bench.names("wal-").length, 65);
    assert.deepEqual(decode(await (await bench.open()).read(encode({ get: "k" }))), { value: 63 });
  });

  test("are not made in memory", async () => {
    const bench = new Bench();
    const host = await bench.open({ persistence: "memory" });
    for (let i = 0; i < 4; ++i) await host.write(put(`k${i}`, large));
    await sleep(10);
    assert.equal(bench.files.has("manifest"), false);
    await host.close();
  });
});

describe("ownership", () => {
  const locks = navigator.locks;

  test("a second owner waits, then gets StoreLocked", async () => {
    const first = await acquireOwnership("o1", { locks, waitMs: 1000 });
    await assert.rejects(acquireOwnership("o1", { locks, waitMs: 20 }), {
      name: "StoreError",
      code: "StoreLocked",
    });
    const other = await acquireOwnership("o2", { locks, waitMs: 20 });
    first.release();
    other.release();
  });

  test("a second owner gets the lock when the first releases it in time", async () => {
    const first = await acquireOwnership("o3", { locks, waitMs: 1000 });
    const second = acquireOwnership("o3", { locks, waitMs: 1000 });
    await sleep(5);
    first.release();
    first.release(); // may be called again
    (await second).release();
  });

  test("an aborted wait rejects with AbortError and leaves no lock", async () => {
    const first = await acquireOwnership("o4", { locks, waitMs: 1000 });
    const abort = new AbortController();
    const waiting = acquireOwnership("o4", { locks, waitMs: 1000, signal: abort.signal });
    await sleep(5);
    abort.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await assert.rejects(
      acquireOwnership("o4", { locks, waitMs: 1000, signal: AbortSignal.abort() }),
      {
        name: "AbortError",
      },
    );
    first.release();
    await sleep(5);
    const { held, pending } = await locks.query();
    assert(![...(held ?? []), ...(pending ?? [])].some(({ name }) => name === "entitable/o4"));
  });

  test("if the browser forbids Web Locks it also forbids storage", async () => {
    const request = () => Promise.reject(new DOMException("denied", "SecurityError"));
    const forbidding = { request, query: locks.query } as unknown as LockManager;
    await assert.rejects(acquireOwnership("o6", { locks: forbidding, waitMs: 20 }), {
      name: "StoreError",
      code: "PersistenceUnavailable",
    });
  });

  test("without Web Locks a store opens without a lock", async () => {
    (await acquireOwnership("o5", { locks: undefined, waitMs: 1 })).release();
  });
});

describe("events", () => {
  test("a listener that throws does not affect others, and its error is reported", async (t) => {
    const emitter = new Emitter<{ e: number }>();
    const seen: number[] = [];
    emitter.on("e", () => {
      throw new Error("listener");
    });
    emitter.on("e", (n) => seen.push(n));
    const unhandled = new Promise<Error>((resolve) => {
      const runners = process.listeners("unhandledRejection");
      process.removeAllListeners("unhandledRejection");
      process.once("unhandledRejection", (error) => resolve(error as Error));
      t.after(() => {
        for (const runner of runners) process.on("unhandledRejection", runner);
      });
    });
    emitter.emit("e", 1);
    assert.deepEqual(seen, [1]);
    assert.equal((await unhandled).message, "listener");
  });

  test("a function can be added twice and removed once", () => {
    const emitter = new Emitter<{ e: number }>();
    let calls = 0;
    const listener = () => {
      calls += 1;
    };
    const off = emitter.on("e", listener);
    emitter.on("e", listener);
    emitter.emit("e", 1);
    off();
    emitter.emit("e", 1);
    assert.equal(calls, 3);
  });
});
