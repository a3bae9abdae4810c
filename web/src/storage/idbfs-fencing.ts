// Fencing in IndexedDB (FENCING.md): what this owner knows of the log, and the checks that reject
// its writes once another owner has claimed the log.

import { freeBytes } from "../util/free-bytes.ts";
import { contentsOf, equalContents, type IdbfsEntries } from "./idbfs-entries.ts";
import { type LogSummary, readSegments } from "./idbfs-log-reader.ts";
import { ignorableResult, requestResult } from "./idbfs-transaction.ts";
import { fencedError, manifestName, segmentName } from "./log-storage.ts";

const claimsKept = 8; // how many of the last claims a checkpoint keeps
const ownershipFreshMs = 1000; // how long ownership needs no check after a segment was stored

// Returns whether this owner still owned the log. Called after the transaction completed.
export type OwnershipCheck = () => boolean | Promise<boolean>;

export class IdbfsFencing {
  readonly #entries: IdbfsEntries;
  // The timestamp, in ms, of the manifest that was loaded or last committed. Each manifest has a
  // later one than the manifest before, so the timestamp identifies the manifest.
  #manifestTime: number | undefined;
  // That of the last commitManifest(), which may be stored even if the call failed.
  #attemptedTime: number | undefined;
  #coveredBelow = 1; // these two manifests cover the segments below this number
  #last = 0; // the newest segment that was loaded or added
  #claims: number[] = []; // the segments by which owners claimed the log, ascending
  // The segments that were covered when the log was loaded, and those of them that are kept as
  // history. `#claims` lacks the claims among them. Undefined: `#claims` is complete.
  #covered: { below: number; historyFrom: number } | undefined;
  #claimed = false; // the last of `#claims` is ours
  // The last time at which the log was certainly ours: the start of the last addition of a segment
  // on this connection.
  #lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  readonly #adding = new Map<number, Uint8Array>(); // segments that are being added

  constructor(entries: IdbfsEntries) {
    this.#entries = entries;
  }

  // Whether this owner has claimed the log.
  get hasClaimed(): boolean {
    return this.#claimed;
  }

  // The newest segment that was loaded or added.
  get lastSegment(): number {
    return this.#last;
  }

  // ---- What this owner knows of the log ---------------------------------------------------------

