// The part of threads.ts that runs in the page.

import type { OpenOptions, Store } from "../../web/src/index.ts";

type Package = typeof import("../../web/src/index.ts");

const load = () => import("/dist/index.js" as string) as Promise<Package>;
const rows = 100_000;

function entity(i: number) {
  return {
    partitionKey: `p${String(Math.floor(i / 1000)).padStart(3, "0")}`,
    rowKey: String(i).padStart(9, "0"),
    name: `name ${i % 997} of an entity`,
    note: `a note of some length, number ${i}`,
    count: i % 1000,
    ratio: i / 3,
    active: i % 3 === 0,
    when: new Date(1_600_000_000_000 + i * 1000),
  };
}

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;

// Returns how many milliseconds a call takes. Measures rounds of several calls, because a page's
// clock is too coarse for one.
async function timed(rounds: number, calls: number, call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; ++round) {
    const started = performance.now();
    for (let i = 0; i < calls; ++i) await call();
    times.push((performance.now() - started) / calls);
  }
  return median(times);
}

// Returns the longest time for which `work` blocked the page.
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  const channel = new MessageChannel();
  let longest = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  channel.port1.onmessage = () => {
    tick();
    channel.port2.postMessage(0);
  };
  channel.port2.postMessage(0);
  await work();
  tick();
  channel.port1.close();
  return longest;
}

async function fill(store: Store): Promise<void> {
  const table = store.table("rows", { durability: "relaxed" });
  await table.createTable();
  for (let i = 0; i < rows; i += 100) {
    const entities = Array.from({ length: 100 }, (_, n) => entity(i + n));
    await table.submitTransaction(entities.map((each) => ["upsert", each]));
  }
}

async function measure(thread: NonNullable<OpenOptions["thread"]>) {
  const { openStore, deleteStore } = await load();
  const name = `threads-${thread}`;
  const warnings: string[] = [];
  const onWarning = ({ code }: { code: string }) => warnings.push(code);
  let store = await openStore({ name, thread, onWarning });
  await fill(store);
  await store.close();
  const opening = await longestPause(async () => {
    store = await openStore({ name, thread, onWarning });
  });
  const table = store.table("rows");
  const page = () => table.listEntities().byPage({ maxPageSize: 1000 }).next();
  const found = {
    point: await timed(50, 100, () => table.getEntity("p004", "000004711")),
    page: await timed(50, 2, page),
    write: await timed(50, 1, () => table.upsertEntity(entity(4711))),
    opening,
  };
  await store.close();
  await deleteStore(name);
  if (warnings.includes("WorkerUnavailable")) throw new Error("there was no worker");
  return found;
}

export const bench = { measure };

(globalThis as { bench?: typeof bench }).bench = bench;
