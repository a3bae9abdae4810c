// A client in a simulation: processes, one after the other, that sync the store of one disk. A
// process ends in a crash, or another takes over while it still runs.

import type { SyncContext, SyncRules, SyncStatus } from "../../web/src/sync/context.ts";
import { FeedFollower } from "../../web/src/sync/feed-follower.ts";
import type { FrozenPush, PushName } from "../../web/src/sync/hidden-tables.ts";
import { type Key, partitionOf, receiptKey } from "../../web/src/sync/keys.ts";
import { fenceToken, operationsOf, receiptOperation } from "../../web/src/sync/operation.ts";
import { Puller } from "../../web/src/sync/puller.ts";
import { Pusher } from "../../web/src/sync/pusher.ts";
import type {
  Dated,
  Failure,
  FeedRequest,
  OpenFeedAnswer,
  PushAnswer,
  ReadAnswer,
  Remote,
  ScanAnswer,
  ScanRequest,
} from "../../web/src/sync/remote.ts";
import { Requests } from "../../web/src/sync/requests.ts";
import type { Platform } from "../../web/src/sync/store.ts";
import type { EngineMirror } from "./engine-mirror.ts";
import {
  type Commit,
  type Contents,
  Disk,
  type FakeStore,
  idOf,
  StorageFailure,
} from "./fake-store.ts";
import type { Ledger, SentBatch } from "./ledger.ts";
import type { Network, NetworkRequest } from "./network.ts";
import type { RemoteFeed, SimulatedFeed } from "./remote-feed.ts";
import type { Scheduler } from "./scheduler.ts";
import { startMs, type WeakTable } from "./weak-table.ts";

export interface World {
  /** Of a client, by its position, if the simulation runs over the real engine, too. */
  readonly mirrorOf?: ((index: number) => EngineMirror) | undefined;
  readonly scheduler: Scheduler;
  readonly table: WeakTable;
  readonly network: Network;
  readonly ledger: Ledger;
  readonly feed: RemoteFeed | undefined;
}

export type ClientRules = SyncRules & {
  readonly traits: Remote["traits"];
  readonly storageFails: boolean;
  readonly unloads: boolean;
  drawRanges(): SyncRules["ranges"];
};

const storageFailures = 0.03; // of the commits of sync

export class Client {
  readonly id: string;
  readonly #world: World;
  readonly #rules: ClientRules;
  readonly #disk: Disk;
  #process: Process;
  wallOffsetMs = 0;
  crashes = 0;
  restores = 0;
  #backup: Contents | undefined;
  requests = 0;

  constructor(index: number, world: World, rules: ClientRules) {
    const id = `c${index}`;
    this.id = id;
    this.#world = world;
    this.#rules = rules;
    const onCommit = (store: FakeStore, commit: Commit) => {
      world.scheduler.trace(
        `${id} commits`,
        commit.puts.map(({ table, key }) => table + key).join(),
      );
      world.ledger.onCommit(id, store, commit);
    };
    this.#disk = new Disk(world.scheduler, onCommit, world.mirrorOf?.(index));
    if (rules.unloads) {
      this.#disk.unloaded = 0.2;
      // A process over the engine remembers more, and would decide differently.
      if (!world.mirrorOf) this.#disk.commitsRemembered = 10;
    }
    if (rules.storageFails) this.#disk.failures = storageFailures;
    this.#process = this.#start();
  }

  stopFailures(): void {
    this.#disk.failures = 0;
  }

  get store(): FakeStore {
    return this.#process.store;
  }
  get status(): SyncStatus {
    return this.#process.status;
  }
  get isRunning(): boolean {
    return this.#process.isAlive;
  }

