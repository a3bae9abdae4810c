// Reads a table with `consistent: "partition"`: what changes in a partition is applied in one
// commit (PROTOCOL.md, Whole partitions). Only such a table loads this.

import { applyAnswer } from "./apply-answer.ts";
import type { ConsistentReading, SyncContext } from "./context.ts";
import type { Draft, TableView } from "./draft.ts";
import type { RemoteRow } from "./hidden-tables.ts";
import {
  isReceiptKey,
  type Key,
  type KeyRange,
  type Partition,
  partitionOf,
  partitionRange,
} from "./keys.ts";
import { isUnread, type RowFilter } from "./partition-log.ts";
import type { PlainReading } from "./plain-reading.ts";
import type { ReadAnswer, ScanAnswer } from "./remote.ts";
import type { Requests } from "./requests.ts";
import type { SyncStore } from "./store.ts";

export interface BufferLimits {
  readonly rows: number;
  readonly bytes: number;
}

const limitsDefault: BufferLimits = { rows: 10_000, bytes: 2 ** 22 };
const readingsMax = 5;
const failuresMax = 3; // partitions, until the rest is left for the next time
const refusalsMax = 2; // of one key, until its partition does not wait for it any more
const marksPerStep = 1000;
const partitionsPerStep = 100;
/** An answer of this age is older than everything that the store knows. */
const ageUnknown = -1;

type Rows = ReadonlyMap<Key, RemoteRow | undefined>; // undefined: the entity is absent

/** Of one table. `limits`: of what is read of one partition until it is applied. */
export function consistentReading(
  plain: PlainReading,
  limits: BufferLimits = limitsDefault,
): ConsistentReading {
  const shared = { plain, limits, refusals: new Map<Key, number>() };
  return {
    applyPage: (draft, rows, sentAt, keeps, asked, next) => {
      // The first download is applied as it comes.
      const apply = asked.since === undefined ? plain.applyPage : applyWholePartitions;
      apply(draft, rows, sentAt, keeps, asked, next);
    },
    heldPartitions,
    readPartition: async (context, requests, partition) =>
      (await readTogether({ ...shared, context, requests, partition })) !== "failed",
    readMarked: (context, requests) =>
      readMarked(context, plain, (partition) =>
        readTogether({ ...shared, context, requests, partition }),
      ),
  };
}

// ---- Applying ----------------------------------------------------------------------------------

/**
 * A page shows the partitions within it as they were at one moment. What it has of the first and
 * the last one is marked if other pages may have passed a part of them, at another moment.
 */
const applyWholePartitions: ConsistentReading["applyPage"] = (
  draft,
  rows,
  sentAt,
  keeps,
  { range: { from, to }, token },
  next,
) => {
  const partitions = [...byPartition(rows)];
  expect(
    draft,
    rows.map(({ key }) => key),
  );
  for (const [index, [partition, changed]] of partitions.entries()) {
    const whole = partitionRange(partition);
    const isBegun = token === undefined ? from > whole.from : index === 0;
    const isOpen =
      next === undefined
        ? to !== undefined && to < (whole.to as Key)
        : index === partitions.length - 1;
    applyTogether(draft, changed, isBegun || isOpen ? ageUnknown : sentAt, keeps);
  }
};

/** These keys will be read next. */
function expect(draft: Draft, keys: readonly Key[]): void {
  draft.expect([...keys].sort());
}

function byPartition(
  rows: readonly { readonly key: Key; readonly row: RemoteRow }[],
): Map<Partition, Map<Key, RemoteRow>> {
  const partitions = new Map<Partition, Map<Key, RemoteRow>>();
  for (const { key, row } of rows) {
    if (isReceiptKey(key)) continue;
    const partition = partitionOf(key);
    const ofPartition = partitions.get(partition) ?? new Map<Key, RemoteRow>();
    partitions.set(partition, ofPartition.set(key, row));
  }
  return partitions;
}

/**
 * Applies what one partition had at one moment: all of it or nothing, but for keys that are dirty.
 * `left`: marked keys of which the remote tells nothing. Returns false if it only has marked them.
 */
function applyTogether(
  draft: Draft,
  rows: Rows,
  sentAt: number,
  keeps: RowFilter,
  left: ReadonlySet<Key> = new Set(),
): boolean {
  const isHeld =
    sentAt === ageUnknown || heldPartitions(draft, [...rows], () => sentAt, keeps, left).size > 0;
  for (const [key, row] of rows) applyAnswer(draft, key, row, isHeld ? ageUnknown : sentAt, keeps);
  return !isHeld;
}

/**
 * Returns the partitions of which these changes cannot all be applied: a key was touched since its
 * answer was asked for, or another one is marked, so that its change is not among these.
 */
