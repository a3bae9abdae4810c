// Tests the engine's functions without a host: opening, groups, segments, checkpoints and failures.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { ResponseDecoder } from "../../web/src/client/rpc-codec.ts";
import { RestError, StoreError } from "../../web/src/errors.ts";
import { createEngine, type Engine, PartsNeeded } from "../../web/src/wasm/engine.ts";
import type { EntitableModule } from "../../web/src/wasm/entitable.mjs";
import { compileModule } from "../../web/src/wasm/module.ts";
import { ModuleInstance } from "../../web/src/wasm/module-instance.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import {
  encodeCreateTable,
  encodeGet,
  encodeQuery,
  encodeWrite,
} from "./support/copied-messages.ts";
import { wasmWithMaxPages } from "./support/limited-memory.ts";

const decoder = new ResponseDecoder();

const now = Date.UTC(2026, 0, 1);

// The files that a host would have stored.
class Files {
  manifest: Uint8Array | undefined;
  readonly parts = new Map<number, Uint8Array>();
  readonly segments = new Map<number, Uint8Array>();

  async open(): Promise<Engine> {
    const engine = await createEngine();
    for (const part of engine.recover(this.manifest)) {
      const bytes = this.parts.get(part.id);
      assert.ok(bytes !== undefined);
      engine.loadPart(part.id, bytes);
    }
    for (const sequence of [...this.segments.keys()].sort((a, b) => a - b)) {
      if (sequence < engine.firstLiveSequence) continue;
      engine.replaySegment(sequence, this.segments.get(sequence) as Uint8Array);
    }
    engine.finishRecovery();
    return engine;
  }

  store(engine: Engine): void {
    for (let sealed = engine.seal(); sealed !== undefined; sealed = engine.seal()) {
      const { sequence, segments } = sealed;
      for (const [i, bytes] of segments.entries()) this.segments.set(sequence + i, bytes);
      engine.markStored(sequence + segments.length - 1);
    }
  }

  commit(engine: Engine, ...requests: Uint8Array[]): Uint8Array[] {
    const staged = assertLoaded(engine.stage(requests, now));
    if (staged.changes) engine.publish();
    this.store(engine);
    return staged.responses;
  }

  checkpoint(engine: Engine): void {
    assert.ok(engine.beginCheckpoint());
    for (let part = engine.nextCheckpointPart(); part; part = engine.nextCheckpointPart()) {
      if (part instanceof PartsNeeded) {
        for (const id of part.ids) engine.loadPartForCheckpoint(id, this.parts.get(id));
      } else {
        this.parts.set(part.id, part.bytes);
      }
    }
    const end = engine.finishCheckpoint({ bytes: 0, ageMs: 0 }, now);
    this.manifest = end.manifest;
    for (const id of end.obsoleteParts) this.parts.delete(id);
    for (const sequence of [...this.segments.keys()]) {
      if (sequence < end.segmentsBelow) this.segments.delete(sequence);
    }
    engine.markCheckpointCommitted();
  }
}

const create = encodeCreateTable("people");
function insert(rowKey: string, entity: object = {}): Uint8Array {
  return encodeWrite("people", [{ kind: "insert", partitionKey: "p", rowKey, entity }], false);
}
function rows(engine: Engine): unknown[] {
  return decoder
    .page(assertLoaded(engine.read(encodeQuery("people", {}))))
    .rows.map((row) => row.rowKey);
}

