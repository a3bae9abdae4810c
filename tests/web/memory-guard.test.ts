// The memory guard on a pretended engine: when it measures memory, and what it does then.
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { MemoryGuard } from "../../web/src/host/memory-guard.ts";

const memoryLimit = 1_000_000;

class Bench {
  memory = 0; // of the engine, in bytes; NaN: the engine is closed
  measured = 0; // how often it was asked for
  unsaved = 0;
  trimmed = 0;
  checkpoints = 0;
  freed = 0;
  readonly guard: MemoryGuard;

  constructor() {
    const bench = this;
    this.guard = new MemoryGuard({
      engine: {
        get memoryBytes() {
          bench.measured += 1;
          if (Number.isNaN(bench.memory)) throw new Error("closed");
          return bench.memory;
        },
        unsavedMemory: () => bench.unsaved,
      },
      memoryLimit,
      trim: () => {
        bench.trimmed += 1;
        bench.memory = 0;
      },
      startCheckpoint: () => {
        bench.checkpoints += 1;
        return true;
      },
      onFreed: () => {
        bench.freed += 1;
      },
    });
  }

  async write(times: number, bytes: number): Promise<void> {
    for (; times > 0; --times) {
      this.guard.addWritten(bytes);
      await Promise.resolve();
    }
  }
}

describe("the memory guard", () => {
  test("measures memory after every eighth small write", async () => {
    const bench = new Bench();
    await bench.write(80, 10);
    assert.equal(bench.measured, 10);
  });

  test("frees memory within eight small writes, after the write has returned", async () => {
    const bench = new Bench();
    await bench.write(20, 10);
    bench.memory = memoryLimit + 1;
    for (let i = 0; i < 8; ++i) bench.guard.addWritten(10);
    assert.equal(bench.measured, 2); // the engine was not called since the 16th write
    assert.equal(bench.trimmed, 0);
    await Promise.resolve();
    assert.equal(bench.trimmed, 1);
  });

  test("measures memory after a large write", async () => {
    const bench = new Bench();
    bench.memory = memoryLimit + 1;
    await bench.write(1, memoryLimit / 64);
    assert.equal(bench.trimmed, 1);
  });

  test("lets writes continue when a failed checkpoint has dropped its copy of the rows", () => {
    const bench = new Bench();
    bench.memory = bench.unsaved = 0.9 * memoryLimit; // 50 % published, 40 % in the copy
    bench.guard.update();
    assert.equal(bench.guard.isFull, true);
    assert.equal(bench.checkpoints, 1);
    bench.memory = bench.unsaved = 0.5 * memoryLimit;
    bench.guard.updateAfterFailure();
    assert.equal(bench.guard.isFull, false);
    assert.equal(bench.freed, 1);
    assert.equal(bench.checkpoints, 1, "no other checkpoint starts");
  });

  test("holds writes back after a failed checkpoint while memory is full", () => {
    const bench = new Bench();
    bench.memory = bench.unsaved = 0.95 * memoryLimit;
    bench.guard.update();
    bench.memory = bench.unsaved = 0.9 * memoryLimit;
    bench.guard.updateAfterFailure();
    assert.equal(bench.guard.isFull, true);
    assert.equal(bench.freed, 0);
    assert.equal(bench.checkpoints, 1);
  });

  test("does not disturb a write to an engine that was closed meanwhile", async () => {
    const bench = new Bench();
    bench.memory = Number.NaN;
    await bench.write(8, 10);
    await bench.write(1, memoryLimit);
    assert.equal(bench.trimmed, 0);
  });
});
