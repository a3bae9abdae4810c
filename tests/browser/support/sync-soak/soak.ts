// Replicas of one remote table, in Chromium and in Node, that write at random, are killed and lose
// their network, behind proxies with faults. Another program writes to the remote, too. Now and
// then all come to rest. Then all stores must equal the remote, and each acknowledged write must be
// accounted for.

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Fault, FaultProxy, faults } from "../../../web/support/fault-proxy.ts";
import { type Random, seededRandom } from "../../../web/support/random.ts";
import type { ReplicaCalls, ReplicaSettings } from "../../fixture/sync-replica.ts";
import type { Site } from "../server.ts";
import { ClientLedger } from "./client-ledger.ts";
import { RemoteHistory } from "./remote-history.ts";
import { BrowserReplica, NodeReplica, type Replica, serveReplica } from "./replicas.ts";
import { differences, type Rows, rowKeyOf, rowsOfPage } from "./rows.ts";
import { OtherProgram, Service, signatureOfDay } from "./service.ts";
import { anchorRows, partitions, Workload } from "./workload.ts";

export interface SoakOptions {
  /** Of the account, without a proxy. */
  readonly url: string;
  readonly seed: number;
  /** As in RemoteHistoryOptions. */
  readonly isReliable: boolean;
  /** It ends at the first rest after this time, and after so many browsers were killed. */
  readonly minutes: number;
  readonly kills: number;
  /** Default 2. */
  readonly browsers?: number;
  /** Default: two of a hundred requests for each kind. */
  readonly percent?: number;
  readonly kinds?: readonly Fault[];
  /** The replica in Node has no network, and loses what it has acknowledged when it is killed. */
  readonly forgets?: boolean;
  readonly log?: (line: string) => void;
}

export interface SoakResult {
  rounds: number;
  kills: number;
  browserKills: number;
  acknowledged: number;
  others: number; // writes of the other program
  batches: number;
  faults: number;
  lost: number;
}

interface Client {
  readonly replica: Replica;
  readonly ledger: ClientLedger;
  readonly workload: Workload;
  readonly random: Random;
  readonly proxy: FaultProxy;
  readonly settings: ReplicaSettings;
  isOpen: boolean;
  isBeingKilled: boolean;
}

const roundMs = 45_000;
const sessionWrites = 40; // at most, before a process is killed
const killMs = 300; // at most, after these writes
const spellMs = 2500; // at most, without a network
const restMs = 300_000; // at most, however busy the machine is
const policies = ["merge", "local", "remote"] as const;
const names = ["a", "b", "node"] as const;

/** Rejects with the violations. */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  await using run = await Soak.begin(options);
  return await run.run();
}

