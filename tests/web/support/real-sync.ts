// Sync's pusher and puller over HTTP, with the store of the simulation, in real time. Clients write
// and restart at random, behind a proxy with faults, until all stores must equal the remote.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { baseOf } from "../../../web/src/sync/base.ts";
import type { SyncContext, SyncRules, SyncStatus } from "../../../web/src/sync/context.ts";
import type { RemoteRow } from "../../../web/src/sync/hidden-tables.ts";
import { isReceiptKey, type Key, keyOf, partitionOf } from "../../../web/src/sync/keys.ts";
import { retryParked } from "../../../web/src/sync/plan-push.ts";
import { areSameProperties, type Properties } from "../../../web/src/sync/properties.ts";
import { Puller } from "../../../web/src/sync/puller.ts";
import { Pusher } from "../../../web/src/sync/pusher.ts";
import { Requests } from "../../../web/src/sync/requests.ts";
import type { Platform } from "../../../web/src/sync/store.ts";
import type { CredentialSource } from "../../../web/src/sync-remote/authorization.ts";
import { Http } from "../../../web/src/sync-remote/http.ts";
import { HttpRemote } from "../../../web/src/sync-remote/http-remote.ts";
import { probe } from "../../../web/src/sync-remote/probe.ts";
import { profileOf, type RemoteProfile } from "../../../web/src/sync-remote/profile.ts";
import { Disk, type FakeStore } from "../../sync/fake-store.ts";
import { Scheduler } from "../../sync/scheduler.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { type Random, seededRandom } from "./random.ts";

export interface RealSyncOptions {
  /** The URL of an account without the table. */
  readonly url: string;
  readonly credential: CredentialSource;
  readonly table: string;
  readonly seed: number;
  readonly hasReceipts: boolean;
  /** What the clients know about the remote. Default: that of an unknown service. */
  readonly profile?: RemoteProfile;
  /** Called before each step. */
  readonly onStep?: (step: number) => Promise<void>;
  /** Changes what the clients send and receive. */
  readonly through?: (send: typeof fetch) => typeof fetch;
  /** How many steps and faults there are, at least. A step is a write or a restart. */
  readonly steps: number;
}

export interface RealSyncResult {
  readonly faults: number;
  /** Writes that fill a batch. */
  readonly full: number;
  readonly writes: number;
  readonly restarts: number;
  readonly requests: number;
}

const partitions = ["p", "o'q"];
const operationsMax = 8;
const restMs = 120_000; // at most, until all is equal, however busy the machine is

const platform: Platform = {
  now: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
  sleep: (ms) => delay(ms),
  random: Math.random,
  token: randomUUID,
};

const rulesOf = (hasReceipts: boolean): SyncRules => ({
  policy: "merge",
  hasReceipts,
  limits: { operations: operationsMax, bytes: 1 << 20 },
  keeps: () => true,
  sendsFilter: false,
  sendWithinMs: 1000,
  settleMs: 3000,
  overlapMs: 5000,
  retry: { firstMs: 10, mostMs: 200 },
  deleteLimits: { few: 50, share: 0.1 },
  ranges: [{ from: "", to: keyOf("p", "4") }, { from: keyOf("p", "4") }],
  pushesAtOnce: 2,
});

/** Runs clients against a table that does not exist yet. Returns what happened. */
export async function syncOverHttp(options: RealSyncOptions): Promise<RealSyncResult> {
  const random = seededRandom(options.seed);
  await using proxy = await FaultProxy.start(options.url, seededRandom(options.seed + 1));
  const direct = await openTable(options);
  using time = new RealTime(options.seed);
  const clients = ["c0", "c1"].map((id) => new Client(id, options, proxy.url, time, random));
  for (const client of clients) client.start();
  try {
    proxy.percent = 3;
    for (let step = 0; step < options.steps || proxy.total < options.steps; ++step) {
      await delay(random.below(60));
      await options.onStep?.(step);
      const client = clients[random.below(clients.length)] as Client;
      if (step % 12 === 11) client.restart();
      else if (random.below(4) === 0) await editAsOther(direct, random);
      else client.write();
    }
    proxy.percent = 0;
    await equal(direct, clients);
    for (const client of clients) client.check(await rowsOf(direct));
  } finally {
    for (const client of clients) client.stop();
  }
  const sum = (of: (client: Client) => number) => clients.reduce((all, one) => all + of(one), 0);
  return {
    faults: proxy.total,
    full: sum(({ full }) => full),
    writes: sum(({ writes }) => writes),
    restarts: sum(({ restarts }) => restarts),
    requests: sum(({ requests }) => requests),
  };
}

