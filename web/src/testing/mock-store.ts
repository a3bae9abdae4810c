// A store in memory with versions: the same handle as every store's, over the same host.

import { AbortError, StoreError } from "../errors.ts";
import type { LocalHost } from "../host/local-host.ts";
import { openInMemory } from "../opening/open-host.ts";
import { checkOptions } from "../opening/options.ts";
import { StoreHandle } from "../store.ts";
import { Latencies } from "./delay.ts";
import { FaultRules, type FaultState } from "./fault-rules.ts";
import { plant } from "./fixtures.ts";
import { PageCuts } from "./page-cuts.ts";
import { Log } from "./request-log.ts";
import { SeededRandom } from "./seeded-random.ts";
import { type LimitsState, ServiceLimits } from "./service-limits.ts";
import type {
  Checkpoint,
  FaultRule,
  Faults,
  Fixtures,
  LoggedRequest,
  MockOptions,
  MockStore,
  RequestLog,
} from "./types.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { type MockParts, WatchedHost } from "./watched-host.ts";

const newYear = "2026-01-01T00:00:00Z";

/**
 * A store in memory for tests. Rejects with StoreError: ValidationFailed (an option, or a fixture), WasmLoadFailed, WasmVersionMismatch; or with
 * AbortError.
 */
export function mockStore(options: MockOptions = {}): Promise<MockStore> {
  return openMock(options, new Log());
}

type Hear = (request: LoggedRequest) => void;

/** The same; `hear` is told of requests to it as they end, and of those to its forks. */
export function openHeard(options: MockOptions = {}, hear: Hear): Promise<MockStore> {
  return openMock(options, new Log({ hear }));
}

// The same, with its log.
export async function openMock(options: MockOptions, log: Log): Promise<MockStore> {
  const { seed = 1, clock: from = newYear, fixtures, faults = [], ...more } = options;
  const { latency: takes, throttle, tableDeletionMs, emptyPages, scans, ...rest } = more;
  const scansAsService = isAzure(scans);
  const clock = new VirtualClock(from);
  const latency = new Latencies(takes);
  const cuts = new PageCuts(emptyPages);
  const limits = new ServiceLimits({ throttle, tableDeletionMs }, clock);
  const random = new SeededRandom(seed);
  const settings = checkOptions({ ...rest, persistence: "memory", clock });
  if (settings.signal?.aborted) throw new AbortError();
  const host = await openInMemory(settings, { whole: true });
  const store = new MockStoreHandle(settings.name, {
    host,
    clock,
    random,
    faults: faultsOf(host, random),
    latency,
    cuts,
    limits,
    scansAsService,
    log,
  });
  try {
    if (fixtures !== undefined) await store.seed(fixtures);
    for (const [i, rule] of faults.entries()) addTo(store.faults, rule, `faults[${i}]`);
    store.beginHere();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

// Throws StoreError ValidationFailed.
function isAzure(scans: MockOptions["scans"]): boolean {
  if (scans === undefined || scans === "azure") return scans === "azure";
  throw new StoreError("ValidationFailed", `scans must be "azure", if anything, not ${scans}.`);
}

function addTo(faults: Faults, rule: FaultRule, name: string): void {
  try {
    faults.add(rule);
  } catch (cause) {
    const message = `${name}: ${(cause as Error).message}`;
    throw new StoreError("ValidationFailed", message, { cause });
  }
}

function faultsOf(host: LocalHost, random: SeededRandom): FaultRules {
  return new FaultRules(random, (refusal) => host.watching.refuse(new Uint8Array(), refusal, 0));
}

/** As `store.fork()`, whose requests `hear` is told of as they end; those of its own forks too. */
export function forkHeard(store: MockStore, hear: Hear): MockStore {
  return (store as MockStoreHandle).forkWithLog(new Log({ hear }));
}

class Moment implements Checkpoint {
  readonly #host: LocalHost;
  readonly version: number;
  readonly time: number;
  readonly autoAdvance: boolean;
  readonly random: number;
  readonly faults: FaultState;
  readonly limits: LimitsState;
  #forgotten = false;

  constructor({ host, clock, random, faults, limits }: MockParts) {
    this.#host = host;
    this.version = host.keep();
    this.time = clock.now();
    this.autoAdvance = clock.autoAdvance;
    this.random = random.state;
    this.faults = faults.state;
    this.limits = limits.state;
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
  readonly #parts: MockParts;
  readonly #unwatched: StoreHandle;
  #beginning: Moment;

  constructor(name: string, parts: MockParts) {
    super(name, new WatchedHost(parts), parts.random);
    this.#parts = parts;
    this.#unwatched = new StoreHandle(name, parts.host, parts.random);
    this.#beginning = new Moment(parts);
  }

  get clock(): VirtualClock {
    return this.#parts.clock;
  }

  get faults(): Faults {
    return this.#parts.faults;
  }

  get requests(): RequestLog {
    return this.#parts.log;
  }

  fork(): MockStore {
    return this.forkWithLog(this.#parts.log.ofFork());
  }

  forkWithLog(log: Log): MockStore {
    const clock = this.#parts.clock.copy();
    const host = this.#parts.host.fork(clock);
    const random = new SeededRandom(this.#parts.random.state);
    const faults = faultsOf(host, random);
    faults.state = this.#parts.faults.state;
    const limits = new ServiceLimits(this.#parts.limits.options, clock);
    limits.state = this.#parts.limits.state;
    const parts = { ...this.#parts, host, clock, random, faults, limits, log };
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
    await plant(this.#unwatched, fixtures);
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

  #setBack({ time, autoAdvance, random, faults, limits }: Moment): void {
    this.#parts.clock.set(time);
    this.#parts.clock.autoAdvance = autoAdvance;
    this.#parts.random.state = random;
    this.#parts.faults.state = faults;
    this.#parts.limits.state = limits;
  }
}
