// Tests the durability contract on a disk that fails at random, with processes that crash at
// random. Acknowledged strict and relaxed writes must be stored, the stored deferred writes must be
// a prefix, and a rejected write must have no effect.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Durability, Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { openHost } from "./support/open-host.ts";
import { type Random, seededRandom } from "./support/random.ts";
import { RandomFaultStorage } from "./support/random-fault-storage.ts";

interface Write {
  key: string;
  durability: Durability;
  acknowledged?: number; // the number of acknowledgements before it
  rejected?: "no effect" | "not known";
}

class Life {
  readonly disk: RandomFaultStorage;
  readonly store: Store;
  readonly writes: Write[] = [];
  acknowledgements = 0;

  constructor(disk: RandomFaultStorage, store: Store) {
    this.disk = disk;
    this.store = store;
  }

  static async begin(files: Map<string, Uint8Array>, random: Random): Promise<Life> {
    const disk = new RandomFaultStorage(new MemoryStorage(files), { random, faults: true });
    const engine = await createEngine();
    const host = await openHost({ name: "bad", engine, storage: disk, deferredDelayMs: 1 });
    return new Life(disk, new StoreHandle("bad", host));
  }

  write(key: string, durability: Durability): void {
    const write: Write = { key, durability };
    this.writes.push(write);
    const table = this.store.table("rows", { durability });
    table.createEntity({ partitionKey: "p", rowKey: key }).then(
      () => {
        if (!this.disk.dead) write.acknowledged = this.acknowledgements++;
      },
      (error: StorageError) => {
        write.rejected = error.failure === "unknown" ? "not known" : "no effect";
      },
    );
  }

  // Checks the writes of a process that has ended against the stored rows.
  check(there: ReadonlySet<string>): void {
    for (const { key, durability, acknowledged, rejected } of this.writes) {
      if (acknowledged !== undefined && durability !== "deferred")
        assert(there.has(key), `lost: ${key}`);
      if (rejected === "no effect") assert(!there.has(key), `rejected, and there: ${key}`);
    }
    const order = this.writes
      .filter(({ acknowledged }) => acknowledged !== undefined)
      .sort((a, b) => (a.acknowledged as number) - (b.acknowledged as number))
      .map(({ key }) => there.has(key));
    const missing = order.indexOf(false);
    assert(missing < 0 || !order.includes(true, missing), "what is there is a prefix");
  }
}

async function keysOf(store: Store): Promise<Set<string>> {
  const keys = new Set<string>();
  for await (const { rowKey } of store.table("rows").listEntities()) keys.add(rowKey as string);
  return keys;
}

test("acknowledged writes are stored and rejected ones are not, at any failure", async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  const lives = Number(process.env["ENTITABLE_LIVES"] ?? 60);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = seededRandom(seed);
  const files = new Map<string, Uint8Array>();
  const count = { acknowledged: 0, rejected: 0, unknown: 0, lost: 0 };
  const first = await Life.begin(files, random);
  first.disk.isHealthy = true;
  await first.store.table("rows").createTable();
  await first.store.close();
  let kept = new Set<string>();
  for (let n = 0; n < lives; ++n) {
    const life = await Life.begin(files, random);
    life.disk.isHealthy = true; // otherwise reading may fail too
    const found = await keysOf(life.store);
    life.disk.isHealthy = false;
    for (const key of kept) assert(found.has(key), `a life later: ${key}`);
    for (let i = 0; i < 60; ++i) {
      const durability = (["strict", "relaxed", "deferred"] as const)[
        random.below(3)
      ] as Durability;
      life.write(`${n}-${i}`, durability);
      for (let turns = random.below(4); turns > 0; --turns) await new Promise(setImmediate);
    }
    if (random.below(3) === 0) {
      life.disk.isHealthy = true;
      // Deferred writes that cannot be stored are lost, and close() reports this.
      await life.store.close().catch(() => {});
    }
    life.disk.dead = true;
    const next = await Life.begin(files, random);
    next.disk.isHealthy = true;
    kept = await keysOf(next.store);
    await next.store.close();
    life.check(kept);
    for (const { key, acknowledged, rejected } of life.writes) {
      if (acknowledged !== undefined) count.acknowledged += 1;
      if (rejected === "no effect") count.rejected += 1;
      if (rejected === "not known") count.unknown += 1;
      if (acknowledged !== undefined && !kept.has(key)) count.lost += 1;
    }
  }
  t.diagnostic(JSON.stringify(count));
  assert(count.acknowledged > lives && count.rejected > lives && count.unknown > 0);
});
