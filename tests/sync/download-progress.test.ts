// Tests the estimates of how far a first download has come.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { KeyRange } from "../../web/src/sync/keys.ts";
import type { ScannedRow } from "../../web/src/sync/remote.ts";
import { DownloadProgress } from "../../web/src/sync-session/download-progress.ts";
import { KeyPositions } from "../../web/src/sync-session/key-positions.ts";

const row = (key: string): ScannedRow => ({
  key,
  row: { properties: new Map(), etag: "e", timestamp: 1n },
});
const page = (rows: number, last: string, token?: string) =>
  ({
    kind: "page",
    rows: Array.from({ length: rows }, () => row(last)),
    token,
    bytes: rows * 100,
  }) as const;
const request = (range: KeyRange) => ({ range, keysOnly: false, isFiltered: false });

describe("the position of a key", () => {
  test("is estimated from the characters that keys have", () => {
    const positions = new KeyPositions();
    for (let digit = 0; digit < 10; ++digit) positions.learn(`p${digit}\0r`);
    const range = { from: "p000", to: "p900" };
    const at = (key: string) => Math.round(10 * (positions.fractionOf(key, range) ?? Number.NaN));
    assert.deepEqual(["p000", "p450", "p900", "p950", "o"].map(at), [0, 5, 10, 10, 0]);
  });

  test("rises with the key, and is unknown in a range without an end", () => {
    const positions = new KeyPositions();
    const keys = ["a\0", "a\x001", "a\x002", "b\0", "b\x001", "c\0"];
    for (const key of [...keys, "d"]) positions.learn(key);
    const fractions = keys.map((key) => positions.fractionOf(key, { from: "", to: "d" }) ?? -1);
    assert.deepEqual([...fractions].sort(), fractions);
    assert.equal(new Set(fractions).size, keys.length);
    assert.equal(positions.fractionOf("b\0", { from: "" }), undefined);
  });
});

describe("the progress of a download", () => {
  const ranges = [{ from: "", to: "b" }, { from: "b", to: "c" }, { from: "c" }];

  test("counts rows, bytes and ranges, and estimates the rest", () => {
    let now = 0;
    const progress = new DownloadProgress(
      () => now,
      ranges,
      () => false,
    );
    assert.equal(progress.status.fraction, undefined);
    now = 1000;
    progress.onPage(request({ from: "b", to: "c" }), page(1000, "b\x005", "more"));
    const { fraction = 0, remainingMs = 0, rowsPerSecond } = progress.status;
    assert(fraction > 0 && fraction < 1, `${fraction}`);
    assert.equal(rowsPerSecond, 1000);
    assert(Math.abs(remainingMs - (1000 * (1 - fraction)) / fraction) < 1);
    progress.onPage(request({ from: "b\x005\0", to: "c" }), page(500, "b\x009"));
    now = 2000;
    progress.onPage(request({ from: "", to: "b" }), page(1000, "a\x001"));
    assert.equal(progress.status.rangesDone, 2);
    progress.onPage(request({ from: "c" }), page(10, "c\x001"));
    assert.deepEqual(progress.status, {
      rows: 2510,
      bytes: 251_000,
      ranges: 3,
      rangesDone: 3,
      fraction: 1,
      rowsPerSecond: 1255,
      remainingMs: 0,
    });
  });

  test("continues what an earlier process has read", () => {
    let now = 0;
    const progress = new DownloadProgress(
      () => now,
      ranges,
      ({ from }) => from === "",
    );
    assert.equal(progress.status.rangesDone, 1);
    now = 100;
    progress.onPage(request({ from: "b", to: "c" }), page(100, "b\x009"));
    const { fraction, rangesDone, remainingMs = 0 } = progress.status;
    assert.deepEqual([rangesDone, Math.round((fraction ?? 0) * 3)], [2, 2]);
    assert(remainingMs > 0);
  });

  test("does not count what an earlier process has read of a range", () => {
    let now = 0;
    const range = { from: "b0", to: "b9" };
    const progress = new DownloadProgress(
      () => now,
      [range],
      () => false,
    );
    now = 1000;
    progress.onPage(request({ from: "b6", to: "b9" }), page(1000, "b7", "more"));
    const { fraction = 0, remainingMs = 0 } = progress.status;
    assert(fraction > 0.6 && fraction < 0.9, `${fraction}`);
    // A thousand rows were a ninth of the range or so, and more than that remains.
    assert(remainingMs > 1500 && remainingMs < 4000, `${remainingMs}`);
  });

  test("counts the entities that are read, if only their keys are scanned", () => {
    let now = 0;
    const range = { from: "" };
    const progress = new DownloadProgress(
      () => now,
      [range],
      () => false,
      true,
    );
    const asked = { ...request(range), keysOnly: true };
    progress.onPage(asked, page(3, "b\x001", "more"));
    progress.onPage(asked, page(3, "b\x001", "more")); // the scan has begun again
    progress.onPage({ ...asked, token: "more" }, page(1, "b\x002"));
    assert.deepEqual([progress.status.rows, progress.status.fraction], [0, 0]);
    now = 1000;
    const { row: found } = row("b\x001");
    progress.onRead("b\x001", { kind: "found", row: found, bytes: 50 });
    assert.deepEqual(progress.status, {
      rows: 1,
      bytes: 750,
      ranges: 1,
      rangesDone: 0,
      fraction: 0.25,
      rowsPerSecond: 1,
      remainingMs: 3000,
    });
    for (let reads = 0; reads < 3; ++reads)
      progress.onRead("b\x002", { kind: "found", row: found });
    assert.deepEqual([progress.status.rows, progress.status.rangesDone], [4, 1]);
  });

  test("has no rate during an outage, and then that of what arrives after it", () => {
    let now = 0;
    const progress = new DownloadProgress(
      () => now,
      ranges,
      () => false,
    );
    const next = (atMs: number) => {
      now = atMs;
      progress.onPage(request({ from: "b", to: "c" }), page(1000, "b\x005", "more"));
      return progress.status.rowsPerSecond;
    };
    next(1000);
    assert.equal(next(2000), 1000);
    now = 3000;
    progress.onFailure(); // of one request, while others may be answered
    assert.equal(progress.status.rowsPerSecond, 1000);
    now = 60_000;
    progress.onFailure();
    assert.deepEqual([progress.status.rowsPerSecond, progress.status.remainingMs], [0, undefined]);
    assert.equal(progress.status.rows, 2000);
    assert.equal(next(100_000), 0); // nothing tells how long it took
    assert.equal(next(101_000), 1000);
    progress.interrupt();
    assert.equal(progress.status.rowsPerSecond, 0);
  });

  test("has nothing of queries for changes and of comparisons", () => {
    const progress = new DownloadProgress(
      () => 0,
      ranges,
      () => false,
    );
    const { status } = progress;
    const asked = request({ from: "c" });
    assert.equal(progress.onPage({ ...asked, keysOnly: true }, page(10, "c\x001")), false);
    assert.equal(progress.onPage({ ...asked, since: 1n }, page(10, "c\x001")), false);
    assert.equal(progress.status, status);
  });
});
