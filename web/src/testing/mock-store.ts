// The mock store: a store handle over an in-memory host, with forks, savepoints and rollback.

import { AbortError, StoreError } from "../errors.ts";
import type { LocalHost } from "../host/local-host.ts";
import { openInMemory } from "../open/open-host.ts";
import { settingsFromOptions } from "../open/options.ts";
import { developmentName, mockAccount } from "../rest/development-account.ts";
import { StoreHandle } from "../store.ts";
import { LatencyModel } from "./delay.ts";
import { FaultRules, type FaultRulesState } from "./fault-rules.ts";
import { seedStore } from "./fixtures.ts";
import { MockHost, type MockParts } from "./mock-host.ts";
import { PageTruncation } from "./page-truncation.ts";
import { RequestRecorder } from "./request-recorder.ts";
import { SeededRandom } from "./seeded-random.ts";
import { type RejectionsState, TemporaryRejections } from "./temporary-rejections.ts";
import type {
  FaultRule,
  Faults,
  Fixtures,
  LoggedRequest,
  MockOptions,
  MockStore,
  RequestLog,
  Savepoint,
} from "./types.ts";
import { VirtualClock } from "./virtual-clock.ts";

const newYear = "2026-01-01T00:00:00Z";

/**
 * Opens a store in memory for tests. Rejects with StoreError (ValidationFailed for an option or a
 * fixture, WasmLoadFailed, WasmVersionMismatch) or with AbortError.
 */
export function mockStore(options: MockOptions = {}): Promise<MockStore> {
  return openMock(options, new RequestRecorder());
}

type RequestListener = (request: LoggedRequest) => void;

/**
 * Opens a mock store. `onRequest` is called when a request to the store or to one of its forks
 * ends.
 */
export function openMockWithListener(
  options: MockOptions = {},
  onRequest: RequestListener,
): Promise<MockStore> {
  return openMock(options, new RequestRecorder({ onRequest }));
}

// Opens a mock store whose requests are in no log.
export function openUnloggedMock(options: MockOptions): Promise<MockStore> {
  return openMock(options, new RequestRecorder());
}

// Opens a mock store whose requests are recorded in `log`.
export async function openMock(options: MockOptions, log: RequestRecorder): Promise<MockStore> {
  const { seed = 1, clock: from = newYear, fixtures, faults = [], ...more } = options;
  const { latency: latencyOption, throttle, tableDeletionMs, emptyPages, scans, ...rest } = more;
  const scansAsService = isAzure(scans);
  const clock = new VirtualClock(from);
  const latency = new LatencyModel(latencyOption);
  const pageTruncation = new PageTruncation(emptyPages);
  const rejections = new TemporaryRejections({ throttle, tableDeletionMs }, clock);
  const random = new SeededRandom(seed);
  const { name = developmentName } = rest;
  const account = mockAccount(name, rest.account);
  const openOptions = { ...rest, name, account, persistence: "memory", clock } as const;
  const settings = settingsFromOptions(openOptions, "mockStore");
  if (settings.signal?.aborted) throw new AbortError();
  const host = await openInMemory(settings, { preload: ["rest"] });
  const store = new MockStoreHandle(settings.name, {
    account: settings.account.name,
    host,
    clock,
    random,
    faults: faultsOf(host, random),
    latency,
    pageTruncation,
    rejections,
    scansAsService,
    log,
    onWarning: settings.onWarning,
  });
  try {
    if (fixtures !== undefined) await store.seed(fixtures);
    for (const [i, rule] of faults.entries()) addTo(store.faults, rule, `faults[${i}]`);
    store.setResetPoint();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

// Checks the option `scans`. Throws StoreError ValidationFailed.
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
  return new FaultRules(random, (refusal) =>
    host.engineForMockHost.makeErrorResponse(new Uint8Array(), refusal, 0),
  );
}

/**
 * Forks a store. `onRequest` is called when a request to the fork or to one of its own forks ends.
 */
export function forkWithRequestListener(store: MockStore, onRequest: RequestListener): MockStore {
  return (store as MockStoreHandle).forkWithLog(new RequestRecorder({ onRequest }));
}

class SavedState implements Savepoint {
  readonly #host: LocalHost;
  readonly version: number;
  readonly time: number;
  readonly autoAdvance: boolean;
  readonly random: number;
  readonly faults: FaultRulesState;
  readonly rejections: RejectionsState;
  #isReleased = false;

  constructor({ host, clock, random, faults, rejections }: MockParts) {
    this.#host = host;
    this.version = host.retainVersion();
    this.time = clock.now();
    this.autoAdvance = clock.autoAdvance;
    this.random = random.state;
    this.faults = faults.state;
    this.rejections = rejections.state;
  }

  belongsTo(host: LocalHost): boolean {
    return this.#host === host && !this.#isReleased;
  }

  release(): void {
    if (!this.#isReleased) this.#host.releaseVersion(this.version);
    this.#isReleased = true;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

class MockStoreHandle extends StoreHandle implements MockStore {
  readonly #parts: MockParts;
  readonly #unobserved: StoreHandle;
  #resetPoint: SavedState;

  constructor(name: string, parts: MockParts) {
    super(name, new MockHost(parts), parts);
    this.#parts = parts;
    this.#unobserved = new StoreHandle(name, parts.host, { random: parts.random });
    this.#resetPoint = new SavedState(parts);
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
    return this.forkWithLog(this.#parts.log.forFork());
  }

  forkWithLog(log: RequestRecorder): MockStore {
    const clock = this.#parts.clock.copy();
    const host = this.#parts.host.fork(clock);
    const random = new SeededRandom(this.#parts.random.state);
    const faults = faultsOf(host, random);
    faults.state = this.#parts.faults.state;
    const rejections = new TemporaryRejections(this.#parts.rejections.options, clock);
    rejections.state = this.#parts.rejections.state;
    const parts = { ...this.#parts, host, clock, random, faults, rejections, log };
    return new MockStoreHandle(this.name, parts);
  }

  savepoint(): Savepoint {
    return new SavedState(this.#parts);
  }

  rollback(savepoint: Savepoint): void {
    const savedState = savepoint as SavedState;
    const { host } = this.#parts;
    if (!(savedState instanceof SavedState && savedState.belongsTo(host))) {
      throw new StoreError(
        "ValidationFailed",
        "The savepoint belongs to another store or was released.",
      );
    }
    host.rollback(savedState.version);
    this.#restoreState(savedState);
  }

  async seed(fixtures: Fixtures): Promise<void> {
    await seedStore(this.#unobserved, fixtures);
  }

  async reset(): Promise<void> {
    const { host } = this.#parts;
    await host.rollbackWhenIdle(this.#resetPoint.version, () =>
      this.#restoreState(this.#resetPoint),
    );
  }

  /** Makes the current state the one that reset() restores. */
  setResetPoint(): void {
    this.#resetPoint.release();
    this.#resetPoint = new SavedState(this.#parts);
  }

  #restoreState({ time, autoAdvance, random, faults, rejections }: SavedState): void {
    this.#parts.clock.set(time);
    this.#parts.clock.autoAdvance = autoAdvance;
    this.#parts.random.state = random;
    this.#parts.faults.state = faults;
    this.#parts.rejections.state = rejections;
  }
}
