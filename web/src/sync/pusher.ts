// Sends the pending operations of a table, one frozen push at a time for each partition
// (PROTOCOL.md, Pushing, Outcomes).

import { decideAnswer, type Refusal, type Rejection, type Tries } from "./answer.ts";
import { type ConflictAnswer, type ConflictPolicy, conflictsOf } from "./conflict.ts";
import type { SyncContext } from "./context.ts";
import { type FinishedPush, finishPush, observationsOfAnswer } from "./finish-push.ts";
import type { FrozenPush, Member } from "./hidden-tables.ts";
import type { Key, Partition } from "./keys.ts";
import { isSendable } from "./operation.ts";
import { decideOutcome, type Evidence, type Observations } from "./outcome.ts";
import { planPush } from "./plan-push.ts";
import { readMembers, readReceiptEvidence } from "./read-back.ts";
import type { PushAnswer, ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

interface PushState extends Tries {
  readonly push: FrozenPush;
  count: number;
  /** When the last try was sent, at the latest. */
  sendBefore: number;
  /** A try was sent, and no commit tells what became of it. */
  isOpen: boolean;
  /** How many of the last tries were rejected as a whole. */
  rejections: number;
}

export class Pusher {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #states = new Map<Partition, PushState>();
  readonly #running = new Set<Partition>();
  /** When the last ambiguous insert of a partition cannot arrive any more. */
  readonly #settledAt = new Map<Partition, number>();
  /** The groups of a push, of partitions in which a request was rejected as a whole. */
  readonly #groupsMax = new Map<Partition, number>();
  readonly #startedAt: number;

  constructor(context: SyncContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
    this.#startedAt = this.#now();
  }

  #now(): number {
    return this.#context.platform.now().monotonicMs;
  }

  /**
   * Pushes what is pending, several partitions at once. A partition that waits does not stop the
   * others: call it again, without waiting, when there is more to push.
   */
  async push(): Promise<void> {
    const { store, rules } = this.#context;
    const started: Promise<void>[] = [];
    for (const partition of store.pendingPartitions()) {
      if (this.#running.size >= rules.pushesAtOnce) break;
      if (!this.#running.has(partition)) started.push(this.#drain(partition));
    }
    await Promise.all(started);
  }

  async #drain(partition: Partition): Promise<void> {
    this.#running.add(partition);
    try {
      while (await this.#pushPartition(partition));
    } finally {
      this.#running.delete(partition);
    }
  }

  /** One step: sends a push once, or shortens the outbox. */
  async #pushPartition(partition: Partition): Promise<boolean> {
    const { platform, store, rules } = this.#context;
    const input = {
      isSettled: this.#isSettled(partition),
      token: platform.token(),
      groupsMax: this.#groupsMax.get(partition) ?? Number.POSITIVE_INFINITY,
    };
    const plan = await store.transact((draft) => planPush(draft, partition, rules, input));
    if (plan.kind !== "push") return plan.kind === "again";
    const state = this.#stateOf(plan.push, plan.isNew);
    if (!isSendable(plan.push)) {
      await this.#readBack(state, "notSent");
      return true;
    }
    await this.#claimTry(state);
    await this.#send(state);
    return true;
  }

  #isSettled(partition: Partition): boolean {
    const { sendWithinMs, settleMs } = this.#context.rules;
    const sentBefore = this.#startedAt + sendWithinMs; // by an earlier process
    return this.#now() >= (this.#settledAt.get(partition) ?? sentBefore + settleMs);
  }

  #stateOf(push: FrozenPush, isNew: boolean): PushState {
    const state = this.#states.get(push.partition);
    if (state?.push.token === push.token) return state;
    const isAmbiguous = !isNew && isSendable(push);
    const sendBefore = this.#now() + this.#context.rules.sendWithinMs; // by an earlier process
    const next = { push, count: 0, isAmbiguous, isOpen: false, rejections: 0, sendBefore };
    this.#states.set(push.partition, next);
    return next;
  }

  /**
   * Stores the number of the try before it is sent, so that a process that is no longer the owner
   * cannot send an old push again. It could still be frozen between the two, so the time to send
   * the try is limited, too, from before the commit.
   */
  async #claimTry(state: PushState): Promise<void> {
    const { rules, store } = this.#context;
    const sendBefore = this.#now() + rules.sendWithinMs;
    if (state.count > 0 || state.isAmbiguous) {
      await store.transact((draft) => {
        const { partition } = state.push;
        draft.put("tries", partition, (draft.get("tries", partition) ?? 0) + 1);
      });
    }
    await store.stored();
    state.count += 1;
    state.sendBefore = sendBefore;
  }

  async #send(state: PushState): Promise<void> {
    const { push } = state;
    const { remote, store } = this.#context;
    const sentAt = store.view.commit;
    // The commit that the answer of an earlier try led to has failed, or there was no answer.
    if (state.isOpen) state.isAmbiguous = true;
    state.isOpen = true;
    const answer = this.#requests.checked<PushAnswer>(await remote.push(push, state.sendBefore));
    const decision = decideAnswer(push, state, answer);
    const isOpen = ["applied", "retry", "rejected"].includes(decision.kind);
    if (!isOpen) state.isOpen = false;
    state.rejections = decision.kind === "rejected" ? state.rejections + 1 : 0;
    switch (decision.kind) {
      case "applied": {
        const observations = observationsOfAnswer(push, decision.versions, sentAt);
        await this.#finish(state, "applied", observations, { etag: decision.receipt?.etag });
        return;
      }
      case "park":
        await this.#finish(state, "notApplied", new Map(), decision);
        return;
      case "readBack":
        await this.#readBack(state, state.isAmbiguous ? "none" : "firstTry", decision);
        return;
      case "retry":
        await this.#requests.waitAfter(
          { kind: "failed", retryAfterMs: decision.afterMs },
          state.count,
        );
        return;
      case "rejected":
        await this.#onRejected(state, decision.rejection);
        return;
      case "notSent":
        return; // the process was frozen: claim the try again
      case "unauthorized":
      case "tableMissing":
        await this.#requests.waitAfter(decision, state.count);
    }
  }

  /**
   * The whole request was rejected. A captive portal rejects everything, so the push is sent again
   * once the remote has answered a read. If it is rejected again, it is the content: the push ends,
   * and is sent in two parts, until the group to blame is alone.
   */
  async #onRejected(state: PushState, rejection: Rejection): Promise<void> {
    const { remote } = this.#context;
    if (state.rejections > 1) {
      await this.#readBack(state, "none", { isReceiptRefused: false, rejection });
      return;
    }
    await this.#requests.waitAfter({ kind: "failed" }, state.count);
    const { key } = state.push.members[0] as Member;
    await this.#requests.answered<ReadAnswer>(() => remote.read(key));
  }

  /** Reads what a refused push was about, until its outcome is known. */
  async #readBack(state: PushState, known: Evidence, refusal?: Refusal): Promise<void> {
    const { platform, remote, rules } = this.#context;
    const { push } = state;
    // An older read could show the members as they were before the refusal.
    if (remote.traits.staleReadMs > 0) await platform.sleep(remote.traits.staleReadMs);
    let evidence = known;
    let etag: string | undefined;
    if (push.receipt && (known === "none" || refusal?.isReceiptRefused)) {
      const receipt = await readReceiptEvidence(this.#context, this.#requests, push, known);
      if (receipt === undefined) return;
      ({ evidence, etag } = receipt);
    }
    const settledAt = state.sendBefore + rules.settleMs;
    const isSettled = this.#now() >= settledAt;
    const observations = await readMembers(this.#context, this.#requests, push);
    if (observations === undefined) return;
    const outcome = decideOutcome(push, observations, evidence, isSettled);
    if (outcome === "unsettled") {
      await platform.sleep(settledAt - this.#now());
      await this.#readBack(state, known, refusal);
    } else {
      const { rejection } = refusal ?? {};
      await this.#finish(state, outcome, observations, { rejection, etag });
    }
  }

  async #finish(
    state: PushState,
    outcome: FinishedPush["outcome"],
    observations: Observations,
    { rejection, etag }: { rejection?: Rejection | undefined; etag?: string | undefined },
  ): Promise<void> {
    const { store, rules, status } = this.#context;
    const { push } = state;
    const isConflict = outcome === "notApplied" && !rejection;
    const policy = isConflict ? await this.#policy(push, observations) : "remote";
    const settledAt = state.sendBefore + rules.settleMs;
    const mayArrive = state.isAmbiguous && this.#now() < settledAt;
    if (mayArrive) this.#settledAt.set(push.partition, settledAt);
    if (outcome === "resend") status.resent += 1;
    if (outcome === "unknown") status.unknownOutcomes += 1;
    const finished = { outcome, observations, policy, rejection, receiptEtag: etag, mayArrive };
    await store.transact((draft) => {
      finishPush(draft, push, finished, rules.keeps);
      this.#requests.storeServerTime(draft);
    });
    this.#states.delete(push.partition);
    this.#limitGroups(push, rejection);
  }

  /** Halves the next push after a rejection, and doubles it after a success. */
  #limitGroups({ partition, groups }: FrozenPush, rejection: Rejection | undefined): void {
    const most = this.#groupsMax.get(partition);
    if (rejection && rejection.index === undefined) {
      this.#groupsMax.set(partition, Math.max(1, Math.floor(groups / 2)));
    } else if (most !== undefined && groups < most) this.#groupsMax.delete(partition);
    else if (most !== undefined) this.#groupsMax.set(partition, 2 * most);
  }

  /** Asks the application about each conflict. What it cannot answer is parked, not lost. */
  async #policy(push: FrozenPush, observations: Observations): Promise<ConflictPolicy> {
    const { policy } = this.#context.rules;
    if (typeof policy === "string") return policy;
    const answers = new Map<Key, ConflictAnswer>();
    for (const conflict of conflictsOf(push, observations)) {
      const answer = await policy(conflict).catch((): ConflictAnswer => ({ kind: "park" }));
      answers.set(conflict.key, answer);
    }
    return answers;
  }
}
