// Tests opening a store whose log is larger than its memory limit: with checkpoints in between, and
// with a crash at every step.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { logTooLargeError } from "../../web/src/host/limited-recovery.ts";
import type { LocalHostOptions } from "../../web/src/host/local-host.ts";
import { recover } from "../../web/src/host/log-recovery.ts";
import { verify } from "../../web/src/host/verify.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";

type Files = Map<string, Uint8Array>;

const memoryLimit = 1_000_000;
const text = "x".repeat(4000);
const rows = 500;
const rowKey = (i: number) => String(i).padStart(6, "0");

// Crashes in the call that writes for the `callsMax`-th time, after its effect.
class CrashingStorage extends MemoryStorage {
  calls = 0;
  segmentReads = 0;
  readonly #callsMax: number;

  constructor(files: Files, callsMax = Number.POSITIVE_INFINITY) {
    super(files);
    this.#callsMax = callsMax;
  }

  async #write(call: () => Promise<void>): Promise<void> {
    this.calls += 1;
    if (this.calls <= this.#callsMax) await call();
    if (this.calls >= this.#callsMax) throw new StorageError("gone", "crashed");
  }
  override claim(...a: Parameters<MemoryStorage["claim"]>): Promise<void> {
    return this.#write(() => super.claim(...a));
  }
  override putPart(...a: Parameters<MemoryStorage["putPart"]>): Promise<void> {
    return this.#write(() => super.putPart(...a));
  }
  override commitManifest(...a: Parameters<MemoryStorage["commitManifest"]>): Promise<void> {
    return this.#write(() => super.commitManifest(...a));
  }
  override deleteParts(...a: Parameters<MemoryStorage["deleteParts"]>): Promise<void> {
    return this.#write(() => super.deleteParts(...a));
  }
  override readSegments(...a: Parameters<MemoryStorage["readSegments"]>): Promise<void> {
    this.segmentReads += 1;
    return super.readSegments(...a);
  }
}

async function open(
  storage: MemoryStorage,
  options: Partial<LocalHostOptions> = {},
): Promise<StoreHandle> {
  const engine = await createEngine();
  return new StoreHandle("large", await openHost({ name: "large", engine, storage, ...options }));
}

const copyOf = (files: Files): Files => new Map([...files].map(([name, b]) => [name, b.slice()]));
const namesOf = (files: Files, prefix: string) =>
  [...files.keys()].filter((name) => name.startsWith(prefix));

function flipByte(bytes: Uint8Array | undefined, at: number): void {
  assert.ok(bytes !== undefined);
  bytes[at] = (bytes[at] as number) ^ 1;
}

// The files of a store that was never closed: a log of about 6 MB, with a checkpoint at its start
// and a part that no manifest names.
async function largeLog(): Promise<Files> {
  const files: Files = new Map();
  const store = await open(new MemoryStorage(files));
  const table = store.table("rows");
  await table.createTable();
  const entity = (i: number, n: number) => ({ partitionKey: "p", rowKey: rowKey(i), n, text });
  for (let i = 0; i < rows; ++i) await table.createEntity(entity(i, i));
  await store.compact();
  for (let i = 0; i < rows; ++i) await table.upsertEntity(entity((i * 37) % rows, -i), "Replace");
  for (let i = 0; i < rows; ++i) {
    await table.createEntity(entity(rows + i, i));
    if (i % 5 === 0) await table.deleteEntity("p", rowKey(i));
  }
  const left = copyOf(files);
  await store.close();
  const next = namesOf(left, "part-").length + 1;
  left.set(`part-${next.toString(16).padStart(16, "0")}`, Uint8Array.of(1, 2, 3));
  return left;
}

const log = await largeLog();

async function contentOf(store: StoreHandle): Promise<string> {
  const content: unknown[] = [];
  for await (const row of store.table("rows").listEntities()) {
    content.push([row.rowKey, row["n"], row.timestamp]);
  }
  return JSON.stringify(content);
}

const expected = await (async () => {
  const store = await open(new MemoryStorage(copyOf(log)));
  const content = await contentOf(store);
  await store.close();
  return content;
})();

describe("a log larger than the memory limit", () => {
  test("is opened with checkpoints in between, and can be written and opened again", async () => {
    const files = copyOf(log);
    const storage = new CrashingStorage(files);
    const store = await open(storage, { memoryLimit });
    assert.ok(storage.segmentReads > 3, `${storage.segmentReads} checkpoints`);
    assert.ok(namesOf(files, "wal-").length < namesOf(log, "wal-").length / 4);
    assert.ok((await store.stats()).memoryBytes <= memoryLimit);
    assert.equal(await contentOf(store), expected);
    await store.table("rows").createEntity({ partitionKey: "q", rowKey: "new" });
    const { damage, orphans } = await store.verify();
    assert.deepEqual([damage, orphans], [[], 0]);
    await store.close();
    const again = await open(new MemoryStorage(files), { memoryLimit, readOnly: true });
    assert.equal((await again.table("rows").getEntity("q", "new")).rowKey, "new");
    await again.close();
  });

  test("loses nothing in a crash at any step", async () => {
    const whole = new CrashingStorage(copyOf(log));
    const opened = await open(whole, { memoryLimit });
    const total = whole.calls;
    await opened.close();
    assert.ok(total > 20);
    for (let crash = 1; crash <= total; crash += crash < 15 ? 1 : 19) {
      const files = copyOf(log);
      const crashed = new CrashingStorage(files, crash);
      await assert.rejects(open(crashed, { memoryLimit }), { failure: "gone" }, `step ${crash}`);
      const twice = new CrashingStorage(files, 1 + (crash % 11));
      await open(twice, { memoryLimit }).then(
        (store) => store.close(),
        () => {},
      );
      const store = await open(new MemoryStorage(files), { memoryLimit });
      assert.equal(store.status.damage.length, 0);
      assert.equal(await contentOf(store), expected, `step ${crash}`);
      await store.table("rows").createEntity({ partitionKey: "q", rowKey: "new" });
      assert.equal((await store.verify()).ok, true);
      await store.close();
    }
  });

  test("is not opened for reading only", async () => {
    const files = copyOf(log);
    const before = copyOf(files);
    const opening = open(new MemoryStorage(files), { memoryLimit, readOnly: true });
    await assert.rejects(opening, { code: "OutOfMemory", hint: /once without readOnly/ });
    assert.deepEqual(files, before);
    const large = await open(new MemoryStorage(files), { memoryLimit: 30e6, readOnly: true });
    assert.equal(await contentOf(large), expected);
    await large.close();
  });

  test("is not opened if it is damaged, unless all of it fits", async () => {
    const files = copyOf(log);
    const last = namesOf(files, "wal-").sort().at(-2) as string;
    flipByte(files.get(last), 20);
    const before = copyOf(files);
    const opening = open(new MemoryStorage(files), { memoryLimit });
    await assert.rejects(opening, { code: "OutOfMemory", message: new RegExp(last) });
    assert.deepEqual(files, before);
    const store = await open(new MemoryStorage(files));
    assert.equal(store.status.state, "read-only");
    await store.close();
  });

  test("is not opened without space for checkpoints", async () => {
    const files = copyOf(log);
    const storage = new MemoryStorage(files);
    storage.putPart = () => Promise.reject(new StorageError("quota", "full"));
    const opening = open(storage, { memoryLimit });
    await assert.rejects(opening, { code: "QuotaExceeded", hint: /larger memoryLimit/ });
    const store = await open(new MemoryStorage(files));
    assert.equal(await contentOf(store), expected);
    await store.close();
  });

  test("that a damaged part belongs to is not opened, and keeps its files", async () => {
    const files = copyOf(log);
    const damaged = namesOf(files, "part-").sort()[2] as string;
    const bytes = files.get(damaged) as Uint8Array;
    flipByte(bytes, bytes.length >> 1);
    const opening = open(new MemoryStorage(files), { memoryLimit });
    await assert.rejects(opening, { code: "OutOfMemory", hint: new RegExp(damaged) });
    assert.deepEqual(files.get(damaged), bytes);
    const store = await open(new MemoryStorage(files));
    await assert.rejects(contentOf(store), { code: "Corrupted" });
    await store.close();
  });

  test("of another owner that claims it meanwhile is not changed any more", async () => {
    const files = copyOf(log);
    const storage = new CrashingStorage(files);
    const read = storage.readSegments.bind(storage);
    let claimed: Files | undefined;
    storage.readSegments = async (...a) => {
      if (claimed === undefined) {
        const other = await open(new MemoryStorage(files));
        await other.table("rows").createEntity({ partitionKey: "q", rowKey: "other" });
        claimed = copyOf(files);
      }
      await read(...a);
    };
    await assert.rejects(open(storage, { memoryLimit }), { failure: "fenced" });
    assert.deepEqual(files, claimed);
  });

  for (const [what, damage] of [
    ["cannot be read", () => undefined],
    ["was changed", (bytes: Uint8Array) => bytes.with(20, (bytes[20] as number) ^ 1)],
  ] as const) {
    test(`is not opened for writing if a segment ${what} that was intact before`, async () => {
      for (const nth of [1, 2, 3, 40, 41]) {
        const files = copyOf(log);
        const storage = new MemoryStorage(files);
        const read = storage.readSegments.bind(storage);
        let count = 0;
        storage.readSegments = (first, segment) =>
          read(first, (sequence, bytes) =>
            segment(sequence, ++count === nth ? bytes && damage(bytes) : bytes),
          );
        const message = /a damaged store writes no checkpoint/;
        // If all before the damage is applied, the store is open for reading.
        await open(storage, { memoryLimit }).then(
          async (damaged) => {
            assert.equal(damaged.status.state, "read-only");
            await damaged.close();
          },
          (error) => {
            assert.equal(error.code, "OutOfMemory");
            assert.match(error.message, message);
          },
        );
        const store = await open(new MemoryStorage(files), { memoryLimit });
        assert.equal(await contentOf(store), expected);
        await store.close();
      }
    });
  }

  test("is not opened further if its segments are gone that were there before", async () => {
    const storage = new MemoryStorage(copyOf(log));
    storage.readSegments = async () => {};
    const hint = /wal-.* is not a file of bytes/;
    await assert.rejects(open(storage, { memoryLimit }), { code: "OutOfMemory", hint });
  });

  test("is not changed further once another tab may claim it", async () => {
    for (const last of [1, 2, 5, 30]) {
      const files = copyOf(log);
      const storage = new CrashingStorage(files);
      const isOwner = () => storage.calls < last;
      const logOwnership = {
        client: new Uint8Array(16),
        isOwner,
        onReplaced() {},
        handOver: () => Promise.resolve(false),
      };
      await assert.rejects(open(storage, { memoryLimit, logOwnership }), { failure: "fenced" });
      const removals = 2; // of parts, which the storage allows to the owner only
      assert.ok(storage.calls <= last + removals, `${storage.calls} calls`);
      const store = await open(new MemoryStorage(files), { memoryLimit });
      assert.equal(await contentOf(store), expected);
      await store.close();
    }
  });

  test("is not opened if it is unknown whether a manifest was stored", async () => {
    const storage = new MemoryStorage(copyOf(log));
    storage.commitManifest = () => Promise.reject(new StorageError("unknown", "no response"));
    await assert.rejects(open(storage, { memoryLimit }), { failure: "unknown" });
  });

  test("is verified after compact()", async () => {
    const storage = new MemoryStorage(copyOf(log));
    const engine = await createEngine();
    const host = await openHost({ engine, storage });
    const options = { name: "large", engine, storage, memoryLimit, recover, logTooLargeError };
    await assert.rejects(verify(options), { code: "OutOfMemory", hint: /compact\(\)/ });
    await host.compact();
    assert.equal((await verify(options)).ok, true);
    await host.close();
  });
});
