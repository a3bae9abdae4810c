// Runs users in several tabs of one store, who write without waiting, while tabs are killed,
// frozen, suspended and closed at random and the disk is slow or fails. support/history-check.ts
// checks the result against the responses that each user got.

import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";
import { StoreHandle } from "../../../web/src/store.ts";
import type { Durability, Store } from "../../../web/src/types.ts";
import { checkHistory, type UserHistory, updatedN, type Write } from "./history-check.ts";
import type { Random } from "./random.ts";
import { RandomFaultStorage } from "./random-fault-storage.ts";
import { Origin, Tab } from "./simulated-tabs.ts";
import { sleep } from "./simulation.ts";

export const counters = 3;

const hangTimeoutMs = 60_000; // a call without a response by then never gets one

export interface StressOptions {
  random: Random;
  faults: boolean; // the disk fails; otherwise it is only slow
  storage?: ((files: Map<string, Uint8Array>) => LogStorage) | undefined;
  alterMessage?: Origin["alterMessage"];
}

type PendingWrite = Omit<Write, "outcome">;

export const row = (rowKey: string, n: number) => ({ partitionKey: "p", rowKey, n });

class User implements UserHistory {
  readonly tab: Tab;
  readonly name: string;
  readonly writes: Write[] = [];
  readonly violations: string[] = [];
  readonly #random: Random;
  #waiting: Promise<void>[] = [];
  isDone = false;
  isClosed = false;
  reportedLost = 0;

  constructor(tab: Tab, name: string, random: Random) {
    this.tab = tab;
    this.name = name;
    this.#random = random;
  }

  async run(writes: number): Promise<void> {
    const store = new StoreHandle("shop", await this.tab.open());
    store.on("persist-error", ({ error }) => {
      const [, count = 0] = /(\d+) acknowledged write/.exec(error.message) ?? [];
      this.reportedLost += Number(count);
    });
    try {
      for (let i = 0; i < writes; ++i) {
        await this.#act(store, i);
        for (let turns = this.#random.below(4); turns > 0; --turns) await this.#turn();
        if (this.#random.below(8) === 0) await Promise.all(this.#waiting.splice(0));
      }
    } finally {
      await Promise.all(this.#waiting); // a read may have failed while writes are under way
    }
    // A tab that closes may remove the log's segments, so some die instead: the next owner then
    // reads every segment.
    if (this.#random.below(3) === 0) {
      this.tab.kill();
      this.isDone = true;
      return;
    }
    // deferred writes that could not be stored are lost, and the call reports that
    const closed = await store.close().then(
      () => true,
      () => false,
    );
    this.isClosed = closed && !this.tab.dead;
    this.isDone = true;
  }

  async #act(store: Store, i: number): Promise<void> {
    const durability = (["strict", "strict", "relaxed", "deferred"] as const)[
      this.#random.below(4)
    ] as Durability;
    const table = store.table("rows", { durability });
    const key = `${this.name}-${i}`;
    const what = this.#random.below(22);
    if (what >= 20) {
      await this.#createAndUpdate(store, key, i);
    } else if (what < 6) {
      this.#record({ kind: "insert", keys: [key], i, durability }, table.createEntity(row(key, i)));
    } else if (what < 10) {
      const keys = [key, `${key}+`, `${key}++`];
      const group = table.submitTransaction(keys.map((k) => ["create", row(k, i)]));
      this.#record({ kind: "insert", keys, i, durability }, group);
    } else if (what < 13) {
      this.#record(
        { kind: "temporary insert", keys: [key], i, durability },
        table.createEntity(row(key, i)),
      );
      this.#record({ kind: "delete", keys: [key], i, durability }, table.deleteEntity("p", key));
    } else if (what < 16) {
      const last = `${this.name}-last`;
      const put = table.upsertEntity(row(last, i), "Replace");
      this.#record({ kind: "put", keys: [last], i, durability }, put);
    } else if (what < 19) {
      await this.#increment(store, this.#random.below(counters), i);
    } else {
      await (this.#random.below(2) === 0 ? store.compact() : this.#flush(store)).catch(() => {});
    }
  }

  // Both writes are deferred, and the second depends on the first.
  async #createAndUpdate(store: Store, key: string, i: number): Promise<void> {
    const table = store.table("rows", { durability: "deferred" });
    const write: PendingWrite = { kind: "insert", keys: [key], i, durability: "deferred" };
    const created = table.createEntity(row(key, i));
    await this.#record(write, created);
    const { etag } = await created.catch(() => ({ etag: undefined }));
    if (etag === undefined) return;
    const updated = table.updateEntity(row(key, updatedN({ i })), "Replace", { etag });
    this.#record({ ...write, kind: "update" }, updated);
  }

  async #flush(store: Store): Promise<void> {
    const earlier = [...this.writes];
    await store.flush();
    if (!this.tab.dead) for (const write of earlier) write.isFlushed = true;
  }

