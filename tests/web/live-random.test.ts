// Compares live queries with listing again, after each of many random writes. ENTITABLE_SEED and
// ENTITABLE_STEPS choose the run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "./support/package.ts";
import { seededRandom } from "./support/random.ts";
import { type CheckedQuery, checkQuery, RandomItems } from "./support/random-live.ts";

const seed = Number(process.env.ENTITABLE_SEED ?? 1);
const steps = Number(process.env.ENTITABLE_STEPS ?? 400);
const queryCount = 12;
const turnsMax = 100_000; // until late queries show a change

describe("live queries and listing again", () => {
  test(`agree after random writes (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const store: Store = await openStore({ persistence: "memory", onWarning() {} });
    const items = new RandomItems(store, random);
    await items.table.createTable();
    const snapshots = [await store.snapshot()];
    const queries: CheckedQuery[] = [];
    const arrays = new Map<readonly unknown[], readonly unknown[]>(); // what was shown, and a copy
    for (let step = 0; step < steps; ++step) {
      while (queries.length < queryCount) {
        const query = items.openQuery();
        queries.push(query);
        await query.live.ready;
      }
      await items.write();
      const changesAll = random.below(60) === 0;
      if (changesAll) await changeEverything(store, snapshots, random.below(3));
      const all = await items.list();
      const late = queries.filter(({ isLate }) => changesAll || isLate);
      for (let left = turnsMax; left > 0 && !late.every((query) => isRight(query, all)); --left)
        await turn();
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
  function isRight(query: CheckedQuery, all: Awaited<ReturnType<RandomItems["list"]>>): boolean {
    try {
      checkQuery(query, all);
      return true;
    } catch {
      return false;
    }
  }
});
