// The part of persistence.ts that runs in the page.

import type { Store } from "../../web/src/index.ts";

type Package = typeof import("../../web/src/index.ts");

const name = "growing";
const load = () => import("/dist/index.js" as string) as Promise<Package>;

// An entity of 12 properties including the keys: texts, numbers, a boolean, a date, a 64-bit number
// and bytes. Every hundred entities share a partition.
function entity(i: number) {
  return {
    partitionKey: `p${String(Math.floor(i / 1000)).padStart(6, "0")}`,
    rowKey: String(i).padStart(9, "0"),
    name: `name ${i % 997} of an entity`,
    city: `city ${i % 89}`,
    note: `a note of some length, number ${i}`,
    count: i % 1000,
    rank: (i * 7919) % 1_000_003,
    ratio: i / 3,
    active: i % 3 === 0,
    when: new Date(1_600_000_000_000 + i * 1000),
    big: BigInt(i) << 20n,
    bytes: new Uint8Array(16).fill(i % 256),
  };
}

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;

async function strictWrites(store: Store, prefix: string): Promise<number> {
  const table = store.table("rows", { durability: "strict" });
  const times: number[] = [];
  for (let i = 0; i < 100; ++i) {
    const started = performance.now();
    await table.upsertEntity({ ...entity(0), partitionKey: "z", rowKey: `${prefix}${i}` });
    times.push(performance.now() - started);
  }
  for (let i = 0; i < 100; ++i) await table.deleteEntity("z", `${prefix}${i}`);
  return median(times);
}

// Measures raw puts, the shortest possible strict write.
async function rawPuts(): Promise<number> {
  const open = indexedDB.open("raw");
  open.onupgradeneeded = () => open.result.createObjectStore("rows");
  await new Promise((resolve) => {
    open.onsuccess = resolve;
  });
  const times: number[] = [];
  for (let i = 0; i < 100; ++i) {
    const started = performance.now();
    const transaction = open.result.transaction("rows", "readwrite", { durability: "strict" });
    transaction.objectStore("rows").add(new Uint8Array(300), i);
    transaction.commit();
    await new Promise((resolve) => {
      transaction.oncomplete = resolve;
    });
    times.push(performance.now() - started);
  }
  return median(times);
}

// Collects tasks above 50 ms from now on. Returns a function that returns the longest of them.
function longTasks(): () => number[] {
  const tasks: number[] = [];
  const note = (entries: PerformanceEntryList) => tasks.push(...entries.map((e) => e.duration));
  const observer = new PerformanceObserver((list) => void note(list.getEntries()));
  observer.observe({ type: "longtask" });
  return () => {
    note(observer.takeRecords());
    observer.disconnect();
    return tasks.sort((a, b) => b - a).slice(0, 3);
  };
}

async function write(count: number) {
  const { openStore } = await load();
  const store = await openStore({ name, durability: "relaxed" });
  const table = store.table("rows");
  await table.createTable();
  const raw = await rawPuts();
  const first = await strictWrites(store, "first");
  const longest = longTasks();
  const started = performance.now();
  for (let i = 0; i < count; i += 100) {
    const group = Array.from({ length: 100 }, (_, k) => ["create", entity(i + k)] as const);
    await table.submitTransaction(group.map(([action, e]) => [action, e]));
  }
  const each = ((performance.now() - started) * 1000) / count;
  const last = await strictWrites(store, "last");
  const loading = longest();
  await store.close();
  return { load: each, first, last, raw, loading };
}

async function open() {
  const { openStore } = await load();
  const started = performance.now();
  const store = await openStore({ name });
  await store.table("rows").getEntity("p000000", "000000007");
  const ms = performance.now() - started;
  const { rows, bytes, memoryBytes } = await store.stats();
  const megabyte = 1024 * 1024;
  return { open: ms, rows, rowMegabytes: bytes / megabyte, indexMegabytes: memoryBytes / megabyte };
}

// Takes a snapshot and restores it, which replaces everything.
async function snapshot() {
  const { openStore } = await load();
  const store = await openStore({ name });
  const taking = longTasks();
  const started = performance.now();
  const file = await store.snapshot();
  const taken = performance.now();
  await new Promise((resolve) => setTimeout(resolve)); // a task is reported only after it has ended
  const tasksTaking = taking();
  const restoring = longTasks();
  const before = performance.now();
  const { entities } = await store.restore(file);
  const after = performance.now();
  await new Promise((resolve) => setTimeout(resolve));
  const tasksRestoring = restoring();
  const { rows } = await store.stats();
  await store.close();
  return {
    take: taken - started,
    fileMegabytes: file.length / (1024 * 1024),
    tasksTaking,
    restore: after - before,
    tasksRestoring,
    restored: Math.min(entities, rows),
  };
}

export const bench = { write, open, snapshot };
(globalThis as { bench?: typeof bench }).bench = bench;