function heldPartitions(
  draft: Draft,
  changes: readonly (readonly [Key, RemoteRow | undefined])[],
  sentAtOf: (key: Key) => number,
  keeps: RowFilter,
  left: ReadonlySet<Key> = new Set(),
): Set<Partition> {
  const trial = draft.trial();
  const held = new Set<Partition>();
  const changed = new Set(left);
  for (const [key, row] of changes) {
    changed.add(key);
    const applied = applyAnswer(trial, key, row, sentAtOf(key), keeps);
    if (applied === "marked" && isReadable(draft, key)) held.add(partitionOf(key));
  }
  for (const partition of new Set(changes.map(([key]) => partitionOf(key)))) {
    const { from, to } = partitionRange(partition);
    for (const [key] of draft.entries("marks", from, to)) {
      if (!changed.has(key) && isReadable(draft, key)) held.add(partition);
    }
  }
  return held;
}

/** A dirty key is not: it shows what was written here until its push has brought the news. */
const isReadable = (view: TableView, key: Key): boolean =>
  view.get("bases", key) === undefined || isUnread(view, key);

// ---- Reading -----------------------------------------------------------------------------------

interface Reading {
  readonly context: SyncContext;
  readonly requests: Requests;
  readonly partition: Partition;
  readonly plain: PlainReading;
  readonly limits: BufferLimits;
  /** How often keys could not be read although the remote answered other requests. */
  readonly refusals: Map<Key, number>;
}

/** What was applied. "partly": but for keys of which the remote refuses to tell anything. */
type Extent = "wholly" | "partly" | "failed";

async function readTogether(reading: Reading): Promise<Extent> {
  const { context, requests } = reading;
  const { rules, store } = context;
  for (let readings = 0; readings < readingsMax; ++readings) {
    const sentAt = await requests.beginRead();
    const read = await readMoment(reading);
    if (read === "failed") return "failed";
    if (read === "tooLarge") return await readInPages(reading);
    if (read === "changed") continue;
    const isApplied = await store.transact((draft) => {
      requests.clock.store(draft);
      expect(draft, [...read.rows.keys()]);
      return applyTogether(draft, read.rows, sentAt, rules.keeps, read.left);
    });
    if (isApplied) return read.isPart ? "partly" : "wholly";
  }
  // It is written all the time.
  await requests.waitAfter({ kind: "failed" }, readingsMax);
  return "failed";
}

interface Moment {
  readonly rows: Rows;
  readonly left: ReadonlySet<Key>;
  /** Some of `left` could not be read, and perhaps can be later. */
  readonly isPart: boolean;
}

/**
 * Reads what has changed in the partition, and the marked keys that are not among it. One page is
 * of one moment. More are if they are the same when they are read again: then all of it was there
 * between the two readings. Cosmos DB does not say that a page is, so it is read twice, too.
 */
async function readMoment(reading: Reading): Promise<Moment | "failed" | "tooLarge" | "changed"> {
  const { context, partition, refusals } = reading;
  const { hasTimestampFilter, staleReadMs } = context.remote.traits;
  const scanned = await readChanges(reading);
  if (typeof scanned === "string") return scanned;
  const marked = await markedKeys(context, partition);
  const unseen = marked.filter((key) => !scanned.rows.has(key));
  const single = await readKeys(reading, unseen);
  if (scanned.pages > 1 || unseen.length > 0 || !hasTimestampFilter) {
    await context.platform.sleep(staleReadMs);
    const again = await readChanges(reading);
    if (typeof again === "string") return again;
    if (!haveSameVersions(scanned.rows, again.rows)) return "changed";
  }
  for (const key of single.refused) refusals.set(key, (refusals.get(key) ?? 0) + 1);
  const isWaiting = single.refused.some((key) => (refusals.get(key) as number) < refusalsMax);
  if (isWaiting) return "failed";
  return {
    rows: new Map([...scanned.rows, ...single.rows]),
    left: new Set([...single.forbidden, ...single.refused]),
    isPart: single.refused.length > 0,
  };
}

/** Reads keys one by one: only so is it known that an entity is absent. */
async function readKeys(reading: Reading, keys: readonly Key[]) {
  const { plain, refusals } = reading;
  const rows = new Map<Key, RemoteRow | undefined>();
  const forbidden: Key[] = [];
  const refused: Key[] = [];
  const read = async (key: Key) => {
    const answer = await readKey(reading, key);
    if (answer.kind === "found") rows.set(key, answer.row);
    else if (answer.kind === "absent") rows.set(key, undefined);
    else if (answer.kind === "forbidden") forbidden.push(key);
    else refused.push(key);
    return true;
  };
  await plain.allEnded(plain.someAtOnce(keys, read));
  for (const key of rows.keys()) refusals.delete(key);
  return { rows, forbidden, refused };
}

