// A store in memory with versions: the same handle as every store's, over the same host.

import { AbortError, StoreError } from "../errors.ts";
import type { LocalHost } from "../host/local-host.ts";
import { openInMemory } from "../opening/open-host.ts";
import { checkOptions } from "../opening/options.ts";
import { StoreHandle } from "../store.ts";
import { plant } from "./fixtures.ts";
import { SeededRandom } from "./seeded-random.ts";
import type { Checkpoint, Fixtures, MockOptions, MockStore } from "./types.ts";
import { VirtualClock } from "./virtual-clock.ts";

const newYear = "2026-01-01T00:00:00Z";

/**
 * A store in memory for tests. Rejects with StoreError: ValidationFailed (an option, or a fixture), WasmLoadFailed, WasmVersionMismatch; or with
 * AbortError.
 */
export async function mockStore(options: MockOptions = {}): Promise<MockStore> {
  const { seed = 1, clock: from = newYear, fixtures, ...rest } = options;
  const clock = new VirtualClock(from);
  const random = new SeededRandom(seed);
  const settings = checkOptions({ ...rest, persistence: "memory", clock });
  if (settings.signal?.aborted) throw new AbortError();
  const host = await openInMemory(settings);
  const store = new MockStoreHandle(settings.name, { host, clock, random });
  if (fixtures === undefined) return store;
  try {
    await store.seed(fixtures);
    store.beginHere();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Parts {
  host: LocalHost;
  clock: VirtualClock;
  random: SeededRandom;
}

class Moment implements Checkpoint {
  readonly #host: LocalHost;
  readonly version: number;
  readonly time: number;
  readonly random: number;
  #forgotten = false;

  constructor({ host, clock, random }: Parts) {
    this.#host = host;
    this.version = host.keep();
    this.time = clock.now();
    this.random = random.state;
  }

  isOf(host: LocalHost): boolean {
    return this.#host === host && !this.#forgotten;
  }

  forget(): void {
    if (!this.#forgotten) this.#host.forget(this.version);
    this.#forgotten = true;
  }

  [Symbol.dispose](): void {
    this.forget();
  }
}

class MockStoreHandle extends StoreHandle implements MockStore {
  readonly #parts: Parts;
  #beginning: Moment;

  constructor(name: string, parts: Parts) {
    super(name, parts.host, parts.random);
    this.#parts = parts;
    this.#beginning = new Moment(parts);
  }

  get clock(): VirtualClock {
    return this.#parts.clock;
  }

  fork(): MockStore {
    const { host, clock, random } = this.#parts;
    const time = clock.copy();
    const parts = { host: host.fork(time), clock: time, random: new SeededRandom(random.state) };
    return new MockStoreHandle(this.name, parts);
  }

  checkpoint(): Checkpoint {
    return new Moment(this.#parts);
  }

  rollback(checkpoint: Checkpoint): void {
    const moment = checkpoint as Moment;
    const { host } = this.#parts;
    if (!(moment instanceof Moment && moment.isOf(host))) {
      throw new StoreError(
        "ValidationFailed",
        "The checkpoint is of another store, or was forgotten.",
      );
    }
    host.rollback(moment.version);
    this.#setBack(moment);
  }

  async seed(fixtures: Fixtures): Promise<void> {
    await plant(this, fixtures);
  }

  async reset(): Promise<void> {
    const { host } = this.#parts;
    await host.rollbackNext(this.#beginning.version, () => this.#setBack(this.#beginning));
  }

  /** From now on reset() leads here. */
  beginHere(): void {
    this.#beginning.forget();
    this.#beginning = new Moment(this.#parts);
  }

  #setBack({ time, random }: Moment): void {
    this.#parts.clock.set(time);
    this.#parts.random.state = random;
  }
}
