// Tests that simulated tabs can empty a store whose disk is full, also when its owner dies or
// freezes meanwhile.

import assert from "node:assert/strict";
import { StoreHandle } from "../../web/src/store.ts";
import type { Store } from "../../web/src/types.ts";
import { BudgetedDisk, BudgetedStorage } from "./support/budgeted-storage.ts";
import { Origin, Tab } from "./support/simulated-tabs.ts";
import { simulatedTest as test } from "./support/simulated-test.ts";
import { currentSimulation } from "./support/simulation.ts";

const diskBytes = 5 * 1024 * 1024;
const keyOf = (n: number) => ({ partitionKey: "p", rowKey: String(n).padStart(5, "0") });
const noise = "x".repeat(15_000);

async function open(tab: Tab): Promise<Store> {
  return new StoreHandle("shop", await tab.open());
}

async function openTabs(): Promise<{ origin: Origin; a: Tab; first: Store; second: Store }> {
  const origin = new Origin();
  const disk = new BudgetedDisk(origin.files, diskBytes);
  origin.disk = () => new BudgetedStorage(disk);
  const a = new Tab(origin);
  const first = await open(a);
  return { origin, a, first, second: await open(new Tab(origin)) };
}

async function fill(store: Store): Promise<number> {
  const table = store.table("rows");
  await table.createTable();
  for (let n = 0; ; ++n) {
    try {
      await table.createEntity({ ...keyOf(n), noise });
    } catch (error) {
      assert.equal((error as { code?: string }).code, "QuotaExceeded");
      return n;
    }
  }
}

// Deletes the rows in a random order, compacts, and writes again.
async function empty(store: Store, rows: number, whenHalfEmpty: () => Promise<void>) {
  const table = store.table("rows");
  const { random } = currentSimulation();
  const numbers: number[] = [];
  for (let n = 0; n < rows; ++n) numbers.splice(random.below(n + 1), 0, n);
  for (const [i, n] of numbers.entries()) {
    if (i === rows >> 1) await whenHalfEmpty();
    await table.deleteEntity("p", keyOf(n).rowKey);
  }
  await store.compact();
  for await (const row of table.listEntities()) assert.fail(row.rowKey);
  for (let n = 0; n < 30; ++n) await table.createEntity({ ...keyOf(n), noise });
}

for (const how of ["kill", "freeze"] as const) {
  test(`a full store can be emptied after its owner was lost: ${how}`, async () => {
    const { a, second } = await openTabs();
    const rows = await fill(second);
    assert(rows > 50);
    a[how]();
    await empty(second, rows, async () => {});
    await second.close();
  });

  test(`a full store can be emptied though its owner is lost meanwhile: ${how}`, async () => {
    const { a, second } = await openTabs();
    const rows = await fill(second);
    await empty(second, rows, async () => a[how]());
    await second.close();
  });
}

test("a full store can be emptied after its owner has closed", async () => {
  const { first, second } = await openTabs();
  const rows = await fill(first);
  await first.close();
  await empty(second, rows, async () => {});
  await second.close();
});

test("a full store can be emptied by a tab that opens it after all others are gone", async () => {
  const { origin, a, first, second } = await openTabs();
  const rows = await fill(first);
  await second.close();
  a.kill();
  const third = await open(new Tab(origin));
  await empty(third, rows, async () => {});
  await third.close();
});
