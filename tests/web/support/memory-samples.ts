// The memory and the disk space of a store under load, and whether they stay constant.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export interface MemorySample {
  memory: number; // the greatest resident memory since the previous sample, in megabytes
  disk: number; // megabytes
}

// What memory-load.ts prints.
export interface MemoryReport {
  before: number; // resident memory before the store was opened, in megabytes
  filled: number; // the most while it was filled
  samples: MemorySample[];
  checked: number; // the most while all rows were read
  kept: number; // after that and a garbage collection, the store still being open
  operations: number; // rows that were read or written
}

// Memory that is allowed after a garbage collection, in addition to the memory before the store was
// opened and to its limit.
export const keptMegabytes = 64;

const slack = 1.15; // between an earlier and a later sample
const slackMegabytes = 16;

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;

// Asserts that memory and disk space of the last third are not larger than those of the middle
// third. The first third is left out: a store fills its memory first.
export function assertFlat(samples: readonly MemorySample[]): void {
  const third = Math.floor(samples.length / 3);
  for (const key of ["memory", "disk"] as const) {
    const values = samples.map((sample) => sample[key]);
    const before = median(values.slice(third, 2 * third));
    const after = median(values.slice(2 * third));
    const limit = before * slack + slackMegabytes;
    assert(after <= limit, `${key} grew from ${before} to ${after} MB: ${values.join(", ")}`);
  }
}

// Returns the size of all files in a folder and its subfolders, in megabytes.
export function folderMegabytes(folder: string): number {
  let bytes = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (found?.isFile() === true) bytes += found.size;
  }
  return bytes / 1024 ** 2;
}

export const describeSamples = (samples: readonly MemorySample[]) =>
  samples.map(({ memory, disk }) => `${memory.toFixed(0)}/${disk.toFixed(0)}`).join(" ");
