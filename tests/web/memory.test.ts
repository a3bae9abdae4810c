// A store of several times its memory limit under a mixed load, in Node files: every row is as it
// was written, memory stays within the limit, and neither memory nor disk space grows. tests/soak
// memory runs this for longer and with a larger limit.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  assertFlat,
  describeSamples,
  keptMegabytes,
  type MemoryReport,
} from "./support/memory-samples.ts";

const minutes = Number(process.env["ENTITABLE_MINUTES"] ?? 0.1);
const limitMegabytes = Number(process.env["ENTITABLE_LIMIT"] ?? 4);
const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000);
const rows = limitMegabytes * 6000; // about three times the limit
const phases = 12; // of which a sample is taken each
const constantMegabytes = 150; // memory that is allowed in addition to the limit, with garbage

const run = promisify(execFile);
const script = fileURLToPath(new URL("support/memory-load.ts", import.meta.url));
const path = mkdtempSync(join(tmpdir(), "entitable-memory-"));
after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));

test(`a mixed load on ${rows} rows keeps to its memory`, async (t) => {
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const args = [path, rows, limitMegabytes, minutes, phases, seed].map(String);
  const { stdout } = await run(process.execPath, [script, ...args]);
  const report: MemoryReport = JSON.parse(stdout);
  const { before, filled, samples, checked, kept, operations } = report;
  t.diagnostic(`${operations} rows read or written; MB of memory/disk, ${before.toFixed(0)}`);
  t.diagnostic(
    `before, ${filled.toFixed(0)} while the store was filled: ${describeSamples(samples)}`,
  );
  t.diagnostic(`${checked.toFixed(0)} while all were read, ${kept.toFixed(0)} after a collection`);
  assert.equal(samples.length, phases);
  assertFlat(samples);
  const most = Math.max(filled, checked, ...samples.map(({ memory }) => memory));
  assert(most <= before + limitMegabytes + constantMegabytes, `${most} MB of memory`);
  assert(kept <= before + limitMegabytes + keptMegabytes, `${kept} MB after a collection`);
});

test("memory or disk space that grows is noticed", () => {
  const samples = (grow: (i: number) => object) =>
    Array.from({ length: 12 }, (_, i) => ({ memory: 200, disk: 300, ...grow(i) }));
  assertFlat(samples((i) => ({ memory: 200 + (i % 3) * 5 })));
  assertFlat(samples((i) => ({ memory: Math.min(200, 50 * i) })));
  assert.throws(() => assertFlat(samples((i) => ({ memory: 200 + 20 * i }))), /memory grew/);
  assert.throws(() => assertFlat(samples((i) => ({ disk: 300 + 30 * i }))), /disk grew/);
});