describe("opening", () => {
  test("a new store has nothing to load", async () => {
    const engine = await createEngine();
    assert.deepEqual(engine.recover(undefined), []);
    engine.finishRecovery();
    assert.equal(engine.isDamaged, false);
    assert.deepEqual(engine.damage(), []);
    assert.equal(engine.verify(), "");
    assert.equal(engine.seal(), undefined);
    engine.close();
  });

  test("segments restore everything, including timestamps", async () => {
    const files = new Files();
    const first = await files.open();
    files.commit(first, create, insert("1", { v: 1.5 }), insert("2"));
    files.commit(first, insert("3", { text: "\ud83d" }));
    const before = decoder.page(assertLoaded(first.read(encodeQuery("people", {}))));
    first.close();
    const second = await files.open();
    assert.deepEqual(decoder.page(assertLoaded(second.read(encodeQuery("people", {})))), before);
    assert.equal(second.verify(), "");
  });

  test("a checkpoint and the segments after it restore everything", async () => {
    const files = new Files();
    const first = await files.open();
    files.commit(first, create, insert("1"), insert("2", { a: "b".repeat(1000) }));
    files.checkpoint(first);
    assert.equal(files.segments.size, 0);
    assert.ok(files.parts.size > 0);
    files.commit(first, insert("3"));
    assert.equal(files.segments.size, 1);
    const before = decoder.page(assertLoaded(first.read(encodeQuery("people", {}))));
    const second = await files.open();
    assert.deepEqual(decoder.page(assertLoaded(second.read(encodeQuery("people", {})))), before);
    assert.ok(second.firstLiveSequence > 1);
    files.commit(second, insert("4"));
    files.checkpoint(second);
    assert.deepEqual(rows(await files.open()), ["1", "2", "3", "4"]);
  });

  test("an abandoned checkpoint leaves no trace", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, insert("1"));
    assert.ok(engine.beginCheckpoint());
    engine.nextCheckpointPart();
    engine.abandonCheckpoint();
    files.commit(engine, insert("2"));
    files.checkpoint(engine);
    assert.deepEqual(rows(await files.open()), ["1", "2"]);
  });

  test("with a damaged segment the store opens read-only with intact commits", async () => {
    const files = new Files();
    const first = await files.open();
    files.commit(first, create, insert("1"));
    files.commit(first, insert("2"));
    const last = files.segments.get(2) as Uint8Array;
    last[last.length - 1] = (last[last.length - 1] as number) ^ 1;
    const second = await files.open();
    assert.equal(second.isDamaged, true);
    assert.equal(second.damage().length, 1);
    assert.match((second.damage()[0] as { file: string }).file, /^wal-/);
    assert.deepEqual(rows(second), ["1"]);
    const { failed, changes } = assertLoaded(second.stage([insert("9")], now));
    assert.deepEqual([failed, changes], [[true], false]);
  });

  test("a lost part is reported as damage: its rows are missing, the others are read", async () => {
    const files = new Files();
    const first = await files.open();
    files.commit(first, create, insert("1"));
    files.checkpoint(first);
    files.commit(first, encodeCreateTable("other"));
    const engine = await createEngine();
    const parts = engine.recover(files.manifest);
    assert.equal(parts.length, 1);
    engine.loadPart(parts[0]?.id as number, undefined);
    engine.finishRecovery();
    assert.equal(engine.isDamaged, true);
    assert.deepEqual(rows(engine), []);
    assert.equal(engine.stats().tables.length, 1);
  });

  test("damage that the host found is reported", async () => {
    const engine = await createEngine();
    engine.recover(undefined);
    engine.reportDamage({ file: "wal-é", message: "could not be read – 💥" });
    engine.finishRecovery();
    assert.deepEqual(engine.damage(), [{ file: "wal-é", message: "could not be read – 💥" }]);
    assert.equal(engine.isDamaged, true);
  });

  test("a manifest of a newer format cannot be opened", async () => {
    const files = new Files();
    const first = await files.open();
    files.commit(first, create);
    files.checkpoint(first);
    const engine = await createEngine();
    const garbage = new Uint8Array([1, 2, 3]);
    assert.throws(
      () => {
        engine.recover(garbage);
        engine.finishRecovery();
        if (engine.isDamaged) throw new StoreError("Corrupted", "damage was reported");
      },
      (error: StoreError) => ["Corrupted", "FormatTooNew"].includes(error.code),
    );
  });
});