const readKey = ({ context, requests }: Reading, key: Key) =>
  requests.tried<ReadAnswer>(() => context.remote.read(key));

function haveSameVersions(a: ReadonlyMap<Key, RemoteRow>, b: ReadonlyMap<Key, RemoteRow>): boolean {
  return a.size === b.size && [...a].every(([key, { etag }]) => b.get(key)?.etag === etag);
}

/**
 * Reads the rows of the partition with a new Timestamp; if the remote cannot tell, all of them.
 * During the first download, no rows: it brings them.
 */
async function readChanges({ context, requests, partition, plain, limits }: Reading) {
  const { remote, rules, store } = context;
  const range = partitionRange(partition);
  const rows = new Map<Key, RemoteRow>();
  let since: bigint | undefined;
  if (remote.traits.hasTimestampFilter) {
    since = await store.read((view) => plain.sinceOf(view, range, rules.ranges, rules.overlapMs));
    if (since === undefined) return { rows, pages: 0 };
  }
  const request = { range, since, keysOnly: false, isFiltered: rules.sendsFilter };
  let bytes = 0;
  let pages = 0;
  for (let token: string | undefined; ; ) {
    const answer = await requests.tried<ScanAnswer>(() => remote.scan({ ...request, token }));
    if (answer.kind !== "page") return "failed";
    pages += 1;
    bytes += answer.bytes ?? 0;
    for (const { key, row } of answer.rows) if (!isReceiptKey(key)) rows.set(key, row);
    if (rows.size > limits.rows || bytes > limits.bytes) return "tooLarge";
    token = answer.token;
    if (token === undefined) return { rows, pages };
  }
}

/** What has changed is too much for one commit: it is applied as it comes. */
async function readInPages(reading: Reading): Promise<Extent> {
  const { context, partition, plain, requests } = reading;
  const { remote, rules, store } = context;
  const isScanned =
    !remote.traits.hasTimestampFilter || (await plain.scanPartition(context, requests, partition));
  if (!isScanned) return "failed";
  const keys = await markedKeys(context, partition);
  const sentAt = await requests.beginRead();
  const { rows, refused } = await readKeys(reading, keys);
  await store.transact((draft) => {
    for (const [key, row] of rows) applyAnswer(draft, key, row, sentAt, rules.keeps);
  });
  return refused.length > 0 ? "partly" : "wholly";
}

// ---- Marks -------------------------------------------------------------------------------------

/** Reads the partitions that have marked keys. Resolves to whether all of them could be read. */
async function readMarked(
  { store }: SyncContext,
  { allEnded, someAtOnce }: PlainReading,
  readPartition: (partition: Partition) => Promise<Extent>,
): Promise<boolean> {
  let failures = 0;
  let areAllRead = true;
  const isRead = async (partition: Partition): Promise<boolean> => {
    if (failures >= failuresMax) return false;
    const extent = await readPartition(partition);
    if (extent === "failed") failures += 1;
    return extent === "wholly";
  };
  for (let from: Key | undefined = ""; from !== undefined; ) {
    const marked = await markedPartitions(store, from);
    if (!(await allEnded(someAtOnce(marked.partitions, isRead)))) areAllRead = false;
    if (failures >= failuresMax) return false;
    from = marked.next;
  }
  return areAllRead;
}

/** Returns the first partitions with marked keys that are to be read, and where to continue. */
async function markedPartitions(store: SyncStore, first: Key) {
  const partitions: Partition[] = [];
  let next: Key | undefined = first;
  while (next !== undefined && partitions.length < partitionsPerStep) {
    const from: Key = next;
    const marked = await store.read((view) => someMarkedKeys(view, { from }, 1));
    const [key] = marked.keys;
    next = marked.next;
    if (key === undefined) continue;
    partitions.push(partitionOf(key));
    next = partitionRange(partitionOf(key)).to;
  }
  return { partitions, next };
}

async function markedKeys({ store }: SyncContext, partition: Partition): Promise<Key[]> {
  const { from: first, to } = partitionRange(partition);
  const all: Key[] = [];
  for (let from: Key | undefined = first; from !== undefined; ) {
    const range: KeyRange = { from, to };
    const { keys, next } = await store.read((view) =>
      someMarkedKeys(view, range, Number.POSITIVE_INFINITY),
    );
    for (const key of keys) all.push(key);
    from = next;
  }
  return all;
}

/** Returns the first marked keys that are to be read, at most `most`, and where to continue. */
function someMarkedKeys(view: TableView, { from, to }: KeyRange, most: number) {
  const keys: Key[] = [];
  let count = 0;
  for (const [key] of view.entries("marks", from, to)) {
    if (count === marksPerStep || keys.length === most) return { keys, next: key };
    count += 1;
    if (isReadable(view, key)) keys.push(key);
  }
  return { keys, next: undefined };
}
