// Tests whether a table is divided for several readers.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeyRange } from "../../web/src/sync/keys.ts";
import type { ScanRequest } from "../../web/src/sync/remote.ts";
import { rangesOf, type Split } from "../../web/src/sync-session/ranges.ts";
import { key, remoteRow, scripted } from "./scripted.ts";

const halves: KeyRange[] = [{ from: "", to: key("5") }, { from: key("5") }];

interface Divided {
  readonly ranges: readonly KeyRange[];
  readonly scans: readonly ScanRequest[];
  /** Requests for the first key of a prefix, one after the other. */
  readonly probes: number;
}

/** Asks for the ranges of a table that has so many pages, if so many probes would divide it. */
async function divided(pages: number, probesNeeded: number, failingPage = 0): Promise<Divided> {
  const { remote, scheduler, store } = await scripted();
  const scans: ScanRequest[] = [];
  const later = () => new Promise<void>((resolve) => scheduler.after(30, resolve));
  remote.scan = async (request) => {
    scans.push(request);
    await later();
    if (scans.length === failingPage) return { kind: "failed" };
    const rows = [{ key: key(String(scans.length)), row: remoteRow(1, "e") }];
    return { kind: "page", rows, token: scans.length < pages ? `${scans.length}` : undefined };
  };
  let probes = 0;
  const split: Split = async (_, __, isOver) => {
    while (!isOver() && probes < probesNeeded) {
      probes += 1;
      await later();
    }
    return isOver() ? [{ from: "" }] : halves;
  };
  let ranges: readonly KeyRange[] | undefined;
  void rangesOf({ store, remote, split, partitions: undefined }).then((found) => {
    ranges = found;
  });
  scheduler.after(0, () => {}); // promises are settled after events
  await scheduler.run(scheduler.now + 10_000);
  assert(ranges);
  return { ranges, scans, probes };
}

test("a table of one page stays whole, and its prefixes are not asked for", async () => {
  const { ranges, scans, probes } = await divided(1, 60);
  assert.deepEqual([ranges, scans.length, probes], [[{ from: "" }], 1, 0]);
});

test("a table of a few pages stays whole as soon as its keys are read", async () => {
  const { ranges, scans, probes } = await divided(8, 60);
  assert.deepEqual([ranges, scans.length], [[{ from: "" }], 8]);
  assert(probes <= 8, `${probes} probes were sent while 7 pages were read`);
  assert.deepEqual(
    scans.map(({ keysOnly, token }) => [keysOnly, token]),
    Array.from({ length: 8 }, (_, page) => [true, page === 0 ? undefined : `${page}`]),
  );
});

test("a larger one is divided, and no more of its keys are read for that", async () => {
  const { ranges, scans, probes } = await divided(9, 60);
  assert.deepEqual([ranges, scans.length, probes], [halves, 8, 60]);
});

test("a table that is divided before its keys are read is read no further", async () => {
  const { ranges, scans } = await divided(8, 2);
  assert.deepEqual(ranges, halves);
  assert(scans.length <= 4, `${scans.length} pages were read`);
});

test("a table is divided though a page of its keys cannot be read", async () => {
  const { ranges, scans } = await divided(8, 60, 3);
  assert.deepEqual([ranges, scans.length], [halves, 3]);
});
