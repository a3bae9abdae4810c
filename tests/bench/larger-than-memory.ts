// Measures a store of many times its memory limit, in Node files: time and memory of loading,
// upserts, reads, scans, verification and closing. Memory is the resident set of the process, less
// that of the process before the store was opened, sampled during each step.

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../web/support/package.ts";

const entities = Number(process.argv[2] ?? 8_000_000);
const mebibyte = 1024 * 1024;
const memoryLimit = 64 * mebibyte;
const perTransaction = 100;
const perPartition = 10_000;
const upsertSeconds = 8;
const reads = 2000;

const folder = join(tmpdir(), `entitable-bench-${process.pid}`);
const text = "x".repeat(380);
const keysOf = (i: number) => ({
  partitionKey: `p${String(Math.floor(i / perPartition)).padStart(6, "0")}`,
  rowKey: String(i % perPartition).padStart(6, "0"),
});
const entity = (i: number, n: number) => ({ ...keysOf(i), n, big: BigInt(i), text });

// A linear congruential generator, so that every run makes the same choices.
let state = 20_261_123;
const random = (below: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const rss = () => process.memoryUsage().rss / mebibyte;
const options = {
  persistence: "file",
  path: folder,
  name: "large",
  memoryLimit,
  durability: "relaxed",
} as const;

interface Step {
  step: string;
  seconds: number;
  rate: string;
  peak: number;
}
const steps: Step[] = [];

async function measure(step: string, work: () => Promise<string>): Promise<void> {
  console.error(`${step}…`);
  let peak = rss();
  const sampling = setInterval(() => {
    peak = Math.max(peak, rss());
  }, 50);
  const began = performance.now();
  const rate = await work();
  const seconds = (performance.now() - began) / 1000;
  clearInterval(sampling);
  steps.push({ step, seconds, rate, peak: Math.max(peak, rss()) });
}
const perSecond = (count: number, began: number) =>
  `${Math.round(count / ((performance.now() - began) / 1000)).toLocaleString("en")} a second`;

try {
  const before = rss();
  let store = await openStore(options);
  let table = store.table("rows");
  await table.createTable();
  await measure("load, in transactions of 100", async () => {
    const began = performance.now();
    for (let i = 0; i < entities; i += perTransaction) {
      await table.submitTransaction(
        Array.from({ length: perTransaction }, (_, k) => ["create", entity(i + k, 0)]),
      );
    }
    return perSecond(entities, began);
  });
  for (const mode of ["Replace", "Merge"] as const) {
    await measure(`upserts (${mode}) at random, 100 in flight`, async () => {
      const began = performance.now();
      let count = 0;
      while (performance.now() - began < upsertSeconds * 1000) {
        await Promise.all(
          Array.from({ length: 100 }, () =>
            table.upsertEntity(entity(random(entities), ++count), mode),
          ),
        );
      }
      return perSecond(count, began);
    });
  }
  await measure("point reads at random", async () => {
    const began = performance.now();
    for (let i = 0; i < reads; ++i) {
      const { partitionKey, rowKey } = keysOf(random(entities));
      await table.getEntity(partitionKey, rowKey);
    }
    return perSecond(reads, began);
  });
  await measure("scan of all, little returned", async () => {
    const began = performance.now();
    let found = 0;
    const queryOptions = { filter: "n gt 0", select: ["n"] };
    for await (const _ of table.listEntities({ queryOptions })) ++found;
    if (found === 0) throw new Error("no upsert was found");
    return perSecond(entities, began);
  });
  await measure("verify()", async () => {
    const { ok } = await store.verify();
    if (!ok) throw new Error("the store is damaged");
    return "";
  });
  await measure("close()", async () => {
    await store.close();
    return "";
  });
  await measure("open and count", async () => {
    store = await openStore(options);
    table = store.table("rows");
    const { rows } = await store.stats();
    if (rows !== entities) throw new Error(`${rows} rows`);
    await store.close();
    return "";
  });
  console.log(`| ${entities.toLocaleString("en")} entities, limit 64 MiB | s | rate | RSS, MiB |`);
  console.log("|---|---:|---:|---:|");
  console.log(`| before opening | | | ${before.toFixed(0)} |`);
  for (const { step, seconds, rate, peak } of steps) {
    console.log(`| ${step} | ${seconds.toFixed(1)} | ${rate} | ${peak.toFixed(0)} |`);
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}