describe("groups", () => {
  test("requests of one group see each other's effects and get a response each", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create);
    const staged = assertLoaded(engine.stage([insert("1"), insert("1"), insert("2")], now));
    assert.deepEqual(staged.failed, [false, true, false]);
    assert.equal(staged.changes, true);
    assert.equal(decoder.etagsOfWrite(staged.responses[0] as Uint8Array).length, 1);
    assert.throws(() => decoder.etagsOfWrite(staged.responses[1] as Uint8Array), {
      code: "EntityAlreadyExists",
    });
    assert.deepEqual(rows(engine), [], "readers see the published version only");
    engine.publish();
    assert.deepEqual(rows(engine), ["1", "2"]);
  });

  test("a write without staging is published with its response", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create);
    const one = assertLoaded(engine.stageAndPublish([insert("1")], now));
    assert.deepEqual([one.failed, one.changes], [[false], true]);
    assert.equal(decoder.etagsOfWrite(one.responses[0] as Uint8Array).length, 1);
    assert.deepEqual(rows(engine), ["1"]);
    const again = assertLoaded(engine.stageAndPublish([insert("1")], now));
    assert.deepEqual([again.failed, again.changes], [[true], false]);
    const more = assertLoaded(engine.stageAndPublish([insert("1"), insert("2"), insert("3")], now));
    assert.deepEqual([more.failed, more.changes], [[true, false, false], true]);
    assert.deepEqual(rows(engine), ["1", "2", "3"]);
    files.store(engine);
    assert.deepEqual(rows(await files.open()), ["1", "2", "3"]);
  });

  test("a discarded group has no effect", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create);
    engine.stage([insert("1")], now);
    engine.discard();
    assert.equal(engine.seal(), undefined);
    assert.deepEqual(rows(engine), []);
    files.commit(engine, insert("1"));
    assert.deepEqual(rows(engine), ["1"]);
  });

  test("a group of failures changes nothing", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create);
    const staged = assertLoaded(
      engine.stage([create, encodeGet("people", "p", "r"), new Uint8Array(3)], now),
    );
    assert.deepEqual(staged.failed, [true, true, true]);
    assert.equal(staged.changes, false);
    assert.throws(() => decoder.etagsOfWrite(staged.responses[1] as Uint8Array), {
      code: "InvalidInput",
    });
    assert.deepEqual(engine.stage([], now), {
      responses: [],
      failed: [],
      onlyDeletes: [],
      changes: false,
    });
  });

  test("several published groups are sealed into one segment, in order", async () => {
    const files = new Files();
    const engine = await files.open();
    for (const request of [create, insert("1"), insert("2")]) {
      engine.stage([request], now);
      engine.publish();
    }
    assert.equal(engine.stats().pendingCommits, 3);
    files.store(engine);
    assert.equal(files.segments.size, 1);
    assert.equal(engine.stats().pendingCommits, 0);
    assert.deepEqual(rows(await files.open()), ["1", "2"]);
  });

  test("timestamps rise even if the clock is set back", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, insert("1"));
    engine.stage([insert("2")], now - 1e9);
    engine.publish();
    const page = decoder.page(assertLoaded(engine.read(encodeQuery("people", {})))).rows;
    assert.ok(String(page[1]?.timestamp) > String(page[0]?.timestamp));
  });
});