class Soak implements AsyncDisposable {
  readonly #options: SoakOptions;
  readonly #service: Service;
  readonly #history: RemoteHistory;
  readonly #clients: Client[] = [];
  readonly #other: OtherProgram;
  readonly #otherProxy: FaultProxy;
  #site: Site | undefined;
  #working: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  readonly #result: SoakResult = {
    rounds: 0,
    kills: 0,
    browserKills: 0,
    acknowledged: 0,
    others: 0,
    batches: 0,
    faults: 0,
    lost: 0,
  };

  private constructor(
    options: SoakOptions,
    service: Service,
    history: RemoteHistory,
    otherProxy: FaultProxy,
  ) {
    this.#options = options;
    this.#service = service;
    this.#history = history;
    this.#otherProxy = otherProxy;
    this.#other = new OtherProgram(otherProxy.url, seededRandom(options.seed));
  }

  static async begin(options: SoakOptions): Promise<Soak> {
    const service = new Service(options.url);
    const history = new RemoteHistory({
      read: service.rowsOfPartition,
      isReliable: options.isReliable,
      createsAgain: (client) => policies[names.indexOf(client as "a")] === "local",
    });
    const through = history.through("other");
    const proxy = await FaultProxy.start(options.url, seededRandom(options.seed), { through });
    const run = new Soak(options, service, history, proxy);
    await run.#other.begin();
    await run.#createClients();
    return run;
  }

  async #createClients(): Promise<void> {
    const { browsers = 2, forgets = false } = this.#options;
    if (browsers > 0) this.#site = await serveReplica();
    for (const name of names.slice(0, browsers)) {
      await this.#createClient(await BrowserReplica.create(name, this.#site as Site));
    }
    await this.#createClient(new NodeReplica("node", { forgets }));
  }

  async #createClient(replica: Replica): Promise<void> {
    const { url, seed, kinds = faults } = this.#options;
    const { name } = replica;
    const index = names.indexOf(name as "a");
    const random = seededRandom(seed + 1000 * (index + 1));
    const through = this.#history.through(name);
    const options = { through, permitsPages: true };
    const proxy = await FaultProxy.start(url, seededRandom(seed + index + 1), options);
    proxy.kinds = kinds;
    this.#clients.push({
      replica,
      ledger: new ClientLedger(name),
      workload: new Workload(name, seededRandom(seed + 2000 * (index + 1))),
      random,
      proxy,
      settings: {
        url: proxy.url,
        credential: { signature: signatureOfDay() },
        conflict: policies[index] as ReplicaSettings["conflict"],
        receipts: true,
      },
      isOpen: false,
      isBeingKilled: false,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#clients.map(({ replica }) => replica.kill()));
    await this.#working;
    for (const { proxy, replica } of this.#clients) {
      await replica.remove();
      await proxy[Symbol.asyncDispose]();
    }
    await this.#otherProxy[Symbol.asyncDispose]();
    await this.#site?.close();
  }

  async run(): Promise<SoakResult> {
    const end = performance.now() + this.#options.minutes * 60_000;
    const isOver = () =>
      performance.now() >= end && this.#result.browserKills >= this.#options.kills;
    while (!isOver()) {
      this.#result.rounds += 1;
      const now = performance.now();
      const roundEnd = now < end ? Math.min(now + roundMs, end) : now + roundMs;
      await this.#disturb(() => performance.now() >= roundEnd && this.#wasEachKilled());
      await this.#rest();
      this.#options.log?.(JSON.stringify(this.#result));
    }
    for (const [defect, { count, example }] of this.#history.defects) {
      this.#options.log?.(`the service: ${defect}, ${count} times, such as ${example}`);
    }
    return this.#result;
  }

  #wasEachKilled(): boolean {
    return this.#result.kills >= this.#clients.length * this.#result.rounds;
  }

  // ---- Faults and kills ------------------------------------------------------------------------

  async #disturb(isOver: () => boolean): Promise<void> {
    const { forgets = false, percent = 2 } = this.#options;
    for (const { proxy } of this.#clients) {
      proxy.percent = percent;
      proxy.isDown = forgets;
    }
    const repeat = async (step: () => Promise<unknown>) => {
      while (!isOver() && !this.#isEnding) await step();
    };
    const clients = this.#clients.map((client) => repeat(() => this.#session(client)));
    const all = [...clients, repeat(() => this.#other.write().then(() => delay(200)))];
    this.#working = Promise.allSettled(all);
    await Promise.all(all);
  }

  /** A process writes some times, and is killed while it writes again. */
  async #session(client: Client): Promise<void> {
    await this.#open(client);
    const { random, replica } = client;
    client.isBeingKilled = false;
    for (let left = random.below(sessionWrites); left > 0; --left) await this.#step(client);
    const killing = delay(random.below(killMs)).then(() => {
      client.isBeingKilled = true;
      return replica.kill();
    });
    try {
      while (!client.isBeingKilled) await this.#step(client);
    } finally {
      await killing;
    }
    client.isOpen = false;
    this.#result.kills += 1;
    if (replica instanceof BrowserReplica) this.#result.browserKills += 1;
  }

  async #step(client: Client): Promise<void> {
    const { ledger, random, replica, workload } = client;
    if (random.below(50) === 0 && !client.proxy.isDown) void this.#loseNetwork(client);
    const write = workload.next((key) => ledger.exists(key));
    try {
      const outcome = await replica.call("write", write);
      if (outcome === "stored") ledger.acknowledge(write);
      else assert(!write.isOwn, `${replica.name} cannot write its own rows: ${outcome}`);
    } catch (error) {
      if (!client.isBeingKilled) throw error;
      ledger.onUncertain(write);
    }
    await delay(random.below(80));
  }

  /** For a while. The process may be another one then. */
  async #loseNetwork({ proxy, random, replica }: Client): Promise<void> {
    const isKnown = random.below(2) === 0; // to the process
    proxy.isDown = true;
    if (isKnown) await replica.setOffline(true).catch(() => {});
    await delay(random.below(spellMs));
    proxy.isDown = false;
    if (isKnown) await replica.setOffline(false).catch(() => {});
  }

  async #open(client: Client): Promise<void> {
    if (client.isOpen) return;
    const { ledger, replica, settings } = client;
    await replica.open(settings);
    client.isOpen = true;
    const rows = await this.#rowsOf(client);
    this.#fail([...ledger.check(rows), ...(this.#result.rounds > 1 ? missing(rows) : [])]);
  }

  async #rowsOf({ replica }: Client): Promise<Rows> {
    const pages = await replica.call("pages");
    return new Map(pages.flatMap((page) => [...rowsOfPage(page)]));
  }

  // ---- At rest ---------------------------------------------------------------------------------

  async #rest(): Promise<void> {
    await delay(spellMs); // until all have a network again
    for (const { proxy } of this.#clients) {
      proxy.percent = 0;
      proxy.isDown = false;
    }
    await Promise.all(this.#clients.map((client) => this.#open(client)));
    const rows = await this.#untilEqual();
    const violations = [...this.#history.violations, ...missing(rows)];
    for (const client of this.#clients) {
      const { ledger, replica } = client;
      violations.push(...ledger.check(rows));
      const lost = await replica.call("takeLost");
      this.#result.lost += lost.length;
      violations.push(...ledger.settle(lost, this.#history));
    }
    violations.push(...this.#history.unknownChanges(rows).map((key) => `who changed ${key}?`));
    this.#fail(violations);
    this.#count();
  }

  #count(): void {
    const sum = (of: (client: Client) => number) =>
      this.#clients.reduce((all, client) => all + of(client), 0);
    this.#result.acknowledged = sum(({ ledger }) => ledger.acknowledged);
    this.#result.faults = sum(({ proxy }) => proxy.total);
    this.#result.others = this.#other.writes;
    this.#result.batches = this.#history.batches;
  }

  /** Waits until all stores equal the remote. Resolves to its rows. */
  async #untilEqual(): Promise<Rows> {
    const end = performance.now() + restMs;
    for (;;) {
      const reports = await Promise.all(this.#clients.map(({ replica }) => replica.call("now")));
      const remote = await this.#service.rows();
      const found: string[] = [];
      for (const [index, client] of this.#clients.entries()) {
        const { complete, outcomeUnknown, parked, pending, suspects } = reports[index] as Report;
        const isAtRest = complete && pending + outcomeUnknown + parked + suspects === 0;
        const { name } = client.replica;
        if (!isAtRest) found.push(`${name} is not at rest: ${JSON.stringify(reports[index])}`);
        const different = differences(remote, await this.#rowsOf(client));
        found.push(...different.map((text) => `${name}, remote and store: ${text}`));
      }
      if (found.length === 0) return remote;
      if (performance.now() > end) this.#fail(found);
      await delay(200);
    }
  }

  #fail(violations: readonly string[]): void {
    if (violations.length === 0) return;
    const keys = new Set(violations.join("\n").match(/[^\s/]+\/(own|row|pair)-[\w-]+/g));
    const traces = [...keys].slice(0, 3).flatMap((key) => this.#history.traceOf(key));
    const { seed } = this.#options;
    assert.fail([`ENTITABLE_SEED=${seed}`, ...violations.slice(0, 20), ...traces].join("\n"));
  }
}

type Report = Awaited<ReturnType<ReplicaCalls["now"]>>;

/** Rows that no client deletes. */
function missing(rows: Rows): string[] {
  const keys = partitions.flatMap((one) => anchorRows.map((row) => rowKeyOf(one, row)));
  return keys.filter((key) => !rows.has(key)).map((key) => `${key} is missing`);
}
