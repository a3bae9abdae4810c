// Syncs one table for as long as this process owns the store: pushes what is written locally as
// soon as it is committed, and pulls by a schedule. Decides only when; what is sent and applied is
// the matter of the planner (sync/PROTOCOL.md). So it remembers nothing that must survive.

import { backOffMs } from "../sync/back-off.ts";
import type { SyncContext, SyncRules, SyncStatus } from "../sync/context.ts";
import type { KeyRange } from "../sync/keys.ts";
import { Puller } from "../sync/puller.ts";
import { Pusher } from "../sync/pusher.ts";
import type { Failure } from "../sync/remote.ts";
import { errorOf, Requests } from "../sync/requests.ts";
import { scanState } from "../sync/scan-state.ts";
import { overlapMsDefault } from "../sync/watermark.ts";
import type { ActivityEvent } from "./activity.ts";
import { Alarm } from "./alarm.ts";
import type { Backlog } from "./backlog.ts";
import { BacklogCount } from "./backlog-count.ts";
import { BeaconWork } from "./beacon-work.ts";
import { SessionTime } from "./clock.ts";
import { CountingStore } from "./counting-store.ts";
import { DownloadProgress, type DownloadStatus } from "./download-progress.ts";
import { EntityBudget } from "./entity-budget.ts";
import type { FeedWork } from "./feed-work.ts";
import { Gate } from "./gate.ts";
import { type PullOptions, PullWork } from "./pull-work.ts";
import { PushWork } from "./push-work.ts";
import { rangesOf } from "./ranges.ts";
import { Reachability } from "./reachability.ts";
import type { Connection, Pass, SessionOptions } from "./session-options.ts";
import { SessionRemote } from "./session-remote.ts";
import { SessionStore } from "./session-store.ts";
import { StoreFailures } from "./store-failures.ts";

export type Phase = "connecting" | "downloading" | "syncing" | "idle" | "paused" | "stopped";

export interface SessionStatus extends SyncStatus, Backlog {
  readonly phase: Phase;
  /** Undefined: nothing was sent yet. */
  readonly isOnline: boolean | undefined;
  readonly inFlight: number; // requests
  /** When the last complete pull began, by the wall clock, in milliseconds. */
  readonly pulledAt: number | undefined;
  /** Changes of the remote arrive by themselves. */
  readonly isFollowing: boolean;
  readonly confirmed: number; // operations
  readonly changedRows: number; // by pulls
  /** While the table is read for the first time. The same object until it changes. */
  readonly progress: DownloadStatus | undefined;
  /** The store has failed, and the session tries again. */
  readonly storeError: unknown;
}

const rulesOfService = {
  sendWithinMs: 30_000,
  overlapMs: overlapMsDefault,
  retry: { firstMs: 1000, mostMs: 60_000 },
  deleteLimits: { few: 50, share: 0.1 },
  pushesAtOnce: 4,
};

const failuresOfOutage = 3;
const roundsMax = 5; // of `now`
const feedFirstMs = 1500;

interface Work {
  readonly push: PushWork | undefined;
  readonly pull: PullWork;
  readonly puller: Puller;
  readonly feed: FeedWork | undefined;
}

export class TableSession {
  readonly #options: SessionOptions;
  readonly #time: SessionTime;
  readonly #gate: Gate;
  readonly #budget: EntityBudget;
  readonly #reachability = new Reachability();
  readonly #store: SessionStore;
  readonly #pushed: CountingStore;
  readonly #pulled: CountingStore;
  // Each kind of work has its own: what one of them may do does not end the error of the other.
  readonly #pushStatus = emptyStatus();
  readonly #pullStatus = emptyStatus();
  #connectError: SyncStatus["error"];
  readonly #failures: Readonly<
    Record<"begin" | "push" | "pull" | "census" | "feed", StoreFailures>
  >;
  readonly #backlog: BacklogCount;
  readonly #endings: (() => void)[] = [];
  #begun: Promise<Work> | undefined;
  #work: Work | undefined;
  #progress: DownloadProgress | undefined; // until the table is downloaded
  #isPaused = false;
  #isStopped = false;
  #stopped: Promise<void> | undefined;
  #wasPending = false;