  #start(): Process {
    const store = this.#disk.open();
    this.#world.ledger.onOpened(store);
    const rules = { ...this.#rules, ranges: this.#rules.drawRanges() };
    this.#world.ledger.whole.onOpened(this.id, store, rules.ranges);
    return new Process(this, this.#world, rules, store);
  }

  /** The process dies, and another one starts after `delay`. */
  crash(delay: number): void {
    this.#world.scheduler.trace(`${this.id} crashes`);
    this.crashes += 1;
    this.#process.isAlive = false;
    this.#world.scheduler.after(delay, () => {
      this.#process = this.#start();
    });
  }

  /** Copies what is stored now, for `restore`. */
  backUp(): void {
    this.#backup = this.#disk.backUp();
  }

  /** The process ends, and another one opens the copy. */
  restore(): void {
    if (this.#backup === undefined) return;
    this.#world.scheduler.trace(`${this.id} is restored`);
    this.#process.isAlive = false;
    this.#disk.restore(this.#backup);
    this.restores += 1;
    this.#process = this.#start();
    this.#world.ledger.onRestored(this.store);
  }

  /** Another process takes over at once. The old one does not notice, and runs for a while. */
  replace(oldRunsMs: number): void {
    this.#world.scheduler.trace(`${this.id} is replaced`);
    const old = this.#process;
    old.freeze(this.#world.scheduler.fraction(oldRunsMs));
    old.replacedAt = this.#world.scheduler.now;
    this.#world.scheduler.after(oldRunsMs, () => {
      old.isAlive = false;
    });
    this.#process = this.#start();
  }

  /** The page is frozen, and keeps the store. */
  freeze(ms: number): void {
    this.#world.scheduler.trace(`${this.id} is frozen`);
    this.#process.freeze(ms);
  }

  confirmDeletes(id: string): void {
    this.#process.puller?.deletes.confirm(id);
  }
}

class Process {
  readonly #client: Client;
  readonly #world: World;
  readonly store: FakeStore;
  readonly status: SyncStatus;
  puller: Puller | undefined;
  isAlive = true;
  /** When another process opened the store. */
  replacedAt = Number.POSITIVE_INFINITY;
  #frozenUntil = 0;

  constructor(client: Client, world: World, rules: ClientRules, store: FakeStore) {
    this.#client = client;
    this.#world = world;
    this.store = store;
    store.deliver = (result) => this.wait(result);
    this.status = { suspects: [], missesRepaired: 0, resent: 0, unknownOutcomes: 0 };
    const { status } = this;
    const remote = new SimulatedRemote(client, world, this, rules);
    const context: SyncContext = { store, remote, platform: this.#platform(), rules, status };
    this.#run(() => this.#begin(context));
  }

  async #begin(context: SyncContext): Promise<void> {
    const requests = await Requests.open(context);
    const pusher = new Pusher(context, requests);
    const puller = new Puller(context, requests);
    this.puller = puller;
    this.#run(() => this.#pushes(pusher));
    if (this.#world.feed === undefined) {
      this.#run(() => this.#pulls(puller));
      return;
    }
    const events = { onChange: () => {}, onMarked: () => {} };
    const follower = new FeedFollower(context, requests, events);
    this.#run(() => this.#follows(follower));
    this.#run(() => this.#pullsBeside(follower, puller));
  }