describe("memory", () => {
  test("returned values belong to the reader, however memory grows", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create);
    const { responses } = assertLoaded(engine.stage([insert("1", { v: "x" })], now));
    engine.publish();
    const sealed = engine.seal();
    const bytes = sealed?.segments[0];
    assert.ok(sealed !== undefined && bytes !== undefined);
    assert.equal(bytes.buffer.byteLength, bytes.length);
    const reply = (responses[0] as Uint8Array).slice();
    engine.markStored(sealed.sequence);
    const copy = bytes.slice();
    for (let i = 0; i < 40; ++i) {
      const operations = Array.from({ length: 50 }, (_, j) => ({
        kind: "insert" as const,
        partitionKey: "big",
        rowKey: `${i}-${j}`,
        entity: { text: "y".repeat(20000) },
      }));
      files.commit(engine, encodeWrite("people", operations, true));
    }
    assert.deepEqual(bytes, copy);
    assert.deepEqual(responses[0], reply);
    assert.equal(decoder.etagsOfWrite(responses[0] as Uint8Array).length, 1);
    const page = decoder.page(assertLoaded(engine.read(encodeQuery("people", {}))));
    assert.equal(page.rows.length, 1000);
    assert.ok(
      page.rows.every((row) => row.partitionKey !== "big" || row.text === "y".repeat(20000)),
    );
    assert.equal(engine.verify(), "");
  });

  test("running out of memory rejects one write and leaves the store usable", async () => {
    const engine = await createEngine({ wasm: await wasmWithMaxPages(400) });
    engine.recover(undefined);
    engine.finishRecovery();
    const files = new Files();
    files.commit(engine, create);
    let stored = 0;
    const outOfMemory = (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.equal(error.code, "OutOfMemory");
      return true;
    };
    const batch = (i: number) =>
      encodeWrite(
        "people",
        Array.from({ length: 10 }, (_, j) => ({
          kind: "insert" as const,
          partitionKey: "p",
          rowKey: `${i}-${j}`,
          entity: { text: "y".repeat(10000) },
        })),
        true,
      );
    assert.throws(() => {
      for (; ; ++stored) {
        engine.stage([batch(stored)], now);
        engine.publish();
        files.store(engine);
      }
    }, outOfMemory);
    assert.ok(stored > 50);
    assert.equal(engine.verify(), "");
    assert.ok(engine.stats().rows >= stored * 10);
    const first = decoder.page(assertLoaded(engine.read(encodeQuery("people", { top: 1 }))))
      .rows[0];
    assert.ok(first !== undefined);
    const remove = encodeWrite(
      "people",
      [{ kind: "delete", partitionKey: "p", rowKey: String(first.rowKey), etag: "*" }],
      false,
    );
    assert.deepEqual(assertLoaded(engine.stage([remove], now)).failed, [false]);
    engine.publish();
    assert.equal(engine.verify(), "");
  });

  test("stats count tables, rows and bytes", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, encodeCreateTable("Other"), insert("1"), insert("2"));
    const stats = engine.stats();
    assert.deepEqual(
      stats.tables.map(({ name, rows: count }) => [name, count]),
      [
        ["Other", 0],
        ["people", 2],
      ],
    );
    assert.equal(stats.rows, 2);
    assert.ok(stats.bytes > 0 && stats.memoryBytes >= stats.bytes);
    assert.equal(stats.lastCommit, 4);
    assert.equal(stats.nextSequence, 2);
    assert.equal(stats.segmentsSinceCheckpoint, 1);
    assert.equal(stats.segmentBytesSinceCheckpoint, (files.segments.get(1) as Uint8Array).length);
  });
});

describe("failures", () => {
  test("a closed engine throws an error that says so", async () => {
    const engine = await createEngine();
    engine.close();
    engine.close();
    const closed = (error: unknown) => error instanceof StoreError && error.code === "StoreClosed";
    assert.throws(() => engine.recover(undefined), closed);
    assert.throws(() => engine.read(create), closed);
    assert.throws(() => engine.isDamaged, closed);
    assert.throws(() => engine.stats(), closed);
  });

  test("a violated precondition makes the handle reject writes", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, insert("1"));
    assert.throws(
      () => engine.publish(), // nothing is staged
      (error: RestError) => error instanceof RestError && error.code === "InternalError",
    );
    assert.throws(
      () => engine.stage([insert("2")], now),
      (error: RestError) => error instanceof RestError && /Open it again/.test(error.message),
    );
    assert.equal(engine.isDamaged, true);
    assert.deepEqual(rows(engine), ["1"]);
  });

  test("a fork and a rollback in one module instance", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, insert("1"));
    const fork = engine.fork();
    const version = engine.retainVersion();
    const nowhere = new Files();
    nowhere.commit(fork, insert("2"));
    files.commit(engine, insert("3"));
    assert.deepEqual(rows(fork), ["1", "2"]);
    assert.deepEqual(rows(engine), ["1", "3"]);
    engine.rollbackToVersion(version);
    assert.deepEqual(rows(engine), ["1"]);
    engine.releaseVersion(version);
    engine.close();
    assert.deepEqual(rows(fork), ["1", "2"]);
    const second = fork.fork();
    fork.close();
    nowhere.commit(second, insert("4"));
    assert.deepEqual(rows(second), ["1", "2", "4"]);
    assert.equal(second.verify(), "");
    second.close();
    assert.throws(() => second.fork(), { code: "StoreClosed" });
  });

  test("unknown versions and unavailable ones are internal errors", async () => {
    const files = new Files();
    const engine = await files.open();
    files.commit(engine, create, insert("1"));
    const version = engine.retainVersion();
    engine.releaseVersion(version);
    assert.throws(() => engine.rollbackToVersion(version), { code: "InternalError" });
    assert.equal(engine.isDamaged, true);
    assert.deepEqual(rows(engine.fork()), ["1"]);
    assert.equal(engine.fork().isDamaged, true); // a fork shares the damaged data

    const other = await files.open();
    files.commit(other, insert("2"));
    files.checkpoint(other);
    const lazy = await createEngine();
    lazy.recover(files.manifest);
    lazy.finishRecovery();
    assert.throws(() => lazy.fork(), { code: "InternalError" }); // a part is not in memory
  });

  test("two stores in one process share nothing", async () => {
    const [a, b] = await Promise.all([new Files().open(), new Files().open()]);
    new Files().commit(a, create, insert("1"));
    new Files().commit(b, create);
    assert.deepEqual([rows(a), rows(b)], [["1"], []]);
  });

  test("a missing IndexedDB is an error and does not abort the process", async () => {
    const engine = await createEngine();
    await assert.rejects(
      engine.openIdbfsDatabase("/entitable/none"),
      (error: StoreError) => error.code === "PersistenceUnavailable",
    );
  });
});

