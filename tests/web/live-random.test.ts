// Compares live queries with listing again, after each of many random writes. ENTITABLE_SEED and
// ENTITABLE_STEPS choose the run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { seededRandom } from "./support/random.ts";
import {
  type CheckedQuery,
  checkQuery,
  type Item,
  listAll,
  openRandomQuery,
  randomWrite,
} from "./support/random-live.ts";
import { until } from "./support/until.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const steps = Number(process.env.ENTITABLE_STEPS ?? 400);
const queryCount = 12;

describe("live queries and listing again", () => {
  test(`agree after random writes (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const store: Store = await openStore({ persistence: "memory", onWarning() {} });
    const table = store.table<Item>("items");
    await table.createTable();
    const snapshots = [await store.snapshot()];
    const queries: CheckedQuery[] = [];
    const arrays = new Map<readonly unknown[], readonly unknown[]>(); // what was shown, and a copy
    for (let step = 0; step < steps; ++step) {
      while (queries.length < queryCount) {
        const query = openRandomQuery(table, random);
        queries.push(query);
        await query.live.ready;
      }
      await randomWrite(table, random);
      const changesAll = random.below(60) === 0;
      if (changesAll) await changeEverything(store, snapshots, random.below(3));
      const all = await listAll(table);
      if (changesAll) await until(() => queries.every((query) => isRight(query, all)));
      for (const query of queries) {
        checkQuery(query, all);
        const { data } = query.live.getSnapshot();
        if (Array.isArray(data)) arrays.set(data, [...data]);
      }
      if (random.below(10) === 0) queries.splice(random.below(queryCount), 1)[0]?.live.close();
    }
    for (const [array, copy] of arrays) assert.deepEqual(array, copy);
    await store.close();
  });

  async function changeEverything(store: Store, snapshots: Uint8Array[], how: number) {
    const table = store.table("items");
    if (how === 0) {
      await table.deleteTable();
      await table.createTable();
    } else if (how === 1) {
      snapshots.push(await store.snapshot());
      return;
    } else {
      await store.restore(snapshots.at(-1) as Uint8Array<ArrayBuffer>);
    }
  }

  // Queries that must be read again may show an older result for some time.
  function isRight(query: CheckedQuery, all: Awaited<ReturnType<typeof listAll>>): boolean {
    try {
      checkQuery(query, all);
      return true;
    } catch {
      return false;
    }
  }
});
