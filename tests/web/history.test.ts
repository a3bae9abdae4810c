// Tests that covered segments stay in the storage as long as a durable reader of the change feed
// needs them, and no longer.

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileStoreName, mountPoint } from "../../web/src/storage/idbfs-database.ts";
import {
  type LogStorage,
  manifestName,
  numberFromName,
} from "../../web/src/storage/log-storage.ts";
import { NodeFilesStorage } from "../../web/src/storage/node-files.ts";
import { StoreHandle } from "../../web/src/store.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { withDurableReader } from "./support/durable-reader.ts";
import { IdbfsFixture, idbfsDatabase } from "./support/idbfs-fixture.ts";
import { openHost } from "./support/open-host.ts";

const start = Date.UTC(2026, 0, 1);
const dayMs = 24 * 60 * 60 * 1000;

interface Log {
  open(): Promise<LogStorage>;
  names(): Promise<string[]>; // of all files
  changeManifest(change: (manifest: Uint8Array) => Uint8Array): Promise<void>;
  remove(): Promise<void>;
}

async function inFolder(): Promise<Log> {
  const folder = await mkdtemp(join(tmpdir(), "entitable-history-"));
  return {
    open: () => NodeFilesStorage.open(folder),
    names: () => readdir(folder),
    async changeManifest(change) {
      const manifests = (await readdir(folder)).filter((name) => name.startsWith(manifestName));
      const newest = join(folder, manifests.sort().at(-1) as string);
      await writeFile(newest, change(await readFile(newest)));
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

async function inIndexedDb(): Promise<Log> {
  const fixture = new IdbfsFixture();
  const mount = mountPoint(fixture.store);
  return {
    open: () => fixture.open(),
    names: async () =>
      [...(await fixture.entries()).keys()].map((key) => key.slice(mount.length + 1)),
    async changeManifest(change) {
      const key = `${mount}/${manifestName}`;
      const entry = (await fixture.entries()).get(key) as { contents: Uint8Array };
      const database = await idbfsDatabase(mount);
      const transaction = database.transaction(fileStoreName, "readwrite");
      const contents = Uint8Array.from(change(entry.contents));
      transaction.objectStore(fileStoreName).put({ ...entry, contents }, key);
      await new Promise((resolve) => transaction.addEventListener("complete", resolve));
      database.close();
    },
    async remove() {},
  };
}

for (const [where, newLog] of [
  ["files", inFolder],
  ["IndexedDB", inIndexedDb],
] as const) {
  describe(`in ${where}, covered segments`, () => {
    // Opens the store, writes rows, and compacts it. Resolves to the segments that are there then,
    // and to the first and the last segment of this owner.
    async function write(log: Log, rows: number, nowMs: number) {
      const engine = await createEngine();
      const storage = await log.open();
      const host = await openHost({ engine, storage, clock: { now: () => nowMs } });
      const store = new StoreHandle("test", host);
      await store
        .table("items")
        .createTable()
        .catch(() => {});
      const first = engine.stats().nextSequence;
      for (let i = 0; i < rows; ++i)
        await store.table("items").upsertEntity({ partitionKey: "p", rowKey: `${i}`, at: nowMs });
      const { nextSequence, lastCommit, epoch } = engine.stats();
      await store.compact();
      await store.close();
      const there = (await log.names())
        .flatMap((name) => numberFromName("wal-", name) ?? [])
        .filter((number) => number > 0)
        .sort((a, b) => a - b);
      return { there, first, last: nextSequence - 1, lastCommit, epoch };
    }
    const range = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i);

    test("are deleted if there are no durable readers", async (t) => {
      const log = await newLog();
      t.after(() => log.remove());
      await write(log, 5, start);
      const { there, first } = await write(log, 5, start);
      const isClaim = (sequence: number) => where === "IndexedDB" && sequence === first - 1;
      assert.deepEqual(
        there.filter((sequence) => !isClaim(sequence)),
        [],
      );
    });

    test("are kept for a durable reader, for seven days", async (t) => {
      const log = await newLog();
      t.after(() => log.remove());
      const { lastCommit: commit, epoch } = await write(log, 5, start);
      await log.changeManifest((manifest) =>
        withDurableReader(manifest, { epoch, commit, nowMs: start }),
      );
      const second = await write(log, 3, start);
      assert.deepEqual(second.there.slice(-3), range(second.first, second.last));
      const third = await write(log, 3, start + 6 * dayMs);
      assert.deepEqual(third.there.slice(-7), range(second.first, third.last));
      const fourth = await write(log, 3, start + 8 * dayMs);
      assert.deepEqual(fourth.there.slice(-7), range(third.first, fourth.last));
      assert(!fourth.there.includes(second.last));
    });
  });
}