/** Creates the table, without the proxy. */
async function openTable({ url, credential, table }: RealSyncOptions): Promise<HttpRemote> {
  const http = new Http({ url, credential, now: platform.now });
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ TableName: table });
  const created = await http.send({ method: "POST", path: "Tables", headers, body });
  assert.equal(typeof created === "object" && created.status, 201);
  const probed = await probe(http, table);
  assert.equal(probed.kind, "probed");
  return new HttpRemote(http, { table, client: "other", profile: profileOf("unknown") });
}

/** Gives the simulation's scheduler the time of this machine. */
class RealTime implements Disposable {
  readonly scheduler: Scheduler;
  #isRunning = true;

  constructor(seed: number) {
    this.scheduler = new Scheduler(seed);
    void this.#run();
  }

  async #run(): Promise<void> {
    const begin = performance.now();
    while (this.#isRunning) {
      await this.scheduler.run(performance.now() - begin);
      await delay(1);
    }
  }

  [Symbol.dispose](): void {
    this.#isRunning = false;
  }
}

/** A client, and its processes, one after the other, on one disk. */
class Client {
  readonly id: string;
  readonly #options: RealSyncOptions;
  readonly #url: string;
  readonly #random: Random;
  readonly #disk: Disk;
  readonly #rules: SyncRules;
  #process: Process | undefined;
  writes = 0;
  restarts = 0;
  requests = 0;
  /** Groups that fill a batch. They are sent without a receipt, so their outcome can be unknown. */
  full = 0;
  /** Properties that were added, one by each write of the row that all clients add to. */
  readonly #added: [key: Key, name: string, store: FakeStore, commit: number][] = [];

  constructor(id: string, options: RealSyncOptions, url: string, time: RealTime, random: Random) {
    this.id = id;
    this.#options = options;
    this.#url = url;
    this.#random = random;
    this.#disk = new Disk(time.scheduler, () => {});
    this.#rules = rulesOf(options.hasReceipts);
  }

