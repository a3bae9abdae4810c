// Runs a mixed load on a store in Node files, and prints its memory and disk space as JSON. A
// process of its own, because the test runner follows every promise, which takes tens of megabytes.
// Arguments: folder, rows, megabytes of the memory limit, minutes, phases, seed.

import { Session } from "node:inspector/promises";
import { folderMegabytes, type MemoryReport } from "./memory-samples.ts";
import { MixedLoad } from "./mixed-load.ts";
import { openStore } from "./package.ts";

const [path = "", ...numbers] = process.argv.slice(2);
const [rows = 0, limit = 0, minutes = 0, phases = 0, seed = 0] = numbers.map(Number);

const megabytesNow = () => process.memoryUsage().rss / 1024 ** 2;

// Returns the greatest resident memory during the work, in megabytes.
async function peakMemory(work: () => Promise<void>): Promise<number> {
  let peak = 0;
  const note = () => {
    peak = Math.max(peak, megabytesNow());
  };
  const sampling = setInterval(note, 20);
  try {
    await work();
  } finally {
    clearInterval(sampling);
  }
  note();
  return peak;
}

// Resolves to the memory after a garbage collection that also gives free memory of the heap back to
// the system.
async function memoryAfterCollection(): Promise<number> {
  const inspector = new Session();
  inspector.connect();
  await inspector.post("HeapProfiler.collectGarbage");
  inspector.disconnect();
  return megabytesNow();
}

const before = megabytesNow();
const memoryLimit = limit * 1024 ** 2;
const open = () => openStore({ name: "memory", persistence: "file", path, memoryLimit });
const load = new MixedLoad({ rows, seed });
let store = await open();
const filled = await peakMemory(() => load.fill(store));
const samples = [];
// The store is closed and opened again between the phases.
for (let phase = 0; phase < phases; ++phase) {
  const memory = await peakMemory(async () => {
    await load.run(store, (minutes * 60) / phases);
    await store.close();
    store = await open();
  });
  samples.push({ memory, disk: folderMegabytes(path) });
}
const checked = await peakMemory(() => load.check(store));
const kept = await memoryAfterCollection();
await store.close();
const { operations } = load;
const report: MemoryReport = { before, filled, samples, checked, kept, operations };
console.log(JSON.stringify(report));
