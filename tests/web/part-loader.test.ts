// Tests how the part loader makes room for parts, with an engine that the test controls.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { PartLoader, type PartLoaderOptions } from "../../web/src/host/part-loader.ts";
import { PartsNeeded } from "../../web/src/wasm/parts-needed.ts";

const limit = 4_000_000;

// Has the rules of the real engine: all functions first run the pending reads, and a write unloads
// any part for which no read waits.
class ModelEngine {
  memory = 0;
  failures = 0; // how many of the next trims fail
  readonly loaded = new Set<number>();
  readonly awaited = new Set<number>();
  pending: (() => void) | undefined;
  trimmedTo: number[] = [];

  get memoryBytes(): number {
    this.runPendingReads();
    return this.memory;
  }
  runPendingReads(): void {
    const reads = this.pending;
    this.pending = undefined;
    reads?.();
  }
  trimMemory(): void {
    this.runPendingReads();
    this.awaited.clear();
    this.trimMemoryTo(limit);
  }
  trimMemoryTo(bytes: number): void {
    this.runPendingReads();
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("no memory");
    }
    this.trimmedTo.push(bytes);
    this.memory = Math.min(this.memory, bytes);
  }
  loadPart(id: number): void {
    this.loaded.add(id);
  }
  loadPartForCheckpoint(): void {}
  damage = () => [];
  partsWithInexactCounts = () => undefined;

  read(id: number): number | PartsNeeded {
    if (this.loaded.has(id)) return id;
    this.awaited.add(id);
    return new PartsNeeded([id]);
  }
  write(): void {
    for (const id of this.loaded) if (!this.awaited.has(id)) this.loaded.delete(id);
  }
}

let engine: ModelEngine;
let loader: PartLoader;

// The storage lets a write take place between the load and the repeated read.
const storage: PartLoaderOptions["storage"] = {
  async readParts(ids, onPart) {
    await turn();
    for (const id of ids) onPart(id, new Uint8Array(1));
    engine.write();
  },
};

// Reads a row in this part.
async function read(id: number): Promise<number> {
  const result = engine.read(id);
  if (!(result instanceof PartsNeeded)) return result;
  return await loader.loadAndRetry(result, () => engine.read(id));
}

beforeEach(() => {
  engine = new ModelEngine();
  loader = new PartLoader({ engine, storage, memoryLimit: limit, onDamage: assert.fail });
});

describe("when memory is full", () => {
  beforeEach(() => {
    engine.memory = limit;
  });

  test("room is made for a part, and no write unloads it before it is read", async () => {
    assert.equal(await read(1), 1);
    assert.equal(engine.trimmedTo[0], limit - 300_000);
  });

  test("a call that needs many parts waits for others, and then room is made for all", async () => {
    engine.memory = limit - 1_000_000;
    const needed = [11, 12, 13, 14, 15, 16];
    const loadMany = () => {
      const missing = needed.filter((id) => engine.read(id) instanceof PartsNeeded);
      if (missing.length === 0) return engine.trimmedTo.includes(limit - 6 * 300_000);
      return new PartsNeeded(missing);
    };
    const one = read(1);
    const many = loader.loadAndRetry(loadMany() as PartsNeeded, loadMany, "all");
    assert.equal(await one, 1);
    assert.equal(await many, true);
  });

  test("a read that runs before memory is trimmed waits for its part", async () => {
    let pending: Promise<number> | undefined;
    engine.pending = () => {
      pending = read(2);
    };
    loader.trim();
    assert.equal(await pending, 2);
    engine.memory = limit;
    engine.pending = () => {
      pending = read(4);
    };
    assert.equal(await read(3), 3);
    assert.equal(await pending, 4);
  });

  test("a call in steps is not taken for one that makes no progress", async () => {
    const ids = [1, 2, 3];
    const call = () => {
      for (let next = ids[0]; next !== undefined; next = ids[0]) {
        const result = engine.read(next);
        if (result instanceof PartsNeeded) return result;
        ids.shift();
      }
      return "done";
    };
    assert.equal(await loader.loadAndRetry(call() as PartsNeeded, call, "steps"), "done");
  });

  test("a call that fails because no room can be made does not hold up later ones", async () => {
    engine.failures = 1;
    await assert.rejects(read(1), /no memory/);
    assert.equal(await read(2), 2);
    engine.memory = limit;
    assert.deepEqual(await Promise.all([read(3), read(4)]), [3, 4]);
  });
});