  constructor(options: SessionOptions) {
    const { budget, clock, store } = options;
    this.#options = options;
    this.#time = new SessionTime(clock);
    this.#gate = new Gate(false);
    this.#budget = new EntityBudget(this.#time, budget);
    this.#store = new SessionStore(store);
    this.#pushed = new CountingStore(this.#store);
    this.#pulled = new CountingStore(this.#store);
    this.#backlog = new BacklogCount(store, this.#time, () => this.#onCounted());
    const failures = () => new StoreFailures(this.#time, options.onChange);
    this.#failures = {
      begin: failures(),
      push: failures(),
      pull: failures(),
      census: failures(),
      feed: failures(),
    };
  }

  /** Begins. Call it once. */
  start(): void {
    const { activity, watchCommits } = this.#options;
    this.#endings.push(activity.watch((event) => this.#onActivity(event)));
    this.#endings.push(watchCommits(() => this.#onCommit()));
    this.#setGate();
    this.#begun = this.#begin();
    this.#backlog.soon();
  }

  get status(): SessionStatus {
    return {
      ...sumOf(this.#pushStatus, this.#pullStatus),
      error: this.#connectError ?? this.#pushStatus.error ?? this.#pullStatus.error,
      ...this.#backlog.last,
      phase: this.#phase,
      isOnline: this.#options.activity.isOnline() ? this.#reachability.isAnswering : false,
      inFlight: this.#gate.inFlight,
      pulledAt: this.#work?.pull.pulledAt,
      isFollowing: this.#work?.feed?.isFollowing ?? false,
      confirmed: this.#pushed.settled.confirmed,
      changedRows: this.#pulled.rows,
      progress: this.#work?.pull.isDownloaded ? undefined : this.#progress?.status,
      storeError: Object.values(this.#failures).find(({ error }) => error !== undefined)?.error,
    };
  }

  /** In which the table is scanned. Undefined: not known yet. */
  get ranges(): SyncRules["ranges"] | undefined {
    return this.#work?.pull.ranges;
  }

  get #phase(): Phase {
    if (this.#isStopped) return "stopped";
    if (this.#isPaused) return "paused";
    if (this.#work === undefined) return "connecting";
    if (!this.#work.pull.isDownloaded) return "downloading";
    return this.#gate.inFlight > 0 || this.#work.pull.isRunning ? "syncing" : "idle";
  }

  // ---- Control ---------------------------------------------------------------------------------

  /** Sends no more requests. Those that were sent end. */
  pause(): void {
    this.#isPaused = true;
    this.#setGate();
  }

  resume(): void {
    this.#isPaused = false;
    this.#setGate();
    this.#wake();
  }

  /**
   * Ends the session. Resolves when the requests that were sent have ended, and what they were
   * answered is stored. The session then never changes the store again.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#isStopped = true;
    for (const end of this.#endings) end();
    this.#setGate();
    this.#time.stop();
    await this.#gate.idle();
    await this.#store.close(() => this.#turn());
  }

  /** Resolves in a later turn of the event loop. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(0, resolve));
  }

  /**
   * Pushes what is pending, pulls, and compares all versions. Resolves to whether the store and the
   * remote had then the same, but for parked groups; false if the remote cannot be reached now.
   */
  async now(): Promise<boolean> {
    if (this.#isStopped || !this.#gate.isOpen) return false;
    this.#wake();
    return (await this.#reachability.unlessFailing(failuresOfOutage, this.#syncOnce())) ?? false;
  }

  /** As Deletes.confirm(). */
  confirmDeletes(id: string): boolean {
    const isKnown = this.#work?.puller.deletes.confirm(id) ?? false;
    if (isKnown) this.#work?.pull.compareSoon();
    this.#options.onChange();
    return isKnown;
  }

  /** What a push has found can lead to another one, and so can what was written meanwhile. */
  async #syncOnce(): Promise<boolean> {
    const { pull, push } = await (this.#begun as Promise<Work>);
    for (let round = 1; round <= roundsMax; ++round) {
      await push?.drain();
      if (!(await pull.pullNow())) return false;
      const { pending } = await this.#backlog.now();
      if (pending === 0 || push === undefined) return true;
    }
    return false;
  }

  #setGate(): void {
    const isOnline = this.#options.activity.isOnline();
    this.#gate.isOpen = isOnline && !this.#isPaused && !this.#isStopped;
    if (!this.#gate.isOpen) {
      this.#reachability.giveUp();
      this.#progress?.interrupt();
      this.#work?.feed?.close();
    }
    this.#options.onChange();
  }

  #onActivity(event: ActivityEvent): void {
    this.#setGate();
    this.#work?.feed?.onActivity(event);
    if (event === "hidden" || event === "offline") return;
    this.#work?.pull.onActivity();
    this.#wake();
  }

  /** The remote may be reachable again, or the user looks at the table. */
  #wake(): void {
    this.#time.endBackOffs();
    this.#work?.pull.wake();
    this.#push();
  }

  #onCommit(): void {
    this.#push();
    this.#backlog.soon();
  }

  /** The table is created with the first local write. */
  #onCounted(): void {
    const wasPending = this.#wasPending;
    this.#wasPending = this.#backlog.last.pending > 0;
    const isFirst = this.#wasPending && !wasPending;
    const isMissing = this.#connectError === "tableMissing";
    if (isFirst && isMissing && this.#options.settings.direction !== "pull")
      this.#time.endBackOffs();
    this.#options.onChange();
  }

  #push(): void {
    if (this.#gate.isOpen) this.#work?.push?.start();
  }

  // ---- Beginning -------------------------------------------------------------------------------

  async #begin(): Promise<Work> {
    const connection = await this.#connect();
    for (;;) {
      try {
        this.#work = await this.#open(connection);
        break;
      } catch (error) {
        await this.#failures.begin.wait(error);
      }
    }
    const work = this.#work;
    this.#push();
    void this.#pull(work);
    this.#options.onChange();
    return work;
  }

  /**
   * What is committed while the table is read should be in the feed, so the feed begins first. If
   * it takes long, the table is read now, and what the feed needs is read again later.
   */
  async #pull({ feed, pull }: Work): Promise<void> {
    if (feed) {
      void this.#repeat(() => feed.step(), this.#failures.feed);
      await Promise.race([feed.begun, this.#time.sleep(feedFirstMs)]);
    }
    void this.#repeat(() => pull.pullStep(), this.#failures.pull);
    const { direction } = this.#options.settings;
    if (direction !== "push") {
      void this.#repeat(() => pull.censusStep(), this.#failures.census);
    }
  }

  async #connect(): Promise<Connection> {
    for (let tries = 0; ; ++tries) {
      const answer = await this.#askedRemote();
      this.#reachability.note(answer);
      this.#connectError = errorOf(answer);
      this.#options.onChange();
      if (answer.kind === "connected") return answer;
      if (this.#connectError === "unauthorized") this.#onUnauthorized();
      const { retry } = rulesOfService;
      await this.#time.backOff(backOffMs(answer, tries, retry, this.#time.random()));
    }
  }

  /** Asks the remote what it can do, again after failures of the store. */
  async #askedRemote(): Promise<Connection | Failure> {
    const pass: Pass = (send) => this.#gate.pass(send);
    for (;;) {
      try {
        return await this.#options.connect(pass);
      } catch (error) {
        await this.#failures.begin.wait(error);
      }
    }
  }

  #onUnauthorized(): void {
    if (this.#options.settings.pausesIfUnauthorized) this.pause();
  }

  async #open(connection: Connection): Promise<Work> {
    const { beacon: named, limits, remote: connected, settleMs, split } = connection;
    const store = this.#store;
    const { settings } = this.#options;
    const beacon = named && new BeaconWork(named, this.#time, (send) => this.#gate.pass(send));
    const remote = new SessionRemote({
      remote: connected,
      gate: this.#gate,
      budget: this.#budget,
      reachability: this.#reachability,
      onPushed: (partition) => beacon?.onPushed(partition),
      onUnauthorized: () => this.#onUnauthorized(),
      onPage: (request, page) => this.#progress?.onPage(request, page),
      onRead: (key, answer) => this.#progress?.onRead(key, answer),
      onFailure: () => this.#progress?.onFailure(),
      onChange: this.#options.onChange,
    });
    const ranges = await rangesOf({ store, remote, split, partitions: settings.partitions });
    const rules: SyncRules = { ...rulesOfService, ...settings, ranges, limits, settleMs };
    const shared = { remote, platform: this.#time, rules };
    const context: SyncContext = { ...shared, store: this.#pulled, status: this.#pullStatus };
    const requests = await Requests.open(context);
    const puller = new Puller(context, requests);
    const { hasTimestampFilter } = remote.traits;
    let feed: FeedWork | undefined;
    const isFollowing = () => feed?.isFollowing ?? false;
    const pull = this.#pullWork({
      puller,
      ranges,
      isFollowing,
      heardAt: () => feed?.heardAt,
      beacon,
      hasTimestampFilter,
    });
    await pull.open();
    if (!pull.isDownloaded) this.#progress = await this.#progressOf(ranges, !hasTimestampFilter);
    if (connected.openFeed && settings.direction !== "push")
      feed = await this.#feedWork(context, requests, pull);
    const pushed = { ...shared, store: this.#pushed, status: this.#pushStatus };
    return { puller, pull, feed, push: this.#pushWork(pushed, requests.withContext(pushed)) };
  }

  async #feedWork(
    context: SyncContext,
    requests: Requests,
    pull: PullWork,
  ): Promise<FeedWork | undefined> {
    const { activity, onChange, settings } = this.#options;
    const loaded = await import("./feed-work.ts").catch(() => undefined);
    if (loaded === undefined) return undefined; // sync polls
    return new loaded.FeedWork({
      context,
      requests,
      time: this.#time,
      alarm: new Alarm(this.#time),
      activity,
      gate: this.#gate,
      poll: settings.poll,
      readAll: () => pull.readAll(),
      onChange: () => {
        pull.wake();
        onChange();
      },
    });
  }

  async #progressOf(ranges: SyncRules["ranges"], readsKeys: boolean): Promise<DownloadProgress> {
    const now = () => this.#time.now().monotonicMs;
    return await this.#store.read((view) => {
      const isDone = (range: KeyRange) => {
        const { comparedAt, watermark } = scanState(view, range);
        return (readsKeys ? comparedAt : watermark) !== undefined;
      };
      return new DownloadProgress(now, ranges, isDone, readsKeys);
    });
  }

  #pushWork(context: SyncContext, requests: Requests): PushWork | undefined {
    if (this.#options.settings.direction === "pull") return undefined;
    const pusher = new Pusher(context, requests, (error) => work.onStoreFailure(error));
    const work = new PushWork(pusher, (error) => this.#failures.push.wait(error));
    return work;
  }

  #pullWork(
    pulled: Pick<
      PullOptions,
      "puller" | "ranges" | "hasTimestampFilter" | "isFollowing" | "heardAt" | "beacon"
    >,
  ): PullWork {
    const { activity, onChange, rowCount, settings } = this.#options;
    return new PullWork({
      ...settings,
      ...pulled,
      store: this.#pulled,
      time: this.#time,
      activity,
      budget: this.#budget,
      readsOnlyMarked: settings.direction === "push",
      rowCount,
      onChange,
    });
  }

  // ---- The store -------------------------------------------------------------------------------

  /** Repeats a step until the session stops. After a failure of the store, it goes on. */
  async #repeat(step: () => Promise<void>, failures: StoreFailures): Promise<void> {
    while (!this.#isStopped) {
      try {
        await step();
      } catch (error) {
        await failures.wait(error);
      }
    }
  }
}

const emptyStatus = (): SyncStatus => ({
  suspects: [],
  missesRepaired: 0,
  resent: 0,
  unknownOutcomes: 0,
});

/** Only pulls find suspects and misses, and only pushes have outcomes. */
const sumOf = (push: SyncStatus, pull: SyncStatus): SyncStatus => ({
  suspects: pull.suspects,
  missesRepaired: pull.missesRepaired,
  resent: push.resent,
  unknownOutcomes: push.unknownOutcomes,
});
