// A store on a disk that fails at random, and a process that dies at random: against the durability contract (design: strict and
// relaxed are there when they were acknowledged, deferred ones are a prefix, what was rejected had no effect).

import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalHost } from "../../web/src/host/local-host.ts";
import { noPage } from "../../web/src/host/page-life.ts";
import { type LogStorage, StorageError } from "../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../web/src/storage/memory.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Durability, Store } from "../../web/src/types.ts";
import { createEngine } from "../../web/src/wasm/engine.ts";
import { type Random, randomOf } from "./support/random.ts";

// A disk whose calls are slow, fail, or arrive without saying so. Once it is dead, nothing arrives and nothing is answered.
class BadDisk implements LogStorage {
  readonly #inner: LogStorage;
  readonly #random: Random;
  dead = false;
  good = false;

  constructor(files: Map<string, Uint8Array>, random: Random) {
    this.#inner = new MemoryStorage(files);
    this.#random = random;
  }

  async #bad<T>(call: () => Promise<T>): Promise<T> {
    for (let turns = this.#random.below(4); turns > 0; --turns) await this.#turn();
    if (this.dead) await new Promise(() => {});
    const dice = this.good ? 100 : this.#random.below(100);
    if (dice < 8) throw new StorageError("quota", "injected");
    if (dice < 14) throw new StorageError("aborted", "injected");
    if (dice < 17) throw new StorageError("unknown", "injected, and it did not arrive");
    const value = await call();
    await this.#turn();
    if (dice < 20) throw new StorageError("unknown", "injected, and it arrived");
    return value;
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        if (!this.dead) resolve();
      });
    });
  }

  readParts: LogStorage["readParts"] = (...a) => this.#bad(() => this.#inner.readParts(...a));
  load: LogStorage["load"] = (reader) => this.#inner.load(reader);
  inspect: LogStorage["inspect"] = (reader) => this.#inner.inspect(reader);
  claim: LogStorage["claim"] = (...a) => this.#inner.claim(...a);
  addSegment: LogStorage["addSegment"] = (...a) => this.#bad(() => this.#inner.addSegment(...a));
  putPart: LogStorage["putPart"] = (...a) => this.#bad(() => this.#inner.putPart(...a));
  commitManifest: LogStorage["commitManifest"] = (...a) =>
    this.#bad(() => this.#inner.commitManifest(...a));
  dropParts: LogStorage["dropParts"] = (...a) => this.#bad(() => this.#inner.dropParts(...a));
  drop = () => this.#inner.drop();
  close = () => this.#inner.close();
}

interface Write {
  key: string;
  durability: Durability;
  acknowledged?: number; // position among the acknowledgements
  rejected?: "no effect" | "not known";
}

class Life {
  readonly disk: BadDisk;
  readonly store: Store;
  readonly writes: Write[] = [];
  acknowledgements = 0;

  constructor(disk: BadDisk, store: Store) {
    this.disk = disk;
    this.store = store;
  }

  static async begin(files: Map<string, Uint8Array>, random: Random): Promise<Life> {
    const disk = new BadDisk(files, random);
    const host = await LocalHost.open({
      name: "bad",
      engine: await createEngine(),
      storage: disk,
      persistence: "indexeddb",
      ownership: { release() {} },
      durability: "strict",
      deferredDelayMs: 1,
      memoryLimit: 0,
      clock: { now: () => Date.now() },
      readOnly: false,
      persisted: true,
      life: noPage,
      onWarning() {},
    });
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

  // What must hold of the writes of a life that ended, given what is there.
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

test("acknowledged is there, rejected is not, whatever the disk does and whenever the process dies", async (t) => {
  const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
  const lives = Number(process.env["ENTITABLE_LIVES"] ?? 60);
  t.diagnostic(`ENTITABLE_SEED=${seed}`);
  const random = randomOf(seed);
  const files = new Map<string, Uint8Array>();
  const count = { acknowledged: 0, rejected: 0, unknown: 0, lost: 0 };
  const first = await Life.begin(files, random);
  first.disk.good = true;
  await first.store.table("rows").createTable();
  await first.store.close();
  let kept = new Set<string>();
  for (let n = 0; n < lives; ++n) {
    const life = await Life.begin(files, random);
    const found = await keysOf(life.store);
    for (const key of kept) assert(found.has(key), `a life later: ${key}`);
    for (let i = 0; i < 60; ++i) {
      const durability = (["strict", "relaxed", "deferred"] as const)[
        random.below(3)
      ] as Durability;
      life.write(`${n}-${i}`, durability);
      for (let turns = random.below(4); turns > 0; --turns) await new Promise(setImmediate);
    }
    if (random.below(3) === 0) {
      life.disk.good = true;
      await life.store.close().catch(() => {}); // deferred writes that can't be stored are lost, and that is said
    }
    life.disk.dead = true;
    const next = await Life.begin(files, random);
    next.disk.good = true;
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
