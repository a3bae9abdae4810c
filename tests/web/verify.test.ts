// Tests store.verify() and store.compact(): on files and in memory, with the built package; in tabs
// that share a store; and in a host with a storage that the test controls.

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { LocalHost } from "../../web/src/host/local-host.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Store, StoreWarning, VerifyReport } from "../../web/src/types.ts";
import { ControlledStorage } from "./support/controlled-storage.ts";
import { encode, FakeEngine } from "./support/fake-engine.ts";
import { openHost } from "./support/open-host.ts";
import { openStore } from "./support/package.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest } from "./support/simulated-test.ts";

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(() => rm(root, { recursive: true }));

const newPath = () => join(root, String(++folders));
const inFiles = (path: string) => openStore({ persistence: "file", path, durability: "relaxed" });

async function fill(store: Store, rows: number): Promise<void> {
  const table = store.table("log");
  await table.createTable();
  const writes = Array.from({ length: rows }, (_, n) =>
    table.createEntity({ partitionKey: "p", rowKey: String(n), n }),
  );
  await Promise.all(writes);
}

async function count(store: Store): Promise<number> {
  return (await store.stats()).rows;
}

// Returns the names of the files in use. The manifest before the one in force also stays.
const logOf = async (path: string) => {
  const names = (await readdir(join(path, "default"))).filter((name) => name !== "lock").sort();
  const manifest = names.findLast((name) => name.startsWith("manifest"));
  return names.filter((name) => !name.startsWith("manifest") || name === manifest);
};

// Returns the name of a file in reports, which lacks the generation or the owner.
const reportedName = (file: string) => file.replace(/^(manifest|part-[0-9a-f]+)-.*/, "$1");

