// Sends the pending operations of one partition, one frozen push at a time (PROTOCOL.md, Pushing,
// Outcomes).

import { decideAnswer, type Refusal, type Rejection, type Tries } from "./answer.ts";
import { isAtBase } from "./base.ts";
import {
  type ConflictAnswer,
  type ConflictPolicy,
  conflictsOf,
  isPartlyEqual,
} from "./conflict.ts";
import type { SyncContext } from "./context.ts";
import { createReceipt } from "./create-receipt.ts";
import { type FinishedPush, finishPush, observationsOfAnswer } from "./finish-push.ts";
import type { FrozenPush, Member } from "./hidden-tables.ts";
import type { Key, Partition } from "./keys.ts";
import { isSendable } from "./operation.ts";
import type { OutboxIndex } from "./outbox-index.ts";
import { areSameObservations, decideOutcome, type Evidence, type Observations } from "./outcome.ts";
import { parkAll, planPush } from "./plan-push.ts";
import { readMembers, readReceiptEvidence } from "./read-back.ts";
import type { PushAnswer, ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";
import type { Slot } from "./slots.ts";

interface PushState extends Tries {
  readonly push: FrozenPush;
  count: number;
  /**
   * When the last try was sent, at the latest. Until it ends, when it may be sent. It is later than
   * all tries of earlier processes.
   */
  sendBefore: number;
  /** A try was sent, and no commit tells what became of it. */
  isOpen: boolean;
  /** How many of the last tries were rejected as a whole. */
  rejections: number;
  /** A condition of the push can never hold again, so no try can be executed any more. */
  isOver: boolean;
  /** What the last reading of the members has shown, if they must be read again. */
  lastRead: Observations | undefined;
}

/** What a process remembers about a partition from one call of `push` to the next. */
export interface PartitionMemory {
  state: PushState | undefined;
  /** When the last ambiguous insert cannot arrive any more. */
  settledAt: number;
  /** The groups of a push, after a request was rejected as a whole. */
  groupsMax: number;
  readonly index: OutboxIndex;
  /** How many of the last pushes were refused though all members were at their Bases. */
  fruitless: number;
}

export class PartitionPusher {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #partition: Partition;
  readonly #slot: Slot;
  readonly #memory: PartitionMemory;

  constructor(
    context: SyncContext,
    requests: Requests,
    partition: Partition,
    memory: PartitionMemory,
    slot: Slot,
  ) {
    this.#context = context;
    this.#partition = partition;
    this.#memory = memory;
    this.#slot = slot;
    this.#requests = requests.withPause((wait) => slot.pause(wait));
  }

  /** Pushes until nothing is pending, or the process has stopped. */
  async drain(): Promise<void> {
    while (!this.#context.platform.isStopped && (await this.#step()));
  }

  #now(): number {
    return this.#context.platform.now().monotonicMs;
  }

  /** Waits without a slot. */
  #sleep(ms: number): Promise<void> {
    return this.#slot.pause(this.#context.platform.sleep(ms));
  }

  /** One step: sends a push once, shortens the outbox, creates the receipt, or waits. */
  async #step(): Promise<boolean> {
    const { platform, store, rules } = this.#context;
    const { groupsMax, settledAt } = this.#memory;
    const beganAt = this.#now();
    const input = { isSettled: beganAt >= settledAt, token: platform.token(), groupsMax };
    const plan = await store.transact((draft) => planPush(draft, this.#partition, rules, input));
    if (plan.kind === "settling") await this.#sleep(Math.max(0, settledAt - this.#now()));
    if (plan.kind === "receiptMissing") await this.#createReceipt();
    if (plan.kind !== "push") return plan.kind !== "nothing";
    const state = this.#stateOf(plan.push, plan.isNew);
    if (!isSendable(plan.push)) {
      await this.#readBack(state, "notSent");
      return true;
    }
    await this.#claimTry(state, plan.isNew, beganAt);
    await this.#send(state);
    return true;
  }

  async #createReceipt(): Promise<void> {
    const { rules, store } = this.#context;
    const receipt = await createReceipt(this.#context, this.#requests, this.#partition);
    await store.transact((draft) => {
      if ("etag" in receipt) draft.put("receipts", this.#partition, receipt);
      else parkAll(draft, this.#partition, rules.keeps, receipt.refusedWith);
    });
  }

  /**
   * A push is ambiguous from the beginning if an earlier process may have sent it. So is a full
   * batch of a table with receipts, because it has none that would tell whether an answer is that
   * of a second copy, which the network has made.
   */
  #stateOf(push: FrozenPush, isNew: boolean): PushState {
    const { state } = this.#memory;
    if (state?.push.token === push.token) return state;
    const lacksReceipt = this.#context.rules.hasReceipts && push.receipt === undefined;
    const isAmbiguous = isSendable(push) && (!isNew || lacksReceipt);
    const counts = { count: 0, rejections: 0, sendBefore: 0 };
    const next = {
      push,
      ...counts,
      isAmbiguous,
      isOpen: false,
      isOver: false,
      lastRead: undefined,
    };
    this.#memory.state = next;
    return next;
  }

  /**
   * Stores the number of the try before it is sent, so that a process that is no longer the owner
   * cannot send an old push again. It could still be frozen between the two, so the time to send
   * the try is limited, too, from before the commit: `beganAt`. The commit of a new push claims its
   * first try.
   */
  async #claimTry(state: PushState, isNew: boolean, beganAt: number): Promise<void> {
    const { rules, store } = this.#context;
    if (!isNew) {
      await store.transact((draft) => {
        draft.put("tries", this.#partition, (draft.get("tries", this.#partition) ?? 0) + 1);
      });
    }
    await store.stored();
    state.count += 1;
    state.sendBefore = beganAt + rules.sendWithinMs;
  }

  async #send(state: PushState): Promise<void> {
    const { push } = state;
    const { remote, store } = this.#context;
    const sentAt = store.commit;
    // The commit that the answer of an earlier try led to has failed, or there was no answer.
    if (state.isOpen) state.isAmbiguous = true;
    state.isOpen = true;
    const answer = this.#requests.checked<PushAnswer>(await remote.push(push, state.sendBefore));
    // A connection that was slow may have sent it as late as now.
    state.sendBefore = Math.max(state.sendBefore, this.#now());
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
    const { remote, rules } = this.#context;
    const { push } = state;
    const settledAt = state.sendBefore + rules.settleMs;
    const wasOver = state.isOver || this.#now() >= settledAt;
    // Older reads could show the members as they were before the refusal, or before that time.
    if (remote.traits.staleReadMs > 0) await this.#sleep(remote.traits.staleReadMs);
    let evidence = known;
    let etag: string | undefined;
    if (push.receipt && (known === "none" || refusal?.isReceiptRefused)) {
      const receipt = await readReceiptEvidence(this.#context, this.#requests, push, known);
      if (receipt === undefined) return;
      ({ evidence, etag } = receipt);
    }
    const observations = await readMembers(this.#context, this.#requests, push);
    if (observations === undefined) return;
    const outcome = decideOutcome(push, observations, evidence, wasOver);
    const { lastRead } = state;
    state.lastRead = observations;
    if (outcome === "unsettled" || outcome === "readAgain") {
      if (outcome === "readAgain") state.isOver = true;
      else await this.#sleep(Math.max(0, settledAt - this.#now()));
      await this.#readBack(state, known, refusal);
    } else if (
      outcome === "notApplied" &&
      isPartlyEqual(push, observations) &&
      !(lastRead && areSameObservations(lastRead, observations))
    ) {
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
    if (mayArrive) this.#memory.settledAt = settledAt;
    if (outcome === "resend") status.resent += 1;
    if (outcome === "unknown") status.unknownOutcomes += 1;
    const finished = { outcome, observations, policy, rejection, receiptEtag: etag, mayArrive };
    const commit = (by: ConflictPolicy) =>
      store.transact((draft) => {
        finishPush(draft, push, { ...finished, policy: by }, rules.keeps, this.#memory.index);
        this.#requests.clock.store(draft);
      });
    try {
      await commit(policy);
    } catch (error) {
      if (typeof policy === "string" || !isRefusal(error)) throw error;
      await commit(parkedInstead(policy));
    }
    this.#memory.state = undefined;
    this.#limitGroups(push, rejection);
    await this.#slowDown(push, finished);
  }

  /** A remote that refuses what it should accept, as far as reads show, is not asked at once. */
  async #slowDown({ members }: FrozenPush, { outcome, rejection, observations }: FinishedPush) {
    const isAtBases = members.every(({ key, base }) => isAtBase(base, observations.get(key)?.row));
    const isFruitless = outcome === "notApplied" && !rejection && isAtBases;
    this.#memory.fruitless = isFruitless ? this.#memory.fruitless + 1 : 0;
    if (isFruitless) await this.#requests.waitAfter({ kind: "failed" }, this.#memory.fruitless);
  }

  /** Halves the next push after a rejection, and doubles it after a success. */
  #limitGroups({ groups }: FrozenPush, rejection: Rejection | undefined): void {
    if (rejection && rejection.index === undefined) {
      this.#memory.groupsMax = Math.max(1, Math.floor(groups / 2));
    } else this.#memory.groupsMax *= 2;
  }

  /** Asks the application about each conflict. What it cannot answer is parked, not lost. */
  async #policy(push: FrozenPush, observations: Observations): Promise<ConflictPolicy> {
    const { policy } = this.#context.rules;
    if (typeof policy === "string") return policy;
    const answers = new Map<Key, ConflictAnswer>();
    for (const conflict of conflictsOf(push, observations)) {
      const decided = policy(conflict).catch((): ConflictAnswer => ({ kind: "park" }));
      const answer = await this.#slot.pause(decided);
      answers.set(conflict.key, answer);
    }
    return answers;
  }
}

/** Whether the store has refused the content of a commit. Otherwise, the store has failed. */
function isRefusal(error: unknown): boolean {
  const { code, statusCode = 500 } = error as { code?: unknown; statusCode?: number };
  return code === "ValidationFailed" || (statusCode >= 400 && statusCode < 500);
}

/** The application has answered with entities that the store refuses. */
const parkedInstead = (answers: Exclude<ConflictPolicy, string>): ConflictPolicy =>
  new Map([...answers].map(([key, answer]) => [key, parkedUnless(answer)]));

const parkedUnless = (answer: ConflictAnswer): ConflictAnswer =>
  answer.kind === "store" ? { kind: "park" } : answer;
