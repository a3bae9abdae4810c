// Follows the remote's feed of changes (PROTOCOL.md, Following a feed). The position is stored in
// the same commit as what was applied up to it, so a crash repeats some events and skips none.

import { CollectedChanges } from "./collected-changes.ts";
import type { SyncContext } from "./context.ts";
import type { Draft } from "./draft.ts";
import { applyFeedChange, type FeedProgress, storeProgress } from "./feed-state.ts";
import type { FeedState, RemoteRow } from "./hidden-tables.ts";
import { isReceiptKey, type Key, partitionOf } from "./keys.ts";
import type { Failure, Feed, FeedEvent, FeedRequest, OpenFeedAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

/**
 * Why a connection has ended. "gap": the feed must begin again, at once. "renewed": the connection
 * was so old that too many keys had to be read. "none": the remote has no feed.
 */
export type FeedEnd =
  | { readonly kind: "none" }
  | { readonly kind: "ended" }
  | { readonly kind: "gap" }
  | { readonly kind: "renewed" }
  | Failure;

export interface FollowerEvents {
  /** What `isCaughtUp` and `isComplete` return may have changed. */
  onChange(): void;
  /** Keys must be read (Puller.readMarked). */
  onMarked(): void;
}

const rowsPerStep = 1000; // bounds the time of one turn of the event loop
const doubtfulMax = 100;
const orderedMax = 10_000;
const beforeAll = -1; // a commit since which every key was touched
const storeIdleMs = 60_000; // until a position is stored that moves without changes

export class FeedFollower {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #events: FollowerEvents;
  #feed: Feed | undefined;
  #closing = new AbortController();
  /** The commit at which the request for the feed was sent. */
  #sentAt = 0;
  /** The commit at which the store had what the feed had brought last of a key. */
  readonly #ordered = new Map<Key, number>();
  readonly #changes = new CollectedChanges();
  #progress: FeedProgress | undefined;
  #expected: FeedState["witness"];
  #doubtful = 0;
  #storedAt = Number.NEGATIVE_INFINITY;
  #heardAt: number | undefined;
  #isComplete = false;
  #isCaughtUp = false;
  /** How often what the feed has brought was not everything. */
  #gaps = 0;

  constructor(context: SyncContext, requests: Requests, events: FollowerEvents) {
    this.#context = context;
    this.#requests = requests;
    this.#events = events;
  }

  /** The connection is open, and everything is known or marked that it has brought. */
  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** Everything was read and compared since the last gap, perhaps by an earlier process. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** When the feed has said last that everything is known or marked, by the wall clock. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  get gap(): number {
    return this.#gaps;
  }

  /** Ends `follow`, with what was applied so far. */
  close(): void {
    this.#closing.abort();
    this.#feed?.close();
  }

  /** Everything was read and compared, by requests that were sent since this gap. */
  async complete(gap: number): Promise<void> {
    const isComplete = await this.#context.store.transact((draft) => {
      const state = draft.get("feed", "state");
      if (gap !== this.#gaps || state === undefined) return false;
      draft.put("feed", "state", { ...state, isComplete: true });
      return true;
    });
    if (isComplete && gap === this.#gaps) this.#isComplete = true;
  }

  /** Follows the feed until the connection ends. Rejects if the store fails. */
  async follow(): Promise<FeedEnd> {
    this.#closing = new AbortController();
    try {
      const opened = await this.#open();
      if (opened.kind !== "open") return opened;
      return await this.#readEvents(opened);
    } finally {
      this.#feed?.close();
      this.#feed = undefined;
      this.#isCaughtUp = false;
      this.#changes.clear();
    }
  }

  // ---- Opening ---------------------------------------------------------------------------------

  async #open(): Promise<Feed | FeedEnd> {
    const state = await this.#context.store.read((view) => view.get("feed", "state"));
    const opened = await this.#request(state?.position);
    if (opened.kind !== "open") return opened;
    if (state === undefined) return await this.#begin(opened);
    if (opened.scope !== state.scope || opened.head < state.position) return await this.#forget();
    this.#isComplete = state.isComplete;
    this.#progress = { ...state, hasGap: false };
    if (opened.store === state.store) return opened;
    opened.close();
    return await this.#verify(state);
  }

  /** No request is sent, and no feed stays open, after close(). */
  async #request(since: FeedRequest["since"]): Promise<OpenFeedAnswer | { kind: "ended" }> {
    const { signal } = this.#closing;
    const { openFeed } = this.#context.remote;
    this.#sentAt = await this.#requests.beginRead();
    if (openFeed === undefined) return { kind: "none" };
    if (signal.aborted) return { kind: "ended" };
    const answer = await openFeed.call(this.#context.remote, { since, signal });
    if (answer.kind === "open") this.#feed = answer;
    if (signal.aborted) {
      this.#feed?.close();
      return { kind: "ended" };
    }
    if (answer.kind !== "none") this.#requests.checked(answer);
    return answer;
  }

  /** What is committed from now on is in the feed. The rest must be read. */
  async #begin(feed: Feed): Promise<Feed> {
    const { head: position, scope, store } = feed;
    this.#progress = { position, scope, store, witness: undefined, hasGap: true };
    this.#onGap();
    await this.#context.store.transact((draft) =>
      storeProgress(draft, this.#progress as FeedProgress),
    );
    return feed;
  }

  /**
   * Another process of the remote: is it another store, or has a power failure taken commits back?
   * The last commit that is known must be there, the same.
   */
  async #verify({ scope, witness }: FeedState): Promise<Feed | FeedEnd> {
    if (witness === undefined) return await this.#forget();
    const opened = await this.#request(witness.sequence - 1n);
    if (opened.kind !== "open") return opened;
    if (opened.scope !== scope || opened.head < witness.sequence) return await this.#forget();
    this.#expected = witness;
    const { sequence: position } = witness; // what follows may be another history
    this.#progress = { ...(this.#progress as FeedProgress), position, store: opened.store };
    return opened;
  }

  /** The next call begins without a position. */
  async #forget(): Promise<FeedEnd> {
    this.#onGap();
    this.#ordered.clear();
    await this.#context.store.transact((draft) => draft.delete("feed", "state"));
    return { kind: "gap" };
  }

  #onGap(): void {
    this.#gaps += 1;
    this.#isComplete = false;
  }

  // ---- Reading ---------------------------------------------------------------------------------

  async #readEvents(feed: Feed): Promise<FeedEnd> {
    this.#doubtful = 0;
    for (;;) {
      const heardAt = this.#context.platform.now().wallMs;
      const isBehind = (this.#progress as FeedProgress).position < feed.head;
      if (!isBehind && this.#expected === undefined) {
        await this.#apply();
        this.#isCaughtUp = true;
        this.#heardAt = heardAt;
        this.#events.onChange();
      }
      if (this.#doubtful > doubtfulMax) return { kind: "renewed" };
      const answer = await feed.next();
      if (answer.kind === "ended") return { kind: "ended" };
      if (answer.kind === "truncated") return await this.#forget();
      const changes = answer.events.flatMap((event) => event.changes);
      if (!this.#requests.checkedTimes(changes)) return { kind: "failed" };
      for (const event of answer.events) if (!this.#take(event)) return await this.#forget();
    }
  }

  /** Returns false if the remote has another history than that which was followed. */
  #take(event: FeedEvent): boolean {
    const { hasGap, sequence, witness } = event;
    const expected = this.#expected;
    if (expected !== undefined && sequence >= expected.sequence) {
      this.#expected = undefined;
      if (sequence !== expected.sequence || witness !== expected.text) return false;
    }
    const progress = this.#progress as FeedProgress;
    if (sequence <= progress.position) return true; // it comes again
    if (hasGap) {
      this.#onGap();
      this.#changes.clear(); // they are not the last ones: the gap hides others
    }
    this.#changes.add(event, (key) => !isReceiptKey(key));
    const isTooMuch = !this.#isCaughtUp && this.#changes.areTooMany;
    if (isTooMuch) {
      this.#onGap();
      this.#changes.clear();
    }
    this.#progress = {
      ...progress,
      position: sequence,
      witness: witness === undefined ? progress.witness : { sequence, text: witness },
      hasGap: progress.hasGap || hasGap === true || isTooMuch,
    };
    return true;
  }

  // ---- Applying --------------------------------------------------------------------------------

  /** The remote had these versions after the request for the feed was sent. */
  async #apply(): Promise<void> {
    const changes = this.#changes.take();
    const stepSize = this.#context.rules.consistent ? changes.length : rowsPerStep;
    let from = 0;
    do {
      const step = changes.slice(from, from + stepSize);
      from += stepSize;
      const isLast = from >= changes.length;
      const applied = await this.#context.store.transact((draft) =>
        this.#applyStep(draft, step, isLast),
      );
      if (this.#ordered.size > orderedMax) this.#ordered.clear();
      for (const [key, commit] of applied.ordered) this.#ordered.set(key, commit);
      this.#storedAt = applied.storedAt;
      this.#doubtful += applied.doubtful;
      if (applied.hasMarks) this.#events.onMarked();
    } while (from < changes.length);
    this.#progress = { ...(this.#progress as FeedProgress), hasGap: false };
  }

  #applyStep(
    draft: Draft,
    step: readonly (readonly [Key, RemoteRow | undefined])[],
    isLast: boolean,
  ) {
    const { platform, rules } = this.#context;
    const ordered = new Map<Key, number>();
    let doubtful = 0; // changes of keys that may have a newer version
    let hasMarks = false;
    const sentAtOf = (key: Key) => Math.max(this.#sentAt, this.#ordered.get(key) ?? 0);
    const held = rules.consistent?.heldPartitions(draft, step, sentAtOf, rules.keeps);
    // What a gap has hidden may belong to what comes after it.
    const isAllHeld = held !== undefined && !this.#isComplete;
    for (const [key, row] of step) {
      const isHeld = isAllHeld || held?.has(partitionOf(key));
      const sentAt = isHeld ? beforeAll : sentAtOf(key);
      const applied = applyFeedChange(draft, key, row, sentAt, rules.keeps);
      if (applied === "applied") ordered.set(key, draft.nextCommit);
      if (applied === "known") ordered.set(key, draft.commit);
      if (applied === "marked") hasMarks = true;
      if (applied !== "marked" || isAllHeld) continue;
      if (draft.get("bases", key) === undefined) doubtful += 1;
    }
    const now = platform.now().monotonicMs;
    const progress = this.#progress as FeedProgress;
    const isChanged = draft.puts.length > 0 || progress.hasGap || !this.#isCaughtUp;
    const isDue = isChanged || now - this.#storedAt >= storeIdleMs;
    if (isLast && isDue) storeProgress(draft, progress);
    const storedAt = isLast && isDue ? now : this.#storedAt;
    return { doubtful, hasMarks, ordered, storedAt };
  }
}