describe("verify", () => {
  test("reports no damage in an intact store, and counts what is stored", async () => {
    const path = newPath();
    const store = await inFiles(path);
    await fill(store, 10);
    await store.compact();
    await store.table("log").createEntity({ partitionKey: "p", rowKey: "more" });
    const report = await store.verify();
    assert.deepEqual([report.ok, report.damage, report.orphans], [true, [], 0]);
    const { manifest, parts, segments } = report.files;
    assert.deepEqual([manifest.count, parts.count, segments.count], [1, 1, 1]);
    const names = await logOf(path);
    const sizes = await Promise.all(
      names
        .filter((name) => !name.startsWith("relaxed"))
        .map(async (name) => (await readFile(join(path, "default", name))).length),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.equal(manifest.bytes + parts.bytes + segments.bytes, total);
    await store.close();
    await assert.rejects(store.verify(), { code: "StoreClosed" });
    await assert.rejects(store.compact(), { code: "StoreClosed" });
  });

  test("in memory reports no files, and there is nothing to compact", async () => {
    const store = await openStore({ persistence: "memory" });
    await fill(store, 3);
    await store.compact();
    const none = { count: 0, bytes: 0 };
    assert.deepEqual(await store.verify(), {
      ok: true,
      files: { manifest: none, parts: none, segments: none },
      damage: [],
      orphans: 0,
    } satisfies VerifyReport);
    await store.close();
  });

  for (const kind of ["manifest", "part", "wal"]) {
    test(`finds damage to a ${kind} while open and after reopening`, async () => {
      const path = newPath();
      const store = await inFiles(path);
      await fill(store, 10);
      await store.compact();
      await store.table("log").createEntity({ partitionKey: "p", rowKey: "more" });
      const name = (await logOf(path)).find((file) => file.startsWith(kind)) as string;
      const file = join(path, "default", name);
      const bytes = await readFile(file);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 0x10;
      await writeFile(file, bytes);
      const check = async (of: Store) => {
        const report = await of.verify();
        assert.equal(report.ok, false);
        assert.equal(report.damage[0]?.file, reportedName(name));
        assert.notEqual(report.damage[0]?.message, "");
      };
      await check(store);
      assert.equal(await count(store), 11);
      await store.close();
      const again = await inFiles(path);
      if (kind === "part") {
        // Opening reads no parts, even if the log has changed some of their rows.
        assert.equal(again.status.state, "open");
        const row = again.table("log").getEntity("p", "more");
        await assert.rejects(row, { code: "Corrupted" });
      }
      assert.equal(again.status.state, "read-only");
      await check(again);
      await assert.rejects(again.compact(), { code: "Corrupted" });
      await again.close();
    });
  }

  test("finds a truncated file and a missing one", async () => {
    const path = newPath();
    const store = await inFiles(path);
    await fill(store, 10);
    await store.compact();
    const part = (await logOf(path)).find((file) => file.startsWith("part")) as string;
    await truncate(join(path, "default", part), 40);
    assert.deepEqual(
      (await store.verify()).damage.map(({ file }) => file),
      [reportedName(part)],
    );
    await rm(join(path, "default", part));
    const [missing] = (await store.verify()).damage;
    assert.deepEqual(missing, { file: reportedName(part), message: "the file is missing" });
    await store.close();
  });

  test("runs during writes and checkpoints, all of which are stored", async () => {
    const path = newPath();
    const store = await inFiles(path);
    await fill(store, 100);
    const table = store.table("log");
    for (let round = 0; round < 5; ++round) {
      const verifying = [store.verify(), store.compact(), store.verify()];
      const writing: Promise<unknown>[] = [];
      for (let n = 0; n < 50; ++n) {
        writing.push(table.upsertEntity({ partitionKey: "p", rowKey: String(n), n: round }));
      }
      const [first, , last] = (await Promise.all(verifying)) as VerifyReport[];
      assert.deepEqual([first?.damage, last?.damage], [[], []]);
      await Promise.all(writing);
    }
    await store.close();
    const again = await inFiles(path);
    assert.deepEqual([await count(again), again.status.damage], [100, []]);
    assert.equal((await again.table("log").getEntity("p", "7")).n, 4);
    await again.close();
  });
});

describe("compact", () => {
  const compacted = ["manifest-0000000000000002", "part-0000000000000001-0000000000000001"];

  test("leaves a manifest and parts, and keeps every row", async () => {
    const path = newPath();
    const store = await inFiles(path);
    await fill(store, 20);
    assert.equal(
      (await logOf(path)).some((name) => name.startsWith("wal-")),
      true,
    );
    await store.compact();
    assert.deepEqual(await logOf(path), compacted);
    await store.compact(); // nothing to do
    assert.deepEqual(await logOf(path), compacted);
    await store.close();
    const again = await inFiles(path);
    assert.equal(await count(again), 20);
    await again.close();
  });

  test("covers deferred writes", async () => {
    const path = newPath();
    const store = await openStore({ persistence: "file", path, durability: "deferred" });
    await fill(store, 20);
    await store.compact();
    assert.deepEqual(await logOf(path), compacted);
    await store.close();
  });
});

describe("tabs that share a store", () => {
  simulatedTest("verify and compact it from any of them", async () => {
    const origin = new Origin();
    const owner = new StoreHandle("shop", await new Tab(origin).open());
    const follower = new StoreHandle("shop", await new Tab(origin).open());
    assert.equal(follower.status.owner, "other-tab");
    await fill(follower, 5);
    await follower.compact();
    assert.deepEqual([...origin.files.keys()].sort(), ["manifest", "part-0000000000000001"]);
    assert.equal((await follower.verify()).ok, true);
    origin.files.delete("part-0000000000000001");
    const { ok, damage } = await follower.verify();
    assert.deepEqual([ok, damage[0]?.file], [false, "part-0000000000000001"]);
    await follower.close();
    await owner.close();
  });

  simulatedTest("compact it even if the owner dies during it", async () => {
    const origin = new Origin();
    const [a, b] = [new Tab(origin), new Tab(origin)];
    await a.open();
    const follower = new StoreHandle("shop", await b.open());
    await fill(follower, 5);
    const compacting = follower.compact();
    a.kill();
    await compacting;
    assert.deepEqual(
      [...origin.files.keys()].filter((name) => name.startsWith("wal-")),
      [],
    );
    assert.equal((await follower.verify()).ok, true);
    assert.equal(await count(follower), 5);
    await follower.close();
  });
});

// ---- The host by itself -------------------------------------------------------------------------

class Bench {
  readonly files = new Map<string, Uint8Array>();
  readonly storage = new ControlledStorage(new MemoryStorage(this.files));
  readonly warnings: StoreWarning[] = [];

  open(): Promise<LocalHost> {
    return openHost({
      engine: new FakeEngine(),
      storage: this.storage,
      clock: { now: () => 1_000_000 },
      persisted: false,
      onWarning: (warning) => this.warnings.push(warning),
    });
  }
  names(prefix: string): string[] {
    return [...this.files.keys()].filter((name) => name.startsWith(prefix));
  }
}

const put = (key: string) => encode({ put: key, value: 1 });

describe("a host", () => {
  test("a failed compaction rejects, changes nothing, and can be repeated", async () => {
    const bench = new Bench();
    const host = await bench.open();
    await host.write(put("a"));
    bench.storage.failing = "quota";
    await assert.rejects(host.compact(), { code: "QuotaExceeded" });
    bench.storage.failing = undefined;
    assert.deepEqual([bench.names("part-"), bench.names("manifest")], [[], []]);
    assert.deepEqual(bench.warnings, [], "the caller gets the error");
    await host.write(put("b"));
    await host.compact();
    assert.deepEqual([bench.names("wal-"), bench.names("manifest").length], [[], 1]);
    await host.close();
  });

  test("compacting removes orphans that could not be removed before", async () => {
    const bench = new Bench();
    bench.files.set("wal-0000000000000001", encode([]));
    bench.files.set("part-0000000000000009", encode([]));
    bench.storage.failing = "aborted"; // makes the claim and the first removal of orphans fail
    const host = await bench.open();
    bench.storage.failing = undefined;
    assert.equal((await host.verify()).orphans, 1);
    await host.write(put("a"));
    await host.compact();
    assert.deepEqual(bench.names("part-"), ["part-0000000000000001"]);
    await host.close();
  });

  test("a compaction waits for the current checkpoint, and covers later writes", async () => {
    const bench = new Bench();
    const host = await bench.open();
    await host.write(put("a"));
    bench.storage.auto = false;
    const first = host.compact();
    const part = await bench.storage.next();
    assert.equal(part.name, "putPart");
    const writing = host.write(put("b"));
    await (await bench.storage.next()).succeed();
    await writing;
    const second = host.compact();
    bench.storage.auto = true;
    await part.succeed();
    await Promise.all([first, second]);
    assert.deepEqual(bench.names("wal-"), []);
    assert.equal(bench.names("part-").length, 2); // each part has one row
    await host.close();
  });

  test("closing ends a compaction, and rejects it", async () => {
    const bench = new Bench();
    const host = await bench.open();
    await host.write(put("a"));
    bench.storage.auto = false;
    const compacting = assert.rejects(host.compact(), { code: "StoreClosed" });
    const part = await bench.storage.next();
    bench.storage.auto = true;
    const closing = host.close();
    await part.succeed();
    await Promise.all([compacting, closing]);
  });
});
