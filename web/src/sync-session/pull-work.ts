// Pulls one table: reads what has changed by a schedule, and compares all versions within a time.

import type { KeyRange } from "../sync/keys.ts";
import type { Pulled, Puller } from "../sync/puller.ts";
import { scanState, updateScanState } from "../sync/scan-state.ts";
import type { Activity } from "./activity.ts";
import { Alarm } from "./alarm.ts";
import type { BeaconWork } from "./beacon-work.ts";
import type { SessionTime } from "./clock.ts";
import type { CountingStore } from "./counting-store.ts";
import type { EntityBudget } from "./entity-budget.ts";
import { PollSchedule, type PollTimes } from "./poll-schedule.ts";
import { Runs } from "./runs.ts";

export interface PullOptions {
  readonly puller: Puller;
  /** Together, the puller's. */
  readonly ranges: readonly KeyRange[];
  readonly hasTimestampFilter: boolean;
  /** The puller's. */
  readonly store: CountingStore;
  readonly time: SessionTime;
  readonly activity: Activity;
  readonly budget: EntityBudget;
  readonly poll: PollTimes;
  readonly maxAgeMs: number;
  /** A table that is only pushed reads no more than its pushes need. */
  readonly readsOnlyMarked: boolean;
  readonly rowCount: () => Promise<number>;
  /** Changes of the remote arrive by themselves, so nothing is scanned for them. */
  readonly isFollowing: () => boolean;
  /** When the remote has told last that all of them have arrived, by the wall clock. */
  readonly heardAt: () => number | undefined;
  /** Tells which partitions other clients have pushed. */
  readonly beacon: BeaconWork | undefined;
  readonly onChange: () => void;
}

/** What is followed is compared only so often: nothing but a fault of the remote hides a change. */
const followedAgeMs = 86_400_000;

export class PullWork {
  readonly #options: PullOptions;
  readonly #schedule: PollSchedule;
  readonly #pullAlarm: Alarm;
  readonly #censusAlarm: Alarm;
  readonly #pulls = new Runs(() => this.#pull());
  readonly #censuses = new Runs(() => this.#census());
  /** An earlier census counts as none. By the monotonic clock. */
  #comparedSince = Number.NEGATIVE_INFINITY;
  readonly #comparedAt = new Map<string, number>(); // in this process, by the range's `from`
  #isDownloaded = false;
  #scannedTable = false; // in the last pull
  /** When the last complete scan by Timestamp began, by the monotonic clock. */
  #scannedAt = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Map<() => void, number>(); // in readAll(), and since when
  /** When the last complete pull began, or the feed was heard last then, by the wall clock. */
  pulledAt: number | undefined;

  constructor(options: PullOptions) {
    this.#options = options;
    this.#schedule = new PollSchedule(options.poll);
    this.#pullAlarm = new Alarm(options.time);
    this.#censusAlarm = new Alarm(options.time);
  }

  get ranges(): readonly KeyRange[] {
    return this.#options.ranges;
  }

  /** Whether everything was read once, perhaps by an earlier process. */
  get isDownloaded(): boolean {
    return this.#isDownloaded || this.#options.readsOnlyMarked;
  }

  get isRunning(): boolean {
    return this.#pulls.isRunning || this.#censuses.isRunning;
  }

