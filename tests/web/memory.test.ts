// A store of several times its memory limit under a mixed load, in Node files: every row is as it
// was written, memory stays within the limit, and neither memory nor disk space grows. tests/soak
// memory runs this for longer and with a larger limit.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { assertFlat, describeSamples, folderMegabytes } from "./support/memory-samples.ts";
import { MixedLoad } from "./support/mixed-load.ts";
import { openStore } from "./support/package.ts";

const minutes = Number(process.env["ENTITABLE_MINUTES"] ?? 0.1);
const limitMegabytes = Number(process.env["ENTITABLE_LIMIT"] ?? 4);
const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000);
const rows = limitMegabytes * 6000; // about three times the limit
const phases = 12; // the store is closed and opened again between them
const constantMegabytes = 150; // memory that is allowed in addition to the limit

const path = mkdtempSync(join(tmpdir(), "entitable-memory-"));
after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));

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

test(`a mixed load on ${rows} rows keeps to its memory`, async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const before = megabytesNow();
  const memoryLimit = limitMegabytes * 1024 ** 2;
  const open = () => openStore({ name: "memory", persistence: "file", path, memoryLimit });
  const load = new MixedLoad({ rows, seed });
  let store = await open();
  const filled = await peakMemory(() => load.fill(store));
  const samples = [];
  for (let phase = 0; phase < phases; ++phase) {
    const memory = await peakMemory(async () => {
      await load.run(store, (minutes * 60) / phases);
      await store.close();
      store = await open();
    });
    samples.push({ memory, disk: folderMegabytes(path) });
  }
  const peak = await peakMemory(() => load.check(store));
  await store.close();
  t.diagnostic(`${load.operations} rows read or written; MB of memory/disk, ${before.toFixed(0)}`);
  t.diagnostic(
    `before, ${filled.toFixed(0)} while the store was filled: ${describeSamples(samples)}`,
  );
  t.diagnostic(`${peak.toFixed(0)} while all were read`);
  assertFlat(samples);
  const most = Math.max(filled, peak, ...samples.map(({ memory }) => memory));
  assert(most <= before + limitMegabytes + constantMegabytes, `${most} MB of memory`);
});

test("memory or disk space that grows is noticed", () => {
  const samples = (grow: (i: number) => object) =>
    Array.from({ length: 12 }, (_, i) => ({ memory: 200, disk: 300, ...grow(i) }));
  assertFlat(samples((i) => ({ memory: 200 + (i % 3) * 5 })));
  assertFlat(samples((i) => ({ memory: Math.min(200, 50 * i) })));
  assert.throws(() => assertFlat(samples((i) => ({ memory: 200 + 20 * i }))), /memory grew/);
  assert.throws(() => assertFlat(samples((i) => ({ disk: 300 + 30 * i }))), /disk grew/);
});
