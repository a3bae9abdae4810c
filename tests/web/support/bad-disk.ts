// A disk whose calls are slow, blocked, fail, or arrive without saying so, at random.

import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import type { Random } from "./random.ts";

export interface BadDiskOptions {
  random: Random;
  faults: boolean; // false: it is only slow
  lands?: boolean; // what was asked for before a death may be done after it
}

export class BadDisk implements LogStorage {
  readonly #inner: LogStorage;
  readonly #o: BadDiskOptions;
  dead = false; // nothing is answered any more
  good = false;

  constructor(inner: LogStorage, options: BadDiskOptions) {
    this.#inner = inner;
    this.#o = options;
  }

  async #bad<T>(call: () => Promise<T>): Promise<T> {
    const { random, faults } = this.#o;
    const dice = this.good || !faults ? 100 : random.below(100);
    for (let turns = this.good ? 0 : random.below(4); turns > 0; --turns) await turn();
    if (!this.good && random.below(50) === 0) await blocked(random.below(40));
    if (this.dead && (this.#o.lands !== true || random.below(2) === 0)) await never();
    if (dice < 8) throw new StorageError("quota", "injected");
    if (dice < 14) throw new StorageError("aborted", "injected");
    if (dice < 17) throw new StorageError("unknown", "injected, and it did not arrive");
    const value = await call();
    await turn();
    if (this.dead) await never();
    if (dice < 20) throw new StorageError("unknown", "injected, and it arrived");
    return value;
  }

  load: LogStorage["load"] = (reader) => this.#inner.load(reader);
  readParts: LogStorage["readParts"] = (ids, part) =>
    this.#bad(() => this.#inner.readParts(ids, part)).catch((error: StorageError) => {
      throw error.failure === "fenced" ? error : new StorageError("aborted", "injected");
    });
  inspect: LogStorage["inspect"] = (reader) => this.#inner.inspect(reader);
  claim: LogStorage["claim"] = (...a) => this.#inner.claim(...a);
  readonly segmentBytes = 300; // so that many groups take several
  addSegments: LogStorage["addSegments"] = (sequence, segments, durability) => {
    const copies = segments.map((bytes) => bytes.slice()); // they may land when the engine is gone
    return this.#bad(() => this.#inner.addSegments(sequence, copies, durability));
  };
  putPart: LogStorage["putPart"] = (id, bytes) => {
    const copy = bytes.slice();
    return this.#bad(() => this.#inner.putPart(id, copy));
  };
  commitManifest: LogStorage["commitManifest"] = (bytes, obsolete) => {
    const copy = bytes.slice();
    return this.#bad(() => this.#inner.commitManifest(copy, obsolete));
  };
  dropParts: LogStorage["dropParts"] = (ids) => this.#bad(() => this.#inner.dropParts(ids));
  drop = () => this.#inner.drop();
  close = () => this.#inner.close();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function blocked(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function never(): Promise<never> {
  return new Promise(() => {});
}
