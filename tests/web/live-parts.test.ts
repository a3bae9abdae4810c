// Tests live queries of a store that is larger than its memory limit: rows are loaded when they are
// needed, and unloaded again.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openStore } from "./support/package.ts";
import { seededRandom } from "./support/random.ts";
import { until } from "./support/until.ts";

const rowCount = 12_000;
const memoryLimit = 1024 * 1024; // about a third of the rows

interface Item {
  value: number;
  text: string;
}
const item = (i: number, value: number) => ({
  partitionKey: `p${i % 7}`,
  rowKey: String(i).padStart(6, "0"),
  value,
  text: "t".repeat(200),
});

test("live queries show rows that are not in memory", async (t) => {
  const path = mkdtempSync(join(tmpdir(), "entitable-live-"));
  t.after(() => rmSync(path, { recursive: true }));
  const options = { persistence: "file", path, memoryLimit, durability: "deferred" } as const;
  const first = await openStore(options);
  await first.table("items").createTable();
  const all = Array.from({ length: rowCount }, (_, i) => ["upsert", item(i, i % 10)] as const);
  await first.table<Item>("items").bulk(all);
  await first.compact();
  await first.close();

  const store = await openStore(options);
  const items = store.table<Item>("items");
  const filter = "value eq 3";
  const some = items.live({ queryOptions: { filter, select: ["value"] } });
  const few = items.live({ queryOptions: { filter }, limit: 5 });
  const count = items.liveCount({ queryOptions: { filter } });
  await Promise.all([some.ready, few.ready, count.ready]);
  const listed = async () => {
    const rows = [];
    for await (const row of items.listEntities({ queryOptions: { filter } })) rows.push(row);
    return rows;
  };
  const check = async () => {
    const expected = await listed();
    const etags = expected.map(({ etag }) => etag).join();
    const isRight = () =>
      some
        .getSnapshot()
        .data?.map(({ etag }) => etag)
        .join() === etags &&
      few.getSnapshot().data?.length === 5 &&
      count.getSnapshot().data === expected.length;
    await until(isRight);
    assert.deepEqual(few.getSnapshot().data, expected.slice(0, 5));
  };
  await check();
  const random = seededRandom(1);
  for (let round = 0; round < 20; ++round) {
    for (let i = 0; i < 20; ++i)
      await items.upsertEntity(item(random.below(rowCount), random.below(10)), "Replace");
    const [gone] = few.getSnapshot().data ?? [];
    if (gone !== undefined) await items.deleteEntity(gone.partitionKey, gone.rowKey);
    await check();
  }
  assert((await store.stats()).memoryBytes < 2 * memoryLimit);
  await store.close();
});
