// Groups actions (single writes) into batches that the service accepts as transactions: one
// partition, at most 100 actions and 4 MiB, no entity twice. A partition has at most one batch in
// flight, so that its actions run in order.

import type { TransactionAction } from "../types.ts";
import { estimateActionBytes } from "./action-size.ts";

const batchActionsMax = 100;
const batchBytesMax = 4 * 1024 * 1024 - 4096; // the rest is for the request's multipart boundaries
// Limits on the actions that are buffered until their batches are full.
const bufferedActionsMax = 16_384;
const bufferedBytesMax = 32 * 1024 * 1024;

interface Entry {
  readonly action: TransactionAction;
}

interface Batch<E> {
  readonly entries: E[];
  readonly rowKeys: Set<string>;
  bytes: number;
}

export interface Partition<E> {
  readonly key: string;
  readonly closed: Batch<E>[];
  open: Batch<E> | undefined;
  isInFlight: boolean;
}

export class BatchQueue<E extends Entry> {
  readonly #partitions = new Map<string, Partition<E>>();
  readonly #open = new Set<Partition<E>>(); // partitions with an open batch, oldest first
  readonly #ready = new Set<Partition<E>>(); // partitions with a closed batch and none in flight
  #actions = 0;
  #bytes = 0;

  /** Whether the buffer is full. The caller must then take batches before it adds more actions. */
  get isFull(): boolean {
    return this.#actions >= bufferedActionsMax || this.#bytes >= bufferedBytesMax;
  }

  add(entry: E): void {
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

  /**
   * Removes and returns a batch that may be sent now, with its partition. Returns undefined if
   * there is none. `includePartial` allows batches that are not full; they are returned only if no
   * full batch is ready.
   */
  takeNext(includePartial: boolean): { partition: Partition<E>; entries: E[] } | undefined {
    for (const partition of includePartial ? this.#open : []) {
      if (this.#ready.size > 0) break;
      this.#close(partition);
    }
    for (const partition of this.#ready) {
      this.#ready.delete(partition);
      partition.isInFlight = true;
      const { entries, bytes } = partition.closed.shift() as Batch<E>;
      this.#actions -= entries.length;
      this.#bytes -= bytes;
      return { partition, entries };
    }
    return undefined;
  }

  /** Must be called when the batch that takeNext() returned for this partition has ended. */
  finishBatch(partition: Partition<E>): void {
    partition.isInFlight = false;
    if (partition.closed.length > 0) this.#ready.add(partition);
    else if (partition.open === undefined) this.#partitions.delete(partition.key);
  }

  /** Returns the actions that were never sent. */
  *notAttempted(): Iterable<E> {
    for (const { closed, open } of this.#partitions.values()) {
      for (const { entries } of closed) yield* entries;
      if (open !== undefined) yield* open.entries;
    }
  }

  #partition(key: string): Partition<E> {
    let partition = this.#partitions.get(key);
    if (partition === undefined) {
      partition = { key, closed: [], open: undefined, isInFlight: false };
      this.#partitions.set(key, partition);
    }
    return partition;
  }

  #close(partition: Partition<E>): void {
    partition.closed.push(partition.open as Batch<E>);
    partition.open = undefined;
    this.#open.delete(partition);
    if (!partition.isInFlight) this.#ready.add(partition);
  }
}