  #run(work: () => Promise<void>): void {
    this.#world.scheduler.after(this.#world.scheduler.fraction(5), () => {
      work().catch((error) => this.#world.scheduler.fail(error));
    });
  }

  async #pushes(pusher: Pusher): Promise<void> {
    for (;;) {
      pusher.push().catch((error) => this.#onError(error));
      await this.sleep(5 + this.#world.scheduler.fraction(20));
    }
  }

  async #pulls(puller: Puller): Promise<void> {
    for (let round = 1; ; ++round) {
      try {
        await puller.pull();
        if (round % 3 === 0 || !this.#world.network.hasFaults) await puller.census();
      } catch (error) {
        this.#onError(error);
      }
      await this.sleep(10 + this.#world.scheduler.fraction(40));
    }
  }

  async #follows(follower: FeedFollower): Promise<void> {
    for (;;) {
      try {
        const { kind } = await follower.follow();
        this.#world.scheduler.trace(`${this.#client.id} stops to follow`, kind);
      } catch (error) {
        this.#onError(error);
      }
      await this.sleep(1 + this.#world.scheduler.fraction(40));
    }
  }

  /** Scans and compares only if the feed has not brought everything. */
  async #pullsBeside(follower: FeedFollower, puller: Puller): Promise<void> {
    for (;;) {
      try {
        const { gap, isCaughtUp, isComplete } = follower;
        if (isCaughtUp && isComplete) await puller.readMarked();
        else if (
          (await puller.pull()).isScanned &&
          (await puller.census(undefined, true)).isScanned
        ) {
          if (puller.deletes.isSettled) await follower.complete(gap);
        }
        if (puller.deletes.awaitsCensus) await puller.census();
      } catch (error) {
        this.#onError(error);
      }
      await this.sleep(10 + this.#world.scheduler.fraction(40));
    }
  }

  /** After a failure of its storage, the process goes on. */
  #onError(error: unknown): void {
    if (!(error instanceof StorageFailure)) this.#world.scheduler.fail(error);
  }

  #platform(): Platform {
    const { scheduler } = this.#world;
    return {
      now: () => ({
        monotonicMs: scheduler.now,
        wallMs: startMs + scheduler.now + this.#client.wallOffsetMs,
      }),
      sleep: (ms) => this.sleep(ms),
      random: () => scheduler.fraction(),
      token: () => scheduler.below(1 << 30).toString(36),
    };
  }

  /** Never resolves in a process that has died meanwhile. */
  sleep(ms: number): Promise<void> {
    return this.wait(
      new Promise((resolve) => this.#world.scheduler.after(Math.max(0, ms), resolve)),
    );
  }

  /** Hands a result to the process: never if it is dead, later if it is frozen. */
  wait<T>(result: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const deliver = (settle: () => void) => {
        const delay = this.#frozenUntil - this.#world.scheduler.now;
        if (!this.isAlive) return;
        if (delay > 0) this.#world.scheduler.after(delay, () => deliver(settle));
        else settle();
      };
      result.then(
        (value) => deliver(() => resolve(value)),
        (error) => deliver(() => reject(error)),
      );
    });
  }

  freeze(ms: number): void {
    this.#frozenUntil = this.#world.scheduler.now + ms;
  }
}

/** The remote as one process reaches it. Tells the ledger what was sent and what was seen. */
class SimulatedRemote implements Remote {
  readonly #client: Client;
  readonly #world: World;
  readonly #process: Process;
  readonly #sendWithinMs: number;
  #feed: SimulatedFeed | undefined;
  readonly traits: Remote["traits"];

  constructor(client: Client, world: World, process: Process, rules: ClientRules) {
    this.#client = client;
    this.#world = world;
    this.#process = process;
    this.#sendWithinMs = rules.sendWithinMs;
    this.traits = rules.traits;
  }

