// Sends the pending operations of a table, several partitions at once.

import type { SyncContext } from "./context.ts";
import type { Partition } from "./keys.ts";
import { OutboxIndex } from "./outbox-index.ts";
import { type PartitionMemory, PartitionPusher } from "./partition-pusher.ts";
import { forgetSettled, pendingPartitions } from "./plan-push.ts";
import type { Requests } from "./requests.ts";
import { Slots } from "./slots.ts";

export class Pusher {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #onFailure: (error: unknown) => void;
  readonly #slots: Slots;
  readonly #running = new Map<Partition, Promise<void>>();
  readonly #memories = new Map<Partition, PartitionMemory>();
  /** When no request of an earlier process can arrive any more. */
  readonly #settledAt: number;
  #forgottenAt = 0;

  /**
   * `onFailure` is called when the store has failed while a partition was pushed, also if no call
   * of `push` waits: call it again, later.
   */
  constructor(
    context: SyncContext,
    requests: Requests,
    onFailure: (error: unknown) => void = () => {},
  ) {
    this.#context = context;
    this.#requests = requests;
    this.#onFailure = onFailure;
    const { pushesAtOnce, sendWithinMs, settleMs } = context.rules;
    this.#slots = new Slots(pushesAtOnce, () => this.#fillLater());
    this.#settledAt = this.#now() + sendWithinMs + settleMs;
  }

  #now(): number {
    return this.#context.platform.now().monotonicMs;
  }

  /**
   * Pushes what is pending, and what becomes pending meanwhile. Resolves when no partition is
   * pushed any more. Rejects when the store fails: that push is then continued by the next call. A
   * partition that waits does not stop the others, so call it again, without waiting, when there is
   * more to push.
   */
  async push(): Promise<void> {
    await this.#forgetSettled();
    await this.pushMore();
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** What no insert can reach any more leaves nothing behind in the store. */
  async #forgetSettled(): Promise<void> {
    const times = [...this.#memories.values()].map(({ settledAt }) => settledAt);
    const latest = Math.max(this.#settledAt, ...times);
    if (latest === this.#forgottenAt || this.#now() < latest) return;
    await this.#context.store.transact((draft) => forgetSettled(draft, { from: "" }));
    this.#forgottenAt = latest;
  }

  /**
   * Starts to push what has become pending meanwhile, as far as slots are free, and does not wait
   * for its end. Rejects when the store fails.
   */
  async pushMore(): Promise<void> {
    const { platform, rules, store } = this.#context;
    if (!this.#slots.hasFree || platform.isStopped) return;
    const most = this.#running.size + rules.pushesAtOnce;
    const pending = await store.read((view) => pendingPartitions(view, most));
    for (const partition of pending) {
      if (!this.#slots.hasFree) return;
      if (!this.#running.has(partition)) this.#start(partition);
    }
  }

  /** Fills slots outside of a call. If the store fails, the next call reports it. */
  #fillLater(): void {
    this.pushMore().catch(() => {});
  }

  #start(partition: Partition): void {
    const memory = this.#memoryOf(partition);
    const pushed = this.#slots.run((slot) =>
      new PartitionPusher(this.#context, this.#requests, partition, memory, slot).drain(),
    );
    const done = pushed.finally(() => {
      this.#running.delete(partition);
      this.#forget(partition, memory);
    });
    this.#running.set(partition, done);
    done.then(() => this.#fillLater(), this.#onFailure);
  }

  #memoryOf(partition: Partition): PartitionMemory {
    let memory = this.#memories.get(partition);
    if (memory === undefined) {
      const { POSITIVE_INFINITY: groupsMax } = Number;
      const index = new OutboxIndex();
      memory = { state: undefined, settledAt: this.#settledAt, groupsMax, index, fruitless: 0 };
      this.#memories.set(partition, memory);
    }
    return memory;
  }

  #forget(partition: Partition, { state, settledAt, groupsMax }: PartitionMemory): void {
    const isSettled = settledAt <= Math.max(this.#now(), this.#settledAt);
    if (state === undefined && isSettled && groupsMax > limitForgotten) {
      this.#memories.delete(partition);
    }
  }
}

const limitForgotten = 100; // groups: a batch has no more
