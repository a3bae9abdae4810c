// Where the operations of each key of a partition are in the outbox. So a push that is settled
// reads its own operations and those of its keys, not all that come after it.

import { operationsPerCommit, type TableView } from "./draft.ts";
import type { FrozenPush, OutboxOp } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { outboxKey, readOutbox } from "./partition-log.ts";

export class OutboxIndex {
  /** Rising. Operations that have left the outbox stay here. */
  readonly #numbers = new Map<Key, number[]>();
  /** Operations from this number on were not read. Those that are added are among them. */
  #unread: number | undefined;

  /** `ops`: all of the partition, or with an earlier call, all that it has not read. */
  note(view: TableView, ops: Iterable<OutboxOp>): void {
    for (const { key, number } of ops) {
      const numbers = this.#numbers.get(key);
      if (numbers === undefined) this.#numbers.set(key, [number]);
      else if ((numbers.at(-1) as number) < number) numbers.push(number);
    }
    this.#unread = (view.commit + 1) * operationsPerCommit;
  }

  /**
   * Returns the operations of the push, and the later ones of its keys, in order. Undefined: none
   * was noted yet. REQUIRES: the view has the outbox as it was committed.
   */
  opsOf(view: TableView, push: FrozenPush): OutboxOp[] | undefined {
    if (this.#unread === undefined) return undefined;
    const { partition, upTo } = push;
    this.note(view, readOutbox(view, partition, { from: outboxKey(partition, this.#unread) }));
    const later = [...push.members.map(({ key }) => key), ...push.idleKeys]
      .flatMap((key) => this.#numbers.get(key) as number[])
      .filter((number) => number > upTo)
      .sort((a, b) => a - b)
      .flatMap((number) => view.get("outbox", outboxKey(partition, number)) ?? []);
    const ofPush = readOutbox(view, partition, { to: outboxKey(partition, upTo + 1) });
    return [...ofPush, ...later];
  }
}