  async push(push: FrozenPush, sendBefore: number): Promise<Dated<PushAnswer>> {
    if (this.#world.scheduler.now >= sendBefore) return { kind: "notSent" };
    this.#checkOwner();
    const batch = this.#batch(push);
    this.#world.ledger.onSent(batch);
    const answer = await this.#execute(push, operationsOf(push, this.#client.id), batch);
    const isKnown = !["applied", "failed", "rejected"].includes(answer.kind);
    if (isKnown) this.#world.ledger.onRefused(batch);
    if (answer.kind === "applied") {
      push.members.forEach(({ key }, index) => {
        const etag = answer.versions[index]?.etag;
        if (etag) this.#world.ledger.onSeen(this.#client.id, key, etag);
      });
    }
    return answer;
  }

  #batch(push: FrozenPush): SentBatch {
    const { partition, upTo, members } = push;
    const keys = new Set(members.map(({ key }) => key));
    const { store } = this.#process;
    const all = [...store.view.entries("outbox", `${partition}\0`, `${partition}\u0001`)];
    const ops = all.map(([, op]) => op).filter((op) => op.number <= upTo && keys.has(op.key));
    this.#checkGroups(
      push,
      all.map(([, op]) => op),
    );
    const sent = ops.map((op) => ({ id: idOf(op), op }));
    const hasReceipt = push.receipt !== undefined;
    return {
      client: this.#client.id,
      restores: this.#client.restores,
      partition,
      hasReceipt,
      ops: sent,
      isRepeated: false,
    };
  }

  /** I13: a process that has lost the store sends no push, but for one that it had claimed. */
  #checkOwner(): void {
    const since = this.#world.scheduler.now - this.#process.replacedAt;
    if (since > this.#sendWithinMs) {
      this.#world.ledger.fail("I13", `${this.#client.id} pushes ${since} ms after it was replaced`);
    }
  }

  /** I4: a group is sent as a whole. */
  #checkGroups({ upTo }: FrozenPush, outbox: readonly { group: number; number: number }[]): void {
    const sent = new Set(outbox.filter((op) => op.number <= upTo).map(({ group }) => group));
    const isSplit = outbox.some(({ group, number }) => number > upTo && sent.has(group));
    if (isSplit) this.#world.ledger.fail("I4", `${this.#client.id} splits a group`);
  }

  #execute(
    { partition, token }: PushName,
    operations: ReturnType<typeof operationsOf>,
    batch: SentBatch | undefined,
  ): Promise<Dated<PushAnswer>> {
    const { ledger, scheduler, table } = this.#world;
    const { id } = this.#client;
    scheduler.trace(
      `${id} sends`,
      partition,
      token,
      operations.map(({ kind, key }) => kind[0] + key).join(),
    );
    return this.#send<PushAnswer>({
      partition,
      isWrite: true,
      operations,
      execute: (stamp) => {
        const { answer, execution } = table.execute(operations, stamp, false);
        const index = "index" in answer ? answer.index : undefined;
        scheduler.trace(`${id} is answered`, partition, token, answer.kind, index);
        if (execution) ledger.onExecuted(execution, id, batch);
        return answer;
      },
      onRepeat: () => {
        if (batch) batch.isRepeated = true;
      },
    });
  }

  fence(push: PushName, etag: string | undefined): Promise<Dated<PushAnswer>> {
    const fence = { partition: push.partition, token: fenceToken(push) };
    return this.#execute(push, [receiptOperation(fence, etag, this.#client.id)], undefined);
  }

  async read(key: Key): Promise<Dated<ReadAnswer>> {
    const { ledger, table } = this.#world;
    const answer = await this.#send<ReadAnswer>({
      partition: partitionOf(key),
      isWrite: false,
      operations: [],
      execute: () => table.read(key),
    });
    if (answer.kind === "found") ledger.onSeen(this.#client.id, key, answer.row.etag);
    return answer;
  }

  readReceipt(partition: string): Promise<Dated<ReadAnswer>> {
    return this.read(receiptKey(partition, this.#client.id));
  }

  async scan(request: ScanRequest): Promise<Dated<ScanAnswer>> {
    const { ledger, table } = this.#world;
    const answer = await this.#send<ScanAnswer>({
      partition: partitionOf(request.range.from),
      isWrite: false,
      operations: [],
      execute: () => table.scan(request),
    });
    if (answer.kind === "page" && !request.keysOnly) {
      for (const { key, row } of answer.rows) ledger.onSeen(this.#client.id, key, row.etag);
    }
    return answer;
  }

  async openFeed({ since }: FeedRequest): Promise<OpenFeedAnswer> {
    const { feed, ledger } = this.#world;
    if (feed === undefined) return { kind: "none" };
    const answer = await this.#send<ReturnType<RemoteFeed["open"]> | Failure>({
      partition: "",
      isWrite: false,
      operations: [],
      execute: () => feed.open(since),
    });
    if (answer.kind !== "open") return answer;
    this.#feed = answer;
    return {
      kind: "open",
      head: answer.head,
      store: answer.store,
      scope: answer.scope,
      next: async () => {
        const next = await this.#process.wait(answer.next());
        const changes = next.kind === "events" ? next.events.flatMap((one) => one.changes) : [];
        for (const { key, row } of changes) if (row) ledger.onSeen(this.#client.id, key, row.etag);
        return next;
      },
      close: () => answer.close(),
    };
  }

  #send<A extends object>(request: NetworkRequest<A>): Promise<Dated<A>> {
    this.#client.requests += 1;
    const execute: typeof request.execute = (stamp) => {
      this.#feed?.compareScope();
      return request.execute(stamp);
    };
    // Like the answers of the table, failures are answers.
    const answer = this.#world.network.send({ ...request, execute });
    return this.#process.wait(answer) as Promise<Dated<A>>;
  }

  refresh(): Promise<void> {
    return this.#process.sleep(1 + this.#world.scheduler.fraction(20));
  }
}
