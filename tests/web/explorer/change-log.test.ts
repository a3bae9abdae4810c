// Tests what the explorer's log keeps of the commits of a store.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ChangeLog, type CommitEntry } from "../../../web/src/explorer/change-log.ts";
import type { Change, ChangeBatch } from "../../../web/src/types.ts";

type Row = NonNullable<Change["after"]>;

function change(op: Change["op"], table = "lamps", text = ""): Change {
  const [partitionKey, rowKey] = ["desk", "1"];
  const row = { partitionKey, rowKey, etag: "", text } as unknown as Row;
  return {
    table,
    partitionKey,
    rowKey,
    op,
    ...(op !== "delete" && { after: row }),
    ...(op !== "insert" && { before: row }),
  };
}

function batch(sequence: number, ...changes: Change[]): ChangeBatch {
  return { sequence: BigInt(sequence), at: new Date(sequence), origin: "local", changes };
}

const commits = (log: ChangeLog) =>
  log.entries.filter((entry): entry is CommitEntry => entry.kind === "commit");
const sequences = (log: ChangeLog) => commits(log).map(({ sequence }) => Number(sequence));

describe("the log of changes", () => {
  test("counts inserts, updates and deletes by table", () => {
    const log = new ChangeLog();
    const changes = ["insert", "insert", "update", "delete"] as const;
    log.add(batch(1, ...changes.map((op) => change(op)), change("delete", "chairs")));
    const [entry] = commits(log);
    assert.deepEqual(
      [...(entry?.counts ?? [])],
      [
        ["lamps", { insert: 2, update: 1, delete: 1 }],
        ["chairs", { insert: 0, update: 0, delete: 1 }],
      ],
    );
    assert.equal(entry?.changes.length, 5);
  });

  test("keeps the newest entries", () => {
    const log = new ChangeLog({ entries: 3, bytes: 1_000_000 });
    for (let i = 1; i <= 10; ++i) log.add(batch(i, change("insert")));
    assert.deepEqual(sequences(log), [8, 9, 10]);
    const all = new ChangeLog();
    for (let i = 1; i <= 600; ++i) all.add(batch(i, change("insert")));
    assert.equal(all.entries.length, 500);
  });

  test("keeps the rows of the newest commits, in bounded memory, and all counts", () => {
    const log = new ChangeLog({ entries: 100, bytes: 100_000 });
    for (let i = 1; i <= 50; ++i) log.add(batch(i, change("update", "lamps", "x".repeat(1000))));
    const kept = commits(log).map(({ changes }) => changes.length);
    const count = kept.filter((rows) => rows === 1).length;
    assert(count >= 20 && count <= 25, `${count} commits have rows`);
    assert.deepEqual(
      kept,
      Array.from({ length: 50 }, (_, i) => (i < 50 - count ? 0 : 1)),
    );
    assert(commits(log).every(({ counts }) => counts.get("lamps")?.update === 1));
  });

  test("keeps the first rows of a large commit, and those of other commits", () => {
    const log = new ChangeLog({ entries: 100, bytes: 100_000 });
    log.add(batch(1, change("insert")));
    const rows = Array.from({ length: 1000 }, () => change("insert", "lamps", "x".repeat(1000)));
    log.add(batch(2, ...rows));
    const [first, second] = commits(log);
    assert.equal(first?.changes.length, 1);
    assert.equal(second?.counts.get("lamps")?.insert, 1000);
    const { length } = second?.changes ?? [];
    assert(length >= 8 && length <= 12, `${length} rows`);
  });

  test("frees the memory of commits that it forgets", () => {
    const log = new ChangeLog({ entries: 2, bytes: 10_000 });
    for (let i = 1; i <= 100; ++i) log.add(batch(i, change("insert", "lamps", "x".repeat(500))));
    assert.deepEqual(
      commits(log).map(({ changes }) => changes.length),
      [1, 1],
    );
    log.clear();
    assert.deepEqual(log.entries, []);
    for (let i = 1; i <= 2; ++i) log.add(batch(i, change("insert", "lamps", "x".repeat(500))));
    assert.deepEqual(
      commits(log).map(({ changes }) => changes.length),
      [1, 1],
    );
  });

  test("estimates bytes, dates and typed values", () => {
    const log = new ChangeLog({ entries: 10, bytes: 40_000 });
    const values = {
      bytes: new Uint8Array(20_000),
      at: new Date(),
      id: { type: "Guid", value: "" },
    };
    const after = { partitionKey: "p", rowKey: "r", etag: "", ...values } as unknown as Row;
    log.add(batch(1, { ...change("insert"), after }));
    assert.equal(commits(log)[0]?.changes.length, 0, "a quarter of the memory");
  });

  test("keeps the rows of pinned entries, and counts them, until they are released", () => {
    const text = "x".repeat(1000); // about 2200 bytes
    const log = new ChangeLog({ entries: 3, bytes: 10_000 });
    for (let i = 1; i <= 3; ++i) log.add(batch(i, change("insert", "lamps", text)));
    const pinned = log.pin() as CommitEntry[];
    for (let i = 4; i <= 8; ++i) log.add(batch(i, change("insert", "lamps", text)));
    assert.deepEqual(
      pinned.map(({ changes }) => changes.length),
      [1, 1, 1],
    );
    assert.deepEqual(sequences(log), [6, 7, 8]);
    assert.equal(commits(log).filter(({ changes }) => changes.length > 0).length, 1);
    log.unpin();
    for (let i = 9; i <= 11; ++i) log.add(batch(i, change("insert", "lamps", text)));
    assert.equal(commits(log).filter(({ changes }) => changes.length > 0).length, 3);
  });

  test("has one entry for gaps that follow each other", () => {
    const log = new ChangeLog();
    log.add(batch(1, change("insert")));
    log.addGap("first");
    log.addGap("second");
    log.add(batch(2, change("insert")));
    log.addGap("third");
    const texts = log.entries.map((entry) => (entry.kind === "gap" ? entry.text : "commit"));
    assert.deepEqual(texts, ["commit", "second", "commit", "third"]);
  });
});
