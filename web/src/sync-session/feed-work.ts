// Follows the remote's feed of changes, as long as it has one: nothing is polled then. While the
// page is hidden, there is no connection but for a moment, from time to time.

import type { SyncContext } from "../sync/context.ts";
import { type FeedEnd, FeedFollower } from "../sync/feed-follower.ts";
import type { Requests } from "../sync/requests.ts";
import type { Activity, ActivityEvent } from "./activity.ts";
import type { Alarm } from "./alarm.ts";
import type { SessionTime } from "./clock.ts";
import type { Gate } from "./gate.ts";
import type { PollTimes } from "./poll-schedule.ts";

export interface FeedOptions {
  readonly context: SyncContext;
  readonly requests: Requests;
  readonly time: SessionTime;
  readonly alarm: Alarm;
  readonly activity: Activity;
  readonly gate: Gate;
  readonly poll: PollTimes;
  /** Reads and compares everything, by requests that are sent after the call. */
  readonly readAll: () => Promise<void>;
  /** Keys are to be read, or `isFollowing` has changed. */
  readonly onChange: () => void;
}

const failuresMax = 3; // in a row, until changes are polled again
const noFeedMs = 60_000; // until it is asked again whether the remote has a feed; without a request
const steadyMs = 10_000; // a connection that has lasted so long may be opened again at once

export class FeedWork {
  readonly #options: FeedOptions;
  readonly #follower: FeedFollower;
  #failures = 0;
  /** Nothing was missed when the last connection has ended. */
  #wasCurrent = false;
  #isClosedHere = false;
  #storeFailure: { readonly error: unknown } | undefined; // of #complete()
  #readGap: number | undefined;
  #isFollowing = false;
  /** Resolves when the first try to follow the feed has succeeded or failed. */
  readonly begun: Promise<void>;
  #onBegun = (): void => {};

  constructor(options: FeedOptions) {
    const { context, onChange, requests } = options;
    this.#options = options;
    this.#follower = new FeedFollower(context, requests, {
      onChange: () => this.#onFollowed(),
      onMarked: onChange,
    });
    this.begun = new Promise((resolve) => {
      this.#onBegun = resolve;
    });
  }

  /**
   * Whether changes of the remote arrive by themselves. It stays so for a few failures, because the
   * next connection brings what was missed.
   */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  /** When the feed has said last that nothing is missed, by the wall clock. */
  get heardAt(): number | undefined {
    return this.#follower.heardAt;
  }

  /** Ends the connection: no requests may be sent, or the session has stopped. */
  close(): void {
    this.#isClosedHere = true;
    this.#follower.close();
  }

  onActivity(event: ActivityEvent): void {
    // A connection that the platform has lost may still seem to be open.
    if (event !== "focus") this.close();
    if (event !== "hidden" && event !== "offline") this.#options.alarm.endWait();
  }

  /** One connection, and the wait after it. Rejects if the store fails. */
  async step(): Promise<void> {
    const { gate, time } = this.#options;
    await gate.opened();
    this.#throwStoreFailure(); // of a connection that had ended before
    this.#wasCurrent = false;
    this.#isClosedHere = false;
    const began = time.now().monotonicMs;
    const end = await this.#follower.follow().finally(() => this.#update());
    this.#throwStoreFailure();
    if (end.kind === "gap" || end.kind === "renewed") return;
    const isSteady = this.#wasCurrent && time.now().monotonicMs - began >= steadyMs;
    if (isSteady) this.#failures = 0;
    else if (end.kind === "none") this.#failures = failuresMax;
    else if (!this.#isClosedHere) this.#failures += 1;
    this.#update();
    this.#onBegun();
    await this.#waitAfter(end);
  }

  #throwStoreFailure(): void {
    const failed = this.#storeFailure;
    this.#storeFailure = undefined;
    if (failed) throw failed.error;
  }

  async #waitAfter(end: Exclude<FeedEnd, { kind: "gap" | "renewed" }>): Promise<void> {
    const { activity, alarm, gate, poll, requests } = this.#options;
    if (end.kind === "none") await alarm.wait(noFeedMs);
    else if (!gate.isOpen) return;
    else if (this.#wasCurrent && !activity.isVisible())
      await alarm.wait(Math.max(poll.hiddenMs, poll.minMs));
    else if (end.kind !== "ended") await requests.waitAfter(end, this.#failures);
    else if (!this.#isClosedHere) await requests.waitAfter({ kind: "failed" }, this.#failures);
  }

  // ---- What the follower has found -------------------------------------------------------------

  #onFollowed(): void {
    const { activity } = this.#options;
    this.#update();
    if (!this.#follower.isCaughtUp) return;
    this.#wasCurrent = true;
    this.#onBegun();
    if (!this.#follower.isComplete) void this.#complete();
    else if (!activity.isVisible()) this.close();
  }

  #update(): void {
    const { isCaughtUp, isComplete } = this.#follower;
    if (isCaughtUp) this.#failures = Math.min(this.#failures, failuresMax - 1);
    const isFollowing =
      isComplete && (isCaughtUp || (this.#isFollowing && this.#failures < failuresMax));
    if (isFollowing === this.#isFollowing) return;
    this.#isFollowing = isFollowing;
    this.#options.onChange();
  }

  /** What a gap hides must be read. A gap that is read already is not read twice. */
  async #complete(): Promise<void> {
    const { gap } = this.#follower;
    if (gap === this.#readGap) return;
    this.#readGap = gap;
    try {
      await this.#options.readAll();
      await this.#follower.complete(gap);
      this.#onFollowed();
    } catch (error) {
      // The store has failed. The next connection begins again with this.
      this.#readGap = undefined;
      this.#storeFailure = { error };
      this.close();
    }
  }
}
