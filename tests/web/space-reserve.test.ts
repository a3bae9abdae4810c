// Tests the size of the reserve, and what may use it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SpaceReserve } from "../../web/src/host/space-reserve.ts";
import { StorageError } from "../../web/src/storage/log-storage.ts";
import { reserveEntryBytes } from "../../web/src/storage/storage-reserve.ts";

const mib = 1024 * 1024;

// A storage with space for this many entries of the size of the reserve's.
class Disk {
  free: number;
  entries = 0;
  readonly reserve = {
    size: async () => this.entries,
    resize: async (wanted: number) => {
      const added = Math.min(wanted - this.entries, this.free);
      this.entries += added;
      this.free -= added;
      return this.entries;
    },
  };

  constructor(free: number) {
    this.free = free;
  }

  // Stores something of the size of an entry.
  readonly store = async () => {
    if (this.free === 0) throw new StorageError("quota", "The disk is full.");
    this.free -= 1;
  };
}

function reserveOn(disk: Disk, size: { rows: number; log: number }): SpaceReserve {
  return new SpaceReserve({ reserve: disk.reserve, size: () => size });
}

describe("the reserve", () => {
  const cases: [string, { rows: number; log: number }, number][] = [
    ["nothing in a small store", { rows: mib - 1, log: mib - 1 }, 0],
    ["half of a store of 1 MiB", { rows: mib, log: 0 }, 4 + 3 + 1],
    ["1 MiB of a larger store", { rows: 100 * mib, log: 0 }, 4 + 5 + 1],
    ["the log too", { rows: 100 * mib, log: 10 * mib }, 4 + 49 + 1],
    ["no more than the rows", { rows: 5 * mib, log: 10 * mib }, 4 + 22 + 1],
    ["no more than 32 MiB", { rows: 10_000 * mib, log: 100 * mib }, 4 + 141 + 1],
  ];
  for (const [what, size, entries] of cases) {
    test(`holds back ${what}`, async () => {
      const disk = new Disk(1000);
      const reserve = reserveOn(disk, size);
      await reserve.fill();
      assert.deepEqual([disk.entries, reserve.bytes], [entries, entries * reserveEntryBytes]);
    });
  }

  test("stays while the log may grow again, and shrinks when the store has", async () => {
    const disk = new Disk(1000);
    const size = { rows: 320 * mib, log: 10 * mib };
    const reserve = reserveOn(disk, size);
    await reserve.fill();
    const filled = disk.entries;
    size.log = 0; // after a checkpoint
    await reserve.fill();
    assert.equal(disk.entries, filled);
    size.rows = 100 * mib;
    await reserve.fill();
    assert.equal(disk.entries, 4 + 5 + 1);
  });
});

describe("a checkpoint of a full storage", () => {
  // Resolves to the number of parts that could be stored.
  async function storeParts(disk: Disk, bytesNeeded: number): Promise<number> {
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    await reserve.fill();
    disk.free = 0;
    for (let stored = 0; ; ++stored) {
      const storing = reserve.storeForCheckpoint(disk.store, () => bytesNeeded);
      const error = await storing.catch((cause: unknown) => cause);
      if (error === undefined) continue;
      assert.equal((error as StorageError).failure, "quota");
      return stored;
    }
  }

  test("may use all of the reserve if that suffices", async () => {
    const disk = new Disk(10);
    assert.equal(await storeParts(disk, 0), 10);
    assert.equal(disk.entries, 0);
  });

  test("leaves entries for segments otherwise", async () => {
    const disk = new Disk(10);
    assert.equal(await storeParts(disk, 2.1 * mib), 6);
    assert.equal(disk.entries, 4);
  });
});

describe("segments on a full storage", () => {
  async function storeDeletes(bytesNeeded: number): Promise<{ stored: number; left: number }> {
    const disk = new Disk(10);
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    reserve.useCheckpoints({
      bytesNeeded: () => bytesNeeded,
      startForSpace: async () => {}, // frees nothing
      isRunning: false,
    });
    await reserve.fill();
    for (let stored = 0; ; ++stored) {
      const error = await reserve.storeSegments(disk.store, true).catch((cause: unknown) => cause);
      if (error !== undefined) return { stored, left: disk.entries };
    }
  }

  test("that delete leave what a checkpoint needs", async () => {
    assert.deepEqual(await storeDeletes(mib), { stored: 4, left: 6 });
  });

  test("that delete may use all of it if it does not suffice for a checkpoint", async () => {
    assert.deepEqual(await storeDeletes(3 * mib), { stored: 10, left: 0 });
  });

  test("with other writes use nothing of it", async () => {
    const disk = new Disk(10);
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    await reserve.fill();
    await assert.rejects(reserve.storeSegments(disk.store, false), { failure: "quota" });
    await assert.rejects(reserve.storeSegments(disk.store, false), { failure: "quota" });
    assert.equal(disk.entries, 10);
  });

  // A storage of which a checkpoint frees one entry, though the reserve may not suffice for it.
  function withUsefulCheckpoints(disk: Disk): { reserve: SpaceReserve; started: () => number } {
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    let started = 0;
    reserve.useCheckpoints({
      bytesNeeded: () => 30 * mib,
      startForSpace: async () => {
        started += 1;
        disk.free += 1;
      },
      isRunning: false,
    });
    return { reserve, started: () => started };
  }

  test("that delete try a checkpoint when only the entries for segments are left", async () => {
    const disk = new Disk(6);
    const { reserve, started } = withUsefulCheckpoints(disk);
    await reserve.fill();
    for (let i = 0; i < 2; ++i) await reserve.storeSegments(disk.store, true);
    assert.deepEqual([disk.entries, started()], [4, 0]);
    for (let i = 0; i < 3; ++i) await reserve.storeSegments(disk.store, true);
    assert.deepEqual([disk.entries, started()], [4, 3]);
  });

  test("that delete try a checkpoint when there is no reserve", async () => {
    const disk = new Disk(0);
    const { reserve, started } = withUsefulCheckpoints(disk);
    await reserve.storeSegments(disk.store, true);
    assert.equal(started(), 1);
    await reserve.storeSegments(disk.store, true);
    assert.equal(started(), 2);
  });

  test("that may use the reserve count its entries again before they release one", async () => {
    const disk = new Disk(10);
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    await reserve.fill();
    disk.entries = 7; // another process has released some, and something else took the space
    await reserve.storeSegments(disk.store, true);
    assert.equal(disk.entries, 6);
  });

  test("find the storage no longer full once the reserve is filled and more is free", async () => {
    const disk = new Disk(10);
    const reserve = reserveOn(disk, { rows: 100 * mib, log: 0 });
    await reserve.fill();
    await reserve.storeSegments(disk.store, true);
    assert.equal(reserve.isFull, true);
    disk.free = 1;
    await reserve.fill();
    assert.deepEqual([disk.entries, reserve.isFull], [10, true]);
    disk.free = 1;
    await reserve.fill();
    assert.deepEqual([disk.entries, disk.free, reserve.isFull], [10, 1, false]);
  });
});