  get store(): FakeStore {
    return (this.#process as Process).store;
  }

  start(): void {
    const { credential, profile = profileOf("unknown"), table, through } = this.#options;
    const send: typeof fetch = (...request) => {
      this.requests += 1;
      return fetch(...request);
    };
    const http = new Http({
      url: this.#url,
      credential,
      now: platform.now,
      timeoutMs: 1000,
      fetch: through ? through(send) : send,
    });
    const remote = new HttpRemote(http, { table, client: this.id, profile });
    this.#process = new Process(this.#disk.open(), remote, this.#rules);
    this.#process.run();
  }

  stop(): void {
    (this.#process as Process).isAlive = false;
  }

  /** The process dies with requests on their way. */
  restart(): void {
    this.stop();
    this.restarts += 1;
    const { commit } = this.store;
    this.start();
    const kept = this.store.commit;
    // What was not stored is lost with the process.
    for (const added of this.#added) if (added[3] > kept && added[3] <= commit) added[3] = -1;
  }

  write(): void {
    const number = ++this.writes;
    const partition = partitions[this.#random.below(partitions.length)] as string;
    const isFull = number % 9 === 0;
    const name = `${this.id}_${number}`;
    const edits = isFull ? fullEdits(partition, name) : editsOf(this.#random, partition, name);
    if (isFull) this.full += 1;
    const { store } = this;
    const before = store.commit;
    store.write(before + 1, edits);
    const all = keyOf(partition, "all");
    if (edits.has(all)) this.#added.push([all, name, store, store.commit]);
  }

  /** REQUIRES: the store equals the remote. */
  check(rows: ReadonlyMap<Key, RemoteRow>): void {
    const { status } = this.#process as Process;
    const lost = [...this.store.view.entries("lost", "")].map(([, { op }]) => op.change);
    if (this.#options.hasReceipts) assert(status.unknownOutcomes <= this.full);
    for (const [key, name, , commit] of this.#added) {
      const isLost = lost.some((change) => change.kind !== "delete" && hasName(change, name));
      const isThere = rows.get(key)?.properties.has(name);
      if (commit > 0) assert(isThere || isLost, `${name} was neither applied nor reported as lost`);
      if (this.#options.hasReceipts) assert(!isLost, `${name} was lost`);
    }
  }

  /** A proxy has perhaps refused a single write, which is then parked. */
  retryParked(): void {
    for (const [key, { group }] of [...this.store.view.entries("parked", "")])
      void this.store.transact((draft) =>
        retryParked(draft, partitionOf(key), group, this.#rules.keeps),
      );
  }

  get isIdle(): boolean {
    const tables = ["outbox", "bases", "pushes", "marks", "parked"] as const;
    return tables.every((name) => this.store.keys(name).length === 0);
  }
}

const hasName = (change: object, name: string): boolean =>
  ("set" in change && (change.set as Properties).has(name)) ||
  ("properties" in change && (change.properties as Properties).has(name));

class Process {
  readonly store: FakeStore;
  readonly #context: SyncContext;
  readonly status: SyncStatus = {
    suspects: [],
    missesRepaired: 0,
    resent: 0,
    unknownOutcomes: 0,
  };
  isAlive = true;

  constructor(store: FakeStore, remote: HttpRemote, rules: SyncRules) {
    this.store = store;
    store.deliver = (result) => this.#alive(result);
    // A process that has died must not go on to ask a server that has ended, too.
    const sleep = (ms: number) => this.#alive(delay(ms));
    this.#context = { store, remote, platform: { ...platform, sleep }, rules, status: this.status };
  }

  /** Never resolves after the process has died. */
  #alive<T>(result: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      result.then(
        (value) => this.isAlive && resolve(value),
        (error) => this.isAlive && reject(error),
      );
    });
  }

  async run(): Promise<void> {
    const requests = await Requests.open(this.#context);
    const pusher = new Pusher(this.#context, requests);
    const puller = new Puller(this.#context, requests);
    void this.#repeat(async () => void pusher.push());
    void this.#repeat(async () => {
      await puller.pull();
      await puller.census();
    });
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (this.isAlive) {
      await work();
      await this.#alive(delay(20));
    }
  }
}

type Edit = (row?: Properties) => Properties | undefined;

const text = (value: string) => ({ type: "String", value }) as const;

/** The changes of one write. Only "all" is never replaced or deleted. */
function editsOf(random: Random, partition: string, name: string): Map<Key, Edit> {
  const key = () => keyOf(partition, `${random.below(8)}`);
  const set =
    (property: string): Edit =>
    (row) =>
      new Map([...(row ?? []), [property, text(name)]]);
  switch (random.below(5)) {
    case 0:
      return new Map([[keyOf(partition, "all"), set(name)]]);
    case 1:
      return new Map([[key(), () => undefined]]);
    case 2:
      return new Map([[key(), () => new Map([["a", text(name)]])]]);
    default:
      return new Map([
        [key(), set("a")],
        [key(), set("b")],
      ]);
  }
}

/** Changes so many entities that the receipt has no place in the batch. */
const fullEdits = (partition: string, name: string): Map<Key, Edit> =>
  new Map(
    Array.from({ length: operationsMax }, (_, at): [Key, Edit] => [
      keyOf(partition, `${at}`),
      (row) => new Map([...(row ?? []), ["full", text(name)]]),
    ]),
  );

/** A change by a program without sync, under the ETag that it has read. */
async function editAsOther(remote: HttpRemote, random: Random): Promise<void> {
  const partition = partitions[random.below(partitions.length)] as string;
  for (const [key, edit] of editsOf(random, partition, `o_${random.below(1 << 30)}`)) {
    const read = await remote.read(key);
    const row = read.kind === "found" ? read.row : undefined;
    const intended = edit(row?.properties);
    if (areSameProperties(row?.properties, intended)) continue;
    const members = [{ key, base: baseOf(row), intended }];
    const token = randomUUID();
    const push = { partition, token, upTo: 0, groups: 1, members, idleKeys: [] };
    await remote.push(push, Number.POSITIVE_INFINITY);
  }
}

async function rowsOf(remote: HttpRemote): Promise<Map<Key, RemoteRow>> {
  const rows = new Map<Key, RemoteRow>();
  for (let token: string | undefined; ; ) {
    const request = { range: { from: "" }, keysOnly: false, isFiltered: false, token };
    const page = await remote.scan(request);
    assert.equal(page.kind, "page");
    for (const { key, row } of page.rows) if (!isReceiptKey(key)) rows.set(key, row);
    ({ token } = page);
    if (token === undefined) return rows;
  }
}

/** Waits until nothing is pending and all stores have the remote's rows. */
async function equal(remote: HttpRemote, clients: readonly Client[]): Promise<void> {
  const end = performance.now() + restMs;
  for (;;) {
    for (const client of clients) client.retryParked();
    const rows = await rowsOf(remote);
    const found = clients.flatMap((client) => differences(client, rows));
    if (found.length === 0) return;
    if (performance.now() > end) assert.fail(`not in step: ${found.join("; ")}`);
    await delay(100);
  }
}

function differences(client: Client, rows: ReadonlyMap<Key, RemoteRow>): string[] {
  const { id, isIdle, store } = client;
  const found = isIdle ? [] : [`${id} is not idle`];
  for (const key of new Set([...store.keys("rows"), ...rows.keys()])) {
    const local = store.view.get("rows", key);
    const row = rows.get(key);
    const isSame =
      local?.version?.etag === row?.etag &&
      local?.version?.timestamp === row?.timestamp &&
      areSameProperties(local?.properties, row?.properties);
    if (!isSame) found.push(`${id} ${key}`);
  }
  return found;
}
