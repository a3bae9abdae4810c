// A session of sync with a clock that tests move, a page that they show and hide, the simulation's
// store, and a table that answers at once unless a test says otherwise.

import type { FrozenPush } from "../../web/src/sync/hidden-tables.ts";
import { type Key, keyOf } from "../../web/src/sync/keys.ts";
import { operationsOf, type RemoteOperation } from "../../web/src/sync/operation.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Dated, Failure, PushAnswer, Remote } from "../../web/src/sync/remote.ts";
import { AccountBudget, type BudgetLimits } from "../../web/src/sync-session/account-budget.ts";
import type { Activity, ActivityEvent } from "../../web/src/sync-session/activity.ts";
import type { Beacon } from "../../web/src/sync-session/beacon-work.ts";
import type { Clock } from "../../web/src/sync-session/clock.ts";
import type {
  Connection,
  Pass,
  SessionSettings,
} from "../../web/src/sync-session/session-options.ts";
import { TableSession } from "../../web/src/sync-session/table-session.ts";
import { Disk, type FakeStore } from "./fake-store.ts";
import { Scheduler } from "./scheduler.ts";
import { startMs, WeakTable } from "./weak-table.ts";

const client = "me";

const settingsOfTests: SessionSettings = {
  policy: "remote",
  hasReceipts: false,
  keeps: () => true,
  sendsFilter: false,
  direction: "both",
  partitions: undefined,
  poll: { minMs: 15_000, maxMs: 300_000, hiddenMs: 900_000 },
  maxAgeMs: 3_600_000,
  pausesIfUnauthorized: false,
};

export const second = 1000;
export const minute = 60 * second;

export const text = (value: string): Properties => new Map([["a", { type: "String", value }]]);
export const key = (row: string, partition = "p"): Key => keyOf(partition, row);

/** Every request takes a moment. */
const requestMs = 5;

/** Notes each request, by its kind. */
export class TableRemote implements Remote {
  readonly #world: World;
  traits = { hasTimestampFilter: true, isSorted: true, staleReadMs: 0 };
  requests: string[] = [];
  refreshes = 0;
  /** A test that wants a feed has its own. */
  openFeed?: Remote["openFeed"];
  /** What is answered in place of the table. */
  failure: Failure | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  async #answer<A extends object>(kind: string, execute: () => A): Promise<A | Failure> {
    this.requests.push(kind);
    this.#world.budget.spendRequest();
    const { failure } = this;
    const answer = failure ?? execute();
    await new Promise<void>((resolve) => this.#world.scheduler.after(requestMs, resolve));
    return answer;
  }

  execute(partition: string, operations: readonly RemoteOperation[]): PushAnswer {
    const { table } = this.#world;
    return table.execute(operations, table.stamp(partition), false).answer;
  }

  push(push: FrozenPush, sendBefore: number): Promise<Dated<PushAnswer>> {
    if (this.#world.scheduler.now >= sendBefore) return Promise.resolve({ kind: "notSent" });
    return this.#answer("push", () => this.execute(push.partition, operationsOf(push, client)));
  }

  fence: Remote["fence"] = () => Promise.reject(new Error("There are no receipts."));
  readReceipt: Remote["readReceipt"] = () => Promise.reject(new Error("There are no receipts."));

  read: Remote["read"] = (of) => this.#answer("read", () => this.#world.table.read(of));

  scan: Remote["scan"] = (request) =>
    this.#answer(request.keysOnly ? "census" : "delta", () => this.#world.table.scan(request));

  refresh(): Promise<void> {
    this.refreshes += 1;
    return Promise.resolve();
  }
}

export class World {
  readonly scheduler = new Scheduler(1);
  readonly table = new WeakTable(this.scheduler, {
    profile: "azure",
    partitions: ["p", "q"],
    skewMs: 0,
    pageRows: 1000,
    staleReadMs: 0,
    keeps: () => true,
  });
  readonly remote = new TableRemote(this);
  readonly disk: Disk;
  store: FakeStore;
  session: TableSession;
  isOnline = true;
  isVisible = true;
  connects = 0; // requests
  requestsToConnect = 1;
  beacon: Beacon | undefined;
  readonly budget: AccountBudget;
  beforeConnect = (): Promise<void> => Promise.resolve();
  clockAheadMs = 0; // the wall clock
  changes = 0;
  rows = 0;
  readonly #settings: SessionSettings;
  #commitListeners = new Set<() => void>();
  #activityListeners = new Set<(event: ActivityEvent) => void>();
  #groups = 0;