  onLoaded(log: LogSummary): void {
    this.#manifestTime = log.manifestTime;
    this.#attemptedTime = undefined;
    this.#coveredBelow = log.first;
    this.#last = log.last;
    this.#claims = log.claims;
    this.#covered = { below: log.first, historyFrom: log.historyFrom };
    this.#claimed = false;
    this.#lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  }

  // Segments are being added, until endAdding().
  beginAdding(sequence: number, segments: readonly Uint8Array[]): void {
    for (const [i, bytes] of segments.entries()) this.#adding.set(sequence + i, bytes);
  }

  endAdding(sequence: number, count: number): void {
    for (let i = 0; i < count; ++i) this.#adding.delete(sequence + i);
  }

  // Called when segments are stored. `isClaim`: the first of them is this owner's claim.
  onAdded(sequence: number, count: number, isClaim: boolean): void {
    this.#last = Math.max(this.#last, sequence + count - 1);
    if (isClaim) this.#claims.push(sequence);
    this.#claimed = true;
  }

  // A manifest is about to be committed. It covers the segments below `segmentsBelow`. Returns its
  // timestamp.
  beginManifest(segmentsBelow: number): Date {
    const before = Math.max(this.#manifestTime ?? 0, this.#attemptedTime ?? 0);
    this.#attemptedTime = Math.max(Date.now(), before + 1);
    this.#coveredBelow = Math.max(this.#coveredBelow, segmentsBelow);
    return new Date(this.#attemptedTime);
  }

  // `timestamp`: of the stored manifest, in ms.
  onManifestCommitted(timestamp: number): void {
    this.#manifestTime = timestamp;
    this.#attemptedTime = undefined;
  }

  // The log was certainly ours at `time`, in monotonic ms. Minus infinity: this is not known.
  noteOwnedAt(time: number): void {
    this.#lastKnownOwnedAt = time;
  }

  onConnectionLost(): void {
    // The next connection may be to another database of the same name.
    this.#lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  }

  // ---- The claims that a checkpoint keeps -------------------------------------------------------

  // Adds the claims among the covered segments to `#claims`. Nothing else is left before the
  // history but the fence post. Called only before segments are deleted, because Chromium iterates
  // over all deleted entries in the range.
  async findOldClaims(files: IDBObjectStore): Promise<void> {
    const covered = this.#covered;
    if (covered === undefined) return;
    const { below, historyFrom } = covered;
    const old = await this.#entries.numbers(files, "wal-", 1, historyFrom);
    if (historyFrom < below) {
      const history = { first: historyFrom, end: below };
      const { claims } = await readSegments(this.#entries, files, history, (_, bytes) => {
        if (bytes !== undefined) freeBytes(bytes);
        return true;
      });
      old.push(...claims);
    }
    if (this.#covered !== covered) return; // another attempt found them
    this.#covered = undefined;
    this.#claims.unshift(...old);
  }

  // Returns the key ranges of all segments below a number, except the last claims. Segment 1 is
  // always included, even if it is a claim: it fences no owner that has stored a segment, and
  // without it the kept claims can't look like a log without a manifest.
  deletableSegmentRanges(below: number): IDBKeyRange[] {
    const covered = this.#claims.filter((sequence) => 1 < sequence && sequence < below);
    const kept = covered.slice(-claimsKept);
    const ranges: IDBKeyRange[] = [];
    let first = 1;
    for (const end of [...kept, below]) {
      const [from, to] = [this.#segmentPath(first), this.#segmentPath(end)];
      if (from < to) ranges.push(IDBKeyRange.bound(from, to, false, true));
      first = end + 1;
    }
    return ranges;
  }

  // ---- Checks -----------------------------------------------------------------------------------

  // Throws if another owner has committed a manifest, or has used the number of this claim. Makes
  // its requests at once.
  async requireUnclaimed(files: IDBObjectStore, sequence: number): Promise<void> {
    const path = this.#segmentPath(sequence);
    const ours = this.requireOurManifest(files);
    const there = sequence > this.#last ? requestResult(files.getKey(path)) : undefined;
    // Another tab that loaded the same log adds an equal claim, so comparing bytes would not help.
    const [, taken] = await Promise.all([ours, there]);
    if (taken !== undefined) throw fencedError(path);
  }

  // Returns whether a segment may skip the ownership check, which costs time. A new owner's claim
  // would have the next number, and checkpoints keep the last claims. Only an owner that was
  // suspended during more than `claimsKept` claims would miss them. After a suspension the last
  // segment is not recent, so the check is made.
  isOwnershipFresh(now: number): boolean {
    return now - this.#lastKnownOwnedAt < ownershipFreshMs;
  }

  // Requests the entry that shows whether another owner continued the log and then removed, with a
  // checkpoint, the segment that would fence this owner. Such a checkpoint also removed the
  // preceding segment. If that segment is unknown, covered or a kept claim, it proves nothing, and
  // the manifest is compared. The result may arrive after the transaction ended.
  startOwnershipCheck(files: IDBObjectStore, sequence: number): OwnershipCheck {
    const before = sequence - 1;
    const removable = before >= this.#coveredBelow && !this.#claims.includes(before);
    if (before === this.#last && removable) {
      const there = ignorableResult(files.getKey(this.#segmentPath(before)));
      return async () => (await there) !== undefined;
    }
    const ours = this.#isManifestOurs(files);
    ours.catch(() => {}); // the transaction reports a failure too
    return () => ours;
  }

  // Reads no manifest: it may be large, and every part is checked. Makes its requests at once.
  async #isManifestOurs(files: IDBObjectStore): Promise<boolean> {
    const checks = [this.#manifestTime, this.#attemptedTime]
      .filter((time) => time !== undefined)
      .map((time) => this.#entries.hasTimestamp(files, manifestName, time));
    if (this.#manifestTime === undefined) checks.push(this.#hasNoManifest(files));
    return (await Promise.all(checks)).includes(true);
  }

  async #hasNoManifest(files: IDBObjectStore): Promise<boolean> {
    const key = await requestResult(files.getKey(this.#entries.path(manifestName)));
    return key === undefined;
  }

  async requireOurManifest(files: IDBObjectStore): Promise<void> {
    if (!(await this.#isManifestOurs(files))) throw fencedError(manifestName);
  }

  // Throws, which aborts the transaction, if there are segments that were neither loaded nor added
  // here. A segment in `#adding` may be stored already.
  async requireOwner(files: IDBObjectStore): Promise<void> {
    await this.requireOurManifest(files);
    for (const sequence of await this.#entries.numbers(files, "wal-", this.#last + 1)) {
      const ours = this.#adding.get(sequence);
      const there = contentsOf(await requestResult(files.get(this.#segmentPath(sequence))));
      const known = sequence <= this.#last || (ours !== undefined && equalContents(there, ours));
      if (!known) throw fencedError(segmentName(sequence));
    }
  }

  #segmentPath(sequence: number): string {
    return this.#entries.path(segmentName(sequence));
  }
}
