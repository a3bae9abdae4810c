// A storage whose calls, at random, are slow, never settle, fail, or succeed with an unknown
// outcome.

import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import type { Random } from "./random.ts";

export interface RandomFaultOptions {
  random: Random;
  faults: boolean; // false: the disk is only slow
  mayCompleteAfterDeath?: boolean; // calls made before the process died may still complete
}

export class RandomFaultStorage implements LogStorage {
  readonly #inner: LogStorage;
  readonly #options: RandomFaultOptions;
  dead = false; // calls no longer get a response
  isHealthy = false;

  constructor(inner: LogStorage, options: RandomFaultOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  async #withFaults<T>(call: () => Promise<T>): Promise<T> {
    const { random, faults } = this.#options;
    const roll = this.isHealthy || !faults ? 100 : random.below(100);
    for (let turns = this.isHealthy ? 0 : random.below(4); turns > 0; --turns) await turn();
    if (!this.isHealthy && random.below(50) === 0) await blocked(random.below(40));
    if (this.dead && (this.#options.mayCompleteAfterDeath !== true || random.below(2) === 0))
      await never();
    if (roll < 8) throw new StorageError("quota", "injected");
    if (roll < 14) throw new StorageError("aborted", "injected");
    if (roll < 17) throw new StorageError("unknown", "injected, and it did not arrive");
    const value = await call();
    await turn();
    if (this.dead) await never();
    if (roll < 20) throw new StorageError("unknown", "injected, and it arrived");
    return value;
  }

  load: LogStorage["load"] = (reader) => this.#inner.load(reader);
  readParts: LogStorage["readParts"] = (ids, part) =>
    this.#withFaults(() => this.#inner.readParts(ids, part)).catch((error: StorageError) => {
      throw error.failure === "fenced" ? error : new StorageError("aborted", "injected");
    });
  readSegments: LogStorage["readSegments"] = (...a) => this.#inner.readSegments(...a);
  readWhileInUse: LogStorage["readWhileInUse"] = (reader) => this.#inner.readWhileInUse(reader);
  claim: LogStorage["claim"] = (...a) => this.#inner.claim(...a);
  readonly segmentBytes = 300; // small, so that many groups have several segments
  addSegments: LogStorage["addSegments"] = (sequence, segments, durability) => {
    // Copied, because the call may take effect after the engine was closed.
    const copies = segments.map((bytes) => bytes.slice());
    return this.#withFaults(() => this.#inner.addSegments(sequence, copies, durability));
  };
  putPart: LogStorage["putPart"] = (id, bytes) => {
    const copy = bytes.slice();
    return this.#withFaults(() => this.#inner.putPart(id, copy));
  };
  commitManifest: LogStorage["commitManifest"] = (bytes, obsolete) => {
    const copy = bytes.slice();
    return this.#withFaults(() => this.#inner.commitManifest(copy, obsolete));
  };
  deleteParts: LogStorage["deleteParts"] = (ids) =>
    this.#withFaults(() => this.#inner.deleteParts(ids));
  deleteLog = () => this.#inner.deleteLog();
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
