// Brings the changes of a remote table into the local store, key range by key range: scans by
// Timestamp (delta.ts), comparisons of all versions (census.ts), and reads of single entities.

import { applyAnswer } from "./apply-answer.ts";
import { Census } from "./census.ts";
import type { SyncContext } from "./context.ts";
import { Deletes } from "./deletes.ts";
import { scanDelta } from "./delta.ts";
import type { TableView } from "./draft.ts";
import type { Key, KeyRange, Partition } from "./keys.ts";
import { isUnread } from "./partition-log.ts";
import { scanPartition } from "./partition-scan.ts";
import type { ReadAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";

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
    return scanPartition(this.#context, this.#requests, partition);
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

  /**
   * Reads every key that is marked, but for dirty ones: their push brings the news itself, or
   * leaves the key marked. Returns whether all of them could be read.
   */
  async readMarked(): Promise<boolean> {
    let failures = 0;
    for (let from: Key | undefined = ""; from !== undefined; ) {
      const first: Key = from;
      const { keys, next } = await this.#context.store.read((view) => markedKeys(view, first));
      for (const key of keys) {
        if (!(await this.#read(key))) failures += 1;
        if (failures === failuresMax) return false;
      }
      from = next;
    }
    return failures === 0;
  }

  /** Returns false if the remote cannot be reached. */
  async #read(key: Key): Promise<boolean> {
    const { remote, rules, store } = this.#context;
    const sentAt = await this.#requests.beginRead();
    const answer = await this.#requests.tried<ReadAnswer>(() => remote.read(key));
    if (answer.kind === "failed" || answer.kind === "unauthorized") return false;
    if (answer.kind !== "found" && answer.kind !== "absent") return true; // never deletes
    const row = answer.kind === "found" ? answer.row : undefined;
    await store.transact((draft) => {
      applyAnswer(draft, key, row, sentAt, rules.keeps);
      this.#requests.clock.store(draft);
    });
    return true;
  }
}

const rangesAtOnce = 8;
const failuresMax = 3; // keys, until the rest is left for the next time
const marksPerStep = 1000;

/** Returns the marked keys that are not dirty, and where to continue. */
function markedKeys(view: TableView, from: Key): { keys: Key[]; next: Key | undefined } {
  const keys: Key[] = [];
  let count = 0;
  for (const [key] of view.entries("marks", from)) {
    if (count === marksPerStep) return { keys, next: key };
    count += 1;
    if (view.get("bases", key) === undefined || isUnread(view, key)) keys.push(key);
  }
  return { keys, next: undefined };
}

/** Reads each range as soon as the one some places before it has ended. */
function someAtOnce(
  ranges: readonly KeyRange[],
  read: (range: KeyRange) => Promise<boolean>,
): readonly Promise<boolean>[] {
  const results: Promise<boolean>[] = [];
  for (const [index, range] of ranges.entries()) {
    const readNext = () => read(range);
    results.push(results[index - rangesAtOnce]?.then(readNext, readNext) ?? readNext());
  }
  return results;
}

/**
 * Returns whether all have returned true. Returns or rejects when all have ended, so that none is
 * still running when the next begins.
 */
async function allEnded(work: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.every((result) => result.status === "fulfilled" && result.value);
}