  /** Learns what an earlier process has read. REQUIRES: nothing runs yet. */
  async open(): Promise<void> {
    const { hasTimestampFilter, ranges, store } = this.#options;
    this.#isDownloaded = await store.read((view) =>
      ranges.every((range) => {
        const { comparedAt, watermark } = scanState(view, range);
        return (hasTimestampFilter ? watermark : comparedAt) !== undefined;
      }),
    );
  }

  /** Something happens: changes of the remote are more likely. */
  onActivity(): void {
    this.#schedule.reset();
    this.wake();
  }

  /** Pulls now. */
  wake(): void {
    this.#pullAlarm.ring();
    this.#censusAlarm.ring();
  }

  /** Compares all versions again. */
  compareSoon(): void {
    this.#comparedSince = this.#options.time.now().monotonicMs;
    this.#censusAlarm.ring();
  }

  /** Reads and compares everything. Resolves to whether all could be read. */
  async pullNow(): Promise<boolean> {
    if (!(await this.#pulls.run())) return false;
    if (this.#options.readsOnlyMarked) return true;
    do {
      this.compareSoon();
      if (!(await this.#censuses.run())) return false;
    } while (this.#options.puller.deletes.awaitsCensus);
    return true;
  }

  /**
   * Resolves when everything was read and compared by requests that were sent after this call, and
   * no missing row is in doubt.
   */
  readAll(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(resolve, this.#options.time.now().monotonicMs);
      this.compareSoon();
      this.wake();
    });
  }

  #onRead(): void {
    const { puller, ranges } = this.#options;
    if (!puller.deletes.isSettled) return; // what is missing must be compared again
    const comparedAt = ranges.map(({ from }) => this.#comparedAt.get(from) ?? -1);
    const readAt = Math.min(this.#scannedAt, ...comparedAt);
    for (const [resolve, since] of [...this.#waiting]) {
      if (readAt < since) continue;
      this.#waiting.delete(resolve);
      resolve();
    }
  }

  // ---- Changes ---------------------------------------------------------------------------------

  /** Pulls, and waits until it is time for the next one. */
  async pullStep(): Promise<void> {
    const { activity, store } = this.#options;
    await this.#waitForBudget();
    const before = store.rows;
    await this.#pulls.run();
    if (store.rows > before) this.#schedule.reset();
    await this.#pullAlarm.wait(this.#schedule.next(activity.isVisible()));
  }

  /** What rings the alarm changes the budget only if a feed is followed from now on. */
  async #waitForBudget(): Promise<void> {
    const { budget, isFollowing, readsOnlyMarked } = this.#options;
    while (!readsOnlyMarked && !isFollowing()) {
      const waitMs = budget.waitMs(this.#scannedTable);
      if (waitMs === 0) return;
      await this.#pullAlarm.wait(waitMs);
    }
  }

  async #pull(): Promise<boolean> {
    const { hasTimestampFilter, isFollowing, onChange, puller, readsOnlyMarked, rowCount, time } =
      this.#options;
    const { monotonicMs, wallMs } = time.now();
    const scans = !readsOnlyMarked && !isFollowing();
    const pulledAt = isFollowing() ? this.#options.heardAt() : wallMs;
    onChange();
    const named = scans ? await this.#pullNamed() : true;
    const { areMarksRead, isScanned } =
      named === undefined
        ? await puller.pull()
        : { areMarksRead: await puller.readMarked(), isScanned: named };
    this.#scannedTable = named === undefined;
    if (named === undefined && !isScanned) this.#options.beacon?.forget();
    // A query by Timestamp scans the whole table.
    if (this.#scannedTable && hasTimestampFilter) this.#options.budget.spend(await rowCount());
    if (named === undefined && isScanned) {
      this.#scannedAt = monotonicMs;
      this.#onRead();
    }
    if (isScanned && hasTimestampFilter) this.#onScanned();
    const isComplete = areMarksRead && isScanned;
    if (isComplete && hasTimestampFilter) this.pulledAt = pulledAt ?? this.pulledAt;
    onChange();
    return isComplete;
  }

  /**
   * Reads what the beacon names. Resolves to whether all of it could be read. Undefined: the whole
   * table must be read.
   */
  async #pullNamed(): Promise<boolean | undefined> {
    const { beacon, hasTimestampFilter, puller } = this.#options;
    const mayBeNamed = beacon && hasTimestampFilter && this.#waiting.size === 0;
    // The beacon is asked before the table, so that the next call tells what comes after it.
    const named = mayBeNamed ? await beacon.pull(puller) : undefined;
    return this.#isDownloaded ? named : undefined;
  }

  #onScanned(): void {
    if (this.#isDownloaded) return;
    this.#isDownloaded = true;
    this.#censusAlarm.ring();
  }

  // ---- All versions ----------------------------------------------------------------------------

  /** Compares what is due, and waits until something is due. */
  async censusStep(): Promise<void> {
    const { activity, hasTimestampFilter, poll, time } = this.#options;
    if (hasTimestampFilter && !this.#isDownloaded) {
      // A census of an empty table would mark every key, to be read by a request of its own.
      await this.#censusAlarm.wait(Number.POSITIVE_INFINITY);
      return;
    }
    await this.#censuses.run();
    const next = await this.#nextDue();
    const leastMs = activity.isVisible() ? poll.minMs : Math.max(poll.hiddenMs, poll.minMs);
    await this.#censusAlarm.wait(Math.max(next - time.now().wallMs, leastMs));
  }

  #nextDue(): Promise<number> {
    const { ranges, store } = this.#options;
    return store.read((view) =>
      Math.min(...ranges.map((range) => this.#dueAt(range, scanState(view, range).comparedAt))),
    );
  }

  /** A time in the future is that of a wrong clock. */
  #dueAt({ from }: KeyRange, comparedAt: number | undefined): number {
    const now = this.#options.time.now().wallMs;
    const isKnown = comparedAt !== undefined && comparedAt <= now;
    const isNewEnough =
      this.#comparedSince <= (this.#comparedAt.get(from) ?? Number.NEGATIVE_INFINITY);
    return isKnown && isNewEnough ? comparedAt + this.#maxAgeMs : now;
  }

  get #maxAgeMs(): number {
    const { isFollowing, maxAgeMs } = this.#options;
    return Math.max(maxAgeMs, isFollowing() ? followedAgeMs : 0);
  }

  /** Compares the ranges that are due, one after the other. */
  async #census(): Promise<boolean> {
    const { hasTimestampFilter, onChange, puller, ranges, store, time } = this.#options;
    const { wallMs } = time.now();
    onChange();
    let isScanned = true;
    let areMarksRead = true;
    for (const range of ranges) {
      const isDue = await store.read(
        (view) => this.#dueAt(range, scanState(view, range).comparedAt) <= time.now().wallMs,
      );
      if (!isDue) continue;
      const compared = await this.#compare(range);
      isScanned &&= compared.isScanned;
      areMarksRead &&= compared.areMarksRead;
    }
    const isComplete = isScanned && areMarksRead;
    if (isScanned && !hasTimestampFilter) this.#onScanned();
    if (isComplete && !hasTimestampFilter) this.pulledAt = wallMs;
    // After a failure, the next one is at its time: nothing else would limit the requests.
    if (isScanned && puller.deletes.awaitsCensus) this.compareSoon();
    onChange();
    return isComplete;
  }

  /** Continues what an earlier process has begun, unless that is too long ago. */
  async #compare(range: KeyRange): Promise<Pulled> {
    const { puller, store, time } = this.#options;
    const { monotonicMs, wallMs } = time.now();
    const begun = await store.read((view) => scanState(view, range).census?.beganAt);
    const isTooOld = begun === undefined || begun > wallMs || begun < wallMs - this.#maxAgeMs;
    const isAnew = isTooOld || (this.#comparedAt.get(range.from) ?? -1) < this.#comparedSince;
    const comparedAt = isAnew ? wallMs : begun;
    const compared = await puller.census([range], isAnew);
    if (!compared.isScanned) return compared;
    await store.transact((draft) => updateScanState(draft, range, { comparedAt }));
    this.#comparedAt.set(range.from, monotonicMs);
    this.#onRead();
    return compared;
  }
}
