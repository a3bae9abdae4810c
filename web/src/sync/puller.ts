// Brings the changes of a remote table into the local store, key range by key range: scans by
// Timestamp (delta.ts), comparisons of all versions (census.ts), and reads of what is marked.

import { Census } from "./census.ts";
import type { SyncContext } from "./context.ts";
import { Deletes } from "./deletes.ts";
import { scanDelta } from "./delta.ts";
import type { KeyRange, Partition } from "./keys.ts";
import { scanPartition } from "./partition-scan.ts";
import { readMarked } from "./read-marked.ts";
import type { Requests } from "./requests.ts";
import { allEnded, someAtOnce } from "./some-at-once.ts";

/** How far a pull or a comparison has come. */
export interface Pulled {
  /** All ranges were read. */
  readonly isScanned: boolean;
  /** All marked keys were read, too. A proxy may always refuse a single one of them. */
  readonly areMarksRead: boolean;
}

export class Puller {
  readonly #context: SyncContext;
  readonly #requests: Requests;
  readonly #census: Census;
  readonly deletes: Deletes;

  constructor(context: SyncContext, requests: Requests) {
    this.#context = context;
    this.#requests = requests;
    this.deletes = new Deletes(context, requests);
    this.#census = new Census(context, requests, this.deletes);
  }

  /** Reads what changed, if the remote can tell, and every key that is marked. */
  async pull(): Promise<Pulled> {
    const { remote, rules } = this.#context;
    let isScanned = true;
    if (remote.traits.hasTimestampFilter) {
      const scan = (range: KeyRange) => scanDelta(this.#context, this.#requests, range);
      isScanned = await allEnded(someAtOnce(rules.ranges, scan));
    }
    return { isScanned, areMarksRead: await this.readMarked() };
  }

  /** Reads what changed in one partition, which another client has named. */
  pullPartition(partition: Partition): Promise<boolean> {
    const read = this.#context.rules.consistent?.readPartition ?? scanPartition;
    return read(this.#context, this.#requests, partition);
  }

  /**
   * Compares all versions of the ranges. Finds deletes, and what scans by Timestamp have missed.
   */
  async census(
    ranges: readonly KeyRange[] = this.#context.rules.ranges,
    isAnew = false,
  ): Promise<Pulled> {
    const scan = (range: KeyRange) => this.#census.scan(range, isAnew);
    const isScanned = await allEnded(someAtOnce(ranges, scan));
    return { isScanned, areMarksRead: await this.readMarked() };
  }

  /** Returns whether every key that is marked could be read, but for dirty ones. */
  readMarked(): Promise<boolean> {
    const read = this.#context.rules.consistent?.readMarked ?? readMarked;
    return read(this.#context, this.#requests);
  }
}
