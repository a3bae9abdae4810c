// Where the operations of each key of a partition are in the outbox. So a push that is settled
// reads its own operations and those of its keys, not all that come after it.

import { operationsPerCommit, type TableView } from "./draft.ts";
import type { FrozenPush, OutboxOp } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { outboxKey, readOutbox } from "./partition-log.ts";

const laterMax = 200; // that are read one by one

export class OutboxIndex {
  /** Rising. Operations that have left the outbox stay here. */
  readonly #numbers = new Map<Key, number[]>();
  readonly #numbersMax: number;
  #count = 0;
  /** Operations from this number on were not read. Undefined: none was read. */
  #unread: number | undefined;

  /** `numbersMax`: how many are kept. */
  constructor(numbersMax = 10_000) {
    this.#numbersMax = numbersMax;
  }

  /** `ops`: all of the partition. */
  fill(view: TableView, ops: Iterable<OutboxOp>): void {
    this.#numbers.clear();
    this.#count = 0;
    this.#add(view, ops);
  }

  #add(view: TableView, ops: Iterable<OutboxOp>): void {
    for (const { key, number } of ops) {
      const numbers = this.#numbers.get(key);
      if (numbers === undefined) this.#numbers.set(key, [number]);
      else numbers.push(number);
      this.#count += 1;
    }
    this.#unread = (view.commit + 1) * operationsPerCommit;
  }

  /**
   * Returns the operations of the push, and the later ones of its keys, in order. Undefined: read
   * all of the partition instead, because none was read yet, or these are many. REQUIRES: the view
   * has the outbox as it was committed.
   */
  opsOf(view: TableView, push: FrozenPush): OutboxOp[] | undefined {
    if (this.#unread === undefined || this.#count > this.#numbersMax) return undefined;
    const { partition, upTo } = push;
    this.#add(view, readOutbox(view, partition, { from: outboxKey(partition, this.#unread) }));
    const later = [...push.members.map(({ key }) => key), ...push.idleKeys]
      .flatMap((key) => this.#numbers.get(key) as number[])
      .filter((number) => number > upTo)
      .sort((a, b) => a - b);
    if (later.length > laterMax) return undefined;
    const ofPush = readOutbox(view, partition, { to: outboxKey(partition, upTo + 1) });
    return [
      ...ofPush,
      ...later.flatMap((number) => view.get("outbox", outboxKey(partition, number)) ?? []),
    ];
  }
}