  constructor(settings: Partial<SessionSettings> = {}, limits: Partial<BudgetLimits> = {}) {
    this.budget = new AccountBudget(
      { entitiesPerSecond: 2000, transactionsPerDay: Number.POSITIVE_INFINITY, ...limits },
      () => ({ monotonicMs: this.scheduler.now, wallMs: this.scheduler.now }),
    );
    this.#settings = { ...settingsOfTests, ...settings };
    this.disk = new Disk(this.scheduler, () => {
      for (const listener of [...this.#commitListeners]) listener();
    });
    this.store = this.disk.open();
    this.session = this.#open();
  }

  #open(): TableSession {
    return new TableSession({
      store: this.store,
      watchCommits: (listener) => {
        this.#commitListeners.add(listener);
        return () => this.#commitListeners.delete(listener);
      },
      connect: (pass) => this.#connect(pass),
      budget: this.budget,
      clock: this.clock(),
      activity: this.#activity(),
      settings: this.#settings,
      rowCount: () => Promise.resolve(this.rows),
      onChange: () => {
        this.changes += 1;
      },
    });
  }

  /** The process ends without a word, and another one opens the store. */
  restart(): void {
    const { session } = this;
    void session.stop();
    this.store = this.disk.open();
    this.session = this.#open();
  }

  /** Another session of the same process. The last one may have stopped. */
  openAgain(): void {
    this.session = this.#open();
  }

  async #connect(pass: Pass): Promise<Connection | Failure> {
    await this.beforeConnect();
    for (let request = 0; request < this.requestsToConnect; ++request) {
      await pass(async () => {
        this.connects += 1;
        await new Promise<void>((resolve) => this.scheduler.after(requestMs, resolve));
      });
    }
    if (this.remote.failure) return this.remote.failure;
    return {
      kind: "connected",
      remote: this.remote,
      limits: { operations: 100, bytes: 1 << 22 },
      settleMs: 90_000,
      split: (whole) => Promise.resolve([whole]),
      beacon: this.beacon,
    };
  }

  clock(): Clock {
    let tokens = 0;
    return {
      now: () => ({
        monotonicMs: this.scheduler.now,
        wallMs: startMs + this.scheduler.now + this.clockAheadMs,
      }),
      after: (ms, run) => {
        let isCancelled = false;
        this.scheduler.after(ms, () => {
          if (!isCancelled) run();
        });
        return () => {
          isCancelled = true;
        };
      },
      random: () => 0.5,
      token: () => `token ${++tokens}`,
    };
  }

  #activity(): Activity {
    return {
      isOnline: () => this.isOnline,
      isVisible: () => this.isVisible,
      watch: (listener) => {
        this.#activityListeners.add(listener);
        return () => this.#activityListeners.delete(listener);
      },
    };
  }

  /** Tells the session what happens. */
  tell(event: ActivityEvent): void {
    if (event === "online" || event === "offline") this.isOnline = event === "online";
    if (event === "shown" || event === "hidden") this.isVisible = event === "shown";
    for (const listener of [...this.#activityListeners]) listener(event);
  }

  /** A local write. Undefined deletes. */
  write(of: Key, properties: Properties | undefined): void {
    this.store.write(++this.#groups, new Map([[of, () => properties]]));
  }

  /** A write of another client. */
  change(of: Key, properties: Properties | undefined): void {
    const row = this.table.current(of);
    const partition = of.slice(0, of.indexOf("\0"));
    const operation: RemoteOperation = !properties
      ? { kind: "delete", key: of, etag: row?.etag ?? "" }
      : row
        ? { kind: "replace", key: of, properties, etag: row.etag }
        : { kind: "insert", key: of, properties };
    this.remote.execute(partition, [operation]);
  }

  local(of: Key): string | undefined {
    return String(this.store.view.get("rows", of)?.properties.get("a")?.value ?? "");
  }

  there(of: Key): string | undefined {
    return String(this.table.current(of)?.properties.get("a")?.value ?? "");
  }

  /** Lets this time pass. Returns the requests that were sent meanwhile. */
  async pass(ms: number): Promise<string[]> {
    const from = this.remote.requests.length;
    this.scheduler.after(0, () => {}); // promises are settled after events
    await this.scheduler.run(this.scheduler.now + ms);
    return this.remote.requests.slice(from);
  }
}

/** A session that has started, with nothing to do. */
export async function started(settings: Partial<SessionSettings> = {}): Promise<World> {
  const world = new World(settings);
  world.session.start();
  await world.pass(second);
  return world;
}