  async #increment(store: Store, counter: number, i: number): Promise<void> {
    const key = `counter-${counter}`;
    const table = store.table<{ n: number }>("rows", { durability: "strict" });
    const { n = 0, etag } = await table.getEntity("p", key);
    const write: PendingWrite = { kind: "increment", keys: [key], i, durability: "strict" };
    await this.#record(write, table.updateEntity(row(key, n + 1), "Replace", { etag }));
  }

  #record(write: PendingWrite, answer: Promise<unknown>): Promise<void> {
    const noted: Write = { ...write, outcome: "unanswered" };
    this.writes.push(noted);
    const settled = answer.then(
      () => {
        if (!this.tab.dead) noted.outcome = "done";
      },
      (error: Error) => {
        if (!this.tab.dead) noted.outcome = this.#outcomeOf(noted, error);
      },
    );
    this.#waiting.push(settled);
    return settled;
  }

  // A conflict on a key that is used only once means that it was inserted twice. An outdated ETag
  // means that another user's write came first.
  #outcomeOf(write: Write, error: Error): Write["outcome"] {
    const { statusCode, code, uncertain } = error as {
      statusCode?: number;
      code?: string;
      uncertain?: true;
    };
    if (["increment", "update"].includes(write.kind) && statusCode === 412) return "conflict";
    if (write.kind === "delete" && statusCode === 404) return "conflict";
    if (uncertain) return "unknown";
    if (code === "ConnectionLost" || code === "QuotaExceeded") return "rejected";
    this.violations.push(
      `${write.kind} of ${write.keys[0]}: ${error.name} ${code}: ${error.message}`,
    );
    return "rejected";
  }

  // The user's own code also runs in the tab. It takes so long that the user is still writing when
  // most of the random events occur.
  #turn(): Promise<void> {
    const ms = this.#random.below(10);
    return new Promise((resolve) => this.tab.queueTask("code", resolve, ms));
  }
}

class StressRun {
  readonly #options: StressOptions;
  readonly #origin = new Origin();
  readonly #disks: RandomFaultStorage[] = [];
  readonly #users: User[] = [];
  #isHealthy = true;

  constructor(options: StressOptions) {
    this.#options = options;
    const { random, faults, storage, alterMessage } = options;
    if (alterMessage !== undefined) this.#origin.alterMessage = alterMessage;
    this.#origin.disk = (tab) => {
      const inner = storage?.(this.#origin.files) ?? new MemoryStorage(this.#origin.files);
      const disk = new RandomFaultStorage(inner, { random, faults, mayCompleteAfterDeath: true });
      disk.isHealthy = this.#isHealthy;
      this.#disks.push(disk);
      tab.onDeath = () => {
        disk.dead = true;
      };
      return disk;
    };
    this.#origin.lockLossDelayMs = () => random.below(100);
    const longestMs = [0.5, 3, 10, 40][random.below(4)] as number;
    this.#origin.latencyMs = () => (random.below(100) / 100) * longestMs;
  }