describe("memory of a closed engine", () => {
  // Returns the number of instances that `work` creates. Deferred modules use the memory of the
  // primary one, so they do not count.
  async function instancesOf(work: () => Promise<void>): Promise<number> {
    const { instantiate } = WebAssembly;
    let count = 0;
    WebAssembly.instantiate = ((...given: Parameters<typeof instantiate>) => {
      const exports = WebAssembly.Module.exports(given[0] as unknown as WebAssembly.Module);
      if (exports.some(({ kind }) => kind === "memory")) count += 1;
      return instantiate(...given);
    }) as typeof instantiate;
    try {
      await work();
    } finally {
      WebAssembly.instantiate = instantiate;
    }
    return count;
  }

  const fits = 2 ** 32;

  async function open(reusedBytesMax: number): Promise<Engine> {
    const engine = await createEngine({ reusedBytesMax });
    engine.recover(undefined);
    engine.finishRecovery();
    assert.deepEqual([engine.stats().rows, engine.verify()], [0, ""]);
    return engine;
  }

  // Opens engines until no closed engine's instance is left. Closes them when `t` ends.
  async function useAll(t: TestContext): Promise<void> {
    const engines: Engine[] = [];
    const opens = async () => void engines.push(await open(fits));
    while ((await instancesOf(opens)) === 0);
    t.after(() => {
      for (const engine of engines) engine.close();
    });
  }

  test("is used by the next engine, unless it is larger than that may use", async (t) => {
    await useAll(t);
    (await createEngine()).close();
    const engines: Engine[] = [];
    const opens = (reusedBytesMax: number) => async () =>
      void engines.push(await open(reusedBytesMax));
    assert.equal(await instancesOf(opens(1000)), 1);
    assert.equal(await instancesOf(opens(fits)), 0);
    assert.equal(await instancesOf(opens(fits)), 1, "the other two are in use");
    for (const engine of engines) engine.close();
    assert.equal(await instancesOf(opens(fits)), 0);
    engines.at(-1)?.close();
  });

  test("is not used after a check failed, also in a fork", async (t) => {
    await useAll(t);
    const fails = (engine: Engine) =>
      assert.throws(() => engine.markCheckpointCommitted(), { code: "InternalError" });
    const engine = await open(0);
    fails(engine);
    engine.close();
    const parent = await open(0);
    const fork = parent.fork();
    fails(fork);
    fork.close();
    parent.close();
    const engines: Engine[] = [];
    const opens = async () => void engines.push(await open(fits));
    assert.equal(await instancesOf(opens), 1);
    engines[0]?.close();
  });

  test("is not used if it has no memory left", async (t) => {
    await useAll(t);
    const module = { HEAPU8: new Uint8Array(0), _entitable_open: () => 0 };
    const full = new ModuleInstance(
      { module: module as unknown as EntitableModule, exports: undefined },
      await compileModule(),
      undefined,
    );
    full.onEngineOpened();
    full.onEngineClosed(true);
    const engines: Engine[] = [];
    const opens = async () => void engines.push(await open(fits));
    assert.equal(await instancesOf(opens), 1);
    engines[0]?.close();
  });

  test("is not used while a fork of the engine is open", async (t) => {
    await useAll(t);
    const engine = await open(0);
    const fork = engine.fork();
    engine.close();
    const engines: Engine[] = [];
    const opens = async () => void engines.push(await open(fits));
    assert.equal(await instancesOf(opens), 1);
    fork.close();
    assert.equal(await instancesOf(opens), 0);
    for (const opened of engines) opened.close();
  });
});
