// Actions, in the order in which they come, sorted into batches that the service takes: of one partition, at most 100 actions and 4 MiB, no entity
// twice. Of one partition, one batch is out at a time, so that its actions are carried out in their order.

import type { TransactionAction } from "../types.ts";
import { estimateActionBytes } from "./action-size.ts";

const batchActionsMax = 100;
const batchBytesMax = 4 * 1024 * 1024 - 4096; // the frame of the request takes some
// Actions of many partitions are kept until their batches are full, within limits.
const bufferedActionsMax = 16_384;
const bufferedBytesMax = 32 * 1024 * 1024;

export interface IndexedAction {
  readonly index: number; // in the input
  readonly action: TransactionAction;
}

interface Batch {
  readonly entries: IndexedAction[];
  readonly rowKeys: Set<string>;
  bytes: number;
}

export interface Partition {
  readonly key: string;
  readonly closed: Batch[];
  open: Batch | undefined;
  isInFlight: boolean;
}

export class BatchQueue {
  readonly #partitions = new Map<string, Partition>();
  readonly #open = new Set<Partition>(); // with an open batch, the oldest first
  readonly #ready = new Set<Partition>(); // with a closed one and none out
  #actions = 0;
  #bytes = 0;

  /** Nothing more should be added until some are taken. */
  get isFull(): boolean {
    return this.#actions >= bufferedActionsMax || this.#bytes >= bufferedBytesMax;
  }

  add(entry: IndexedAction): void {
    const { partitionKey, rowKey } = entry.action[1];
    const partition = this.#partition(partitionKey);
    const bytes = estimateActionBytes(entry.action);
    let { open } = partition;
    if (open !== undefined && (open.bytes + bytes > batchBytesMax || open.rowKeys.has(rowKey))) {
      this.#close(partition);
      open = undefined;
    }
    open ??= { entries: [], rowKeys: new Set(), bytes: 0 };
    open.entries.push(entry);
    open.rowKeys.add(rowKey);
    open.bytes += bytes;
    partition.open = open;
    this.#open.add(partition);
    this.#actions += 1;
    this.#bytes += bytes;
    if (open.entries.length === batchActionsMax) this.#close(partition);
  }

  /** A partition whose next batch may go now; with `early`, also one that is not full. */
  takeNext(
    includePartial: boolean,
  ): { partition: Partition; entries: IndexedAction[] } | undefined {
    for (const partition of includePartial ? this.#open : []) {
      if (this.#ready.size > 0) break;
      this.#close(partition);
    }
    for (const partition of this.#ready) {
      this.#ready.delete(partition);
      partition.isInFlight = true;
      const { entries, bytes } = partition.closed.shift() as Batch;
      this.#actions -= entries.length;
      this.#bytes -= bytes;
      return { partition, entries };
    }
    return undefined;
  }

  /** Its batch is back. */
  finish(partition: Partition): void {
    partition.isInFlight = false;
    if (partition.closed.length > 0) this.#ready.add(partition);
    else if (partition.open === undefined) this.#partitions.delete(partition.key);
  }

  /** What was never taken. */
  *notAttempted(): Iterable<IndexedAction> {
    for (const { closed, open } of this.#partitions.values()) {
      for (const { entries } of closed) yield* entries;
      if (open !== undefined) yield* open.entries;
    }
  }

  #partition(key: string): Partition {
    let partition = this.#partitions.get(key);
    if (partition === undefined) {
      partition = { key, closed: [], open: undefined, isInFlight: false };
      this.#partitions.set(key, partition);
    }
    return partition;
  }

  #close(partition: Partition): void {
    partition.closed.push(partition.open as Batch);
    partition.open = undefined;
    this.#open.delete(partition);
    if (!partition.isInFlight) this.#ready.add(partition);
  }
}