  // Resolves to the violations.
  async run(): Promise<string[]> {
    const { random } = this.#options;
    await this.#createStore();
    this.#setHealthy(false);
    for (let i = 0; i < 4; ++i) this.#start();
    for (let event = 0; event < 12; ++event) {
      await sleep(random.below(60));
      this.#injectEvent();
    }
    const late = await this.#end();
    const violations = this.#users.flatMap((user) => user.violations);
    const checked = await this.#check().catch((error: Error) => [`can't be read: ${error.stack}`]);
    return [...late, ...violations, ...checked];
  }

  get outcomes(): Map<string, number> {
    const outcomes = new Map<string, number>();
    for (const { writes } of this.#users) {
      for (const { outcome } of writes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    return outcomes;
  }

  #setHealthy(good: boolean): void {
    this.#isHealthy = good;
    for (const disk of this.#disks) disk.isHealthy = good;
  }

  async #createStore(): Promise<void> {
    const store = new StoreHandle("shop", await new Tab(this.#origin).open());
    const table = store.table("rows");
    await table.createTable();
    for (let i = 0; i < counters; ++i) await table.createEntity(row(`counter-${i}`, 0));
    await store.close();
  }

  #start(): void {
    const user = new User(new Tab(this.#origin), `u${this.#users.length}`, this.#options.random);
    this.#users.push(user);
    const running = user.tab.run(() => user.run(40));
    running.catch((error) => {
      user.isDone = true;
      if (user.tab.dead) return;
      // the disk failed on opening or on a read
      const open = error instanceof StorageError || error.code === "ConnectionLost";
      if (!open || !this.#options.faults)
        user.violations.push(`${user.name} ended with ${error.stack}`);
    });
  }

  #injectEvent(): void {
    const { random } = this.#options;
    const awake = this.#users.filter(({ tab, isDone }) => !tab.dead && !tab.frozen && !isDone);
    const owner = awake.find(({ tab }) => tab.host?.status.owner === "self");
    const anyone = awake[random.below(Math.max(awake.length, 1))];
    const { tab } = (random.below(2) === 0 ? owner : undefined) ?? anyone ?? {};
    const what = ["kill", "freeze", "freeze", "suspend", "start"][random.below(5)];
    if (what === "start" || tab === undefined) {
      this.#start();
    } else if (what === "kill") {
      tab.kill();
    } else if (what === "freeze") {
      tab.freeze();
      setTimeout(() => tab.thaw(), random.below(400));
    } else {
      tab.dispatch("suspend");
      setTimeout(() => tab.dispatch("resume"), random.below(200));
    }
  }

  // Every tab that is still alive closes, with a disk that works again.
  async #end(): Promise<string[]> {
    const alive = () => this.#users.filter(({ tab, isDone }) => !tab.dead && !isDone);
    const started = performance.now();
    while (alive().length > 0 && performance.now() - started < hangTimeoutMs) {
      if (performance.now() - started > 500) this.#setHealthy(true);
      await sleep(5);
    }
    this.#setHealthy(true);
    const late = alive().map(
      ({ name, tab }) => `${name} hangs: ${JSON.stringify(tab.host?.status)}`,
    );
    for (const { tab } of alive()) tab.kill();
    return late;
  }

  async #check(): Promise<string[]> {
    const store = new StoreHandle("shop", await new Tab(this.#origin).open());
    const stored = new Map<string, { n: number; timestamp: string }>();
    for await (const { rowKey, n, timestamp } of store.table("rows").listEntities()) {
      stored.set(rowKey as string, { n: n as number, timestamp: timestamp as string });
    }
    const { damage } = await store.verify();
    await store.close();
    const damaged = damage.map(({ file, message }) => `${file}: ${message}`);
    return [...damaged, ...checkHistory(this.#users, stored, this.#options.faults)];
  }
}

/**
 * The violations after a run, and how often users got which response. REQUIRES: a simulation is
 * running.
 */
export async function runStress(
  options: StressOptions,
): Promise<{ violations: string[]; outcomes: Map<string, number> }> {
  const run = new StressRun(options);
  const violations = await run.run();
  return { violations, outcomes: run.outcomes };
}
