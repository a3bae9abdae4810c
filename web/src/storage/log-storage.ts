// The contract of log storage. Memory, IndexedDB and Node files implement it; the suite
// tests/web/support/storage-contract.ts tests every implementation. core/log/FORMAT.md describes
// the files:
//
//   wal-<sequence>   a segment, one per group commit; added, never overwritten
//   part-<id>        a checkpoint part; immutable
//   manifest         names the parts and the first segment that they do not cover
//
// In Node, the names of manifests and parts also have numbers (log-folder.ts).
//
// When a promise resolves:
//
//   addSegments      all segments are stored, atomically. "relaxed" segments survive the end of the
//                    process, "strict" segments also a power failure.
//   putPart          the part is stored completely. It is unused until a manifest names it.
//   commitManifest   the new manifest is stored, and the covered segments and obsolete parts are
//                    deleted, atomically. Covered claims may remain: they are never read. Segments
//                    that are kept as history survived a power failure before that; with
//                    `flushesSegments`, all segments did.
//
// If a call rejects, it has stored nothing, unless the error's `failure` is "unknown". After
// "unknown", the caller must repeat the call, and store nothing else until the outcome is known:
//
// - If the repeated call resolves, its data is stored.
// - If it rejects with "fenced", another owner wrote instead. One case is an exception: if the
//   other owner has already written a checkpoint, the checkpoint may have removed the first call's
//   segment, so the outcome remains unknown.
// - If it rejects with another error, the outcome remains unknown.
//
// Calls may overlap; segments take effect in the order of the calls. After the promise has settled,
// the caller may reuse or free the bytes that it passed, so the storage must not keep them. Bytes
// that the storage passes to a reader belong to the reader.
//
// There may be two owners for a while: a page can be frozen, replaced, and resumed. A new owner
// therefore adds a segment, its *claim*. From then on, every write of the previous owner conflicts
// with those of the new owner and is *fenced*: it rejects with "fenced" (FENCING.md). The rules for
// each write:
//
// - A segment is fenced if its number is taken. The segment with that number may already have been
//   removed by a checkpoint, which then has also removed the preceding segment. So if the preceding
//   segment is missing, the segment is fenced unless the stored manifest is the one that this owner
//   knows. If this check is slow, the storage may instead keep the last claims, and check only when
//   it may have been suspended.
// - A part or a manifest is fenced if there are segments after the last one that this owner knows,
//   or if the stored manifest is not the one that this owner knows.
// - A claim is fenced if the stored manifest is not the one that was loaded, or if its number is
//   taken. This holds even if the segment there has equal bytes: all tabs that loaded the same log
//   make equal claims.
//
// REQUIRES: an owner's claim is stored before its first checkpoint.

import { StoreError, type StoreErrorCode } from "../errors.ts";
import type { StorageReserve } from "./storage-reserve.ts";

// Why a storage call rejected:
//
//   quota     the disk or the origin's quota is full. Reads still work; a later call may succeed.
//   aborted   the transaction was rolled back for another reason, such as an I/O error. A later
//             call may succeed.
//   fenced    the log has another owner now. All later calls fail.
//   gone      the database or folder was deleted while it was open. All later calls fail.
//   unknown   the call may or may not have been stored, for example because the connection was
//             lost. The caller must repeat it.
//   closed    close() or deleteLog() was called before. All later calls fail.
export type StorageFailure = "quota" | "aborted" | "fenced" | "gone" | "unknown" | "closed";

const codes: Record<StorageFailure, StoreErrorCode> = {
  quota: "QuotaExceeded",
  aborted: "ConnectionLost",
  fenced: "StoreLocked",
  gone: "ConnectionLost",
  unknown: "ConnectionLost",
  closed: "StoreClosed",
};

const hints: Record<StorageFailure, string | undefined> = {
  quota: "Delete data, or make more space available. Reads, deletes and compact() still work.",
  aborted: "The write had no effect and may be retried.",
  fenced: "Close this store and open it again to see what the other owner wrote.",
  gone: "The origin's site data was cleared; open the store again to start empty.",
  unknown:
    "The write was applied completely or not at all. Read the data when the store is open again.",
  closed: undefined,
};

export class StorageError extends StoreError {
  readonly failure: StorageFailure;

  constructor(failure: StorageFailure, message: string, cause?: unknown) {
    const hint = hints[failure];
    const uncertain = failure === "unknown";
    super(codes[failure], message, { cause, uncertain, ...(hint === undefined ? {} : { hint }) });
    this.failure = failure;
  }

  // Returns whether every later call will fail too.
  get isFatal(): boolean {
    return this.failure === "fenced" || this.failure === "gone" || this.failure === "closed";
  }
}

export type SegmentDurability = "strict" | "relaxed";

export interface ObsoleteFiles {
  segmentsBelow: number;
  // Of the covered segments, those from this number on stay, as history. Absent: none do.
  historyFrom?: number;
  obsoleteParts: readonly number[];
  // True: the parts of the manifest contain changes of segments that it does not cover. Before the
  // manifest is stored, all stored segments must therefore survive a power failure.
  flushesSegments?: boolean;
}

// Receives a part. It is called inside a read transaction, so it must not wait for anything. If it
// throws, the read rejects with that error. `bytes` is undefined if the part is missing or cannot
// be read.
export type OnPart = (id: number, bytes: Uint8Array | undefined) => void;

export interface ManifestFiles {
  parts: readonly number[]; // their ids
  firstSegment: number; // the first segment that the parts do not cover
  historyFrom?: number; // as in ObsoleteFiles
}

// Receives the log in this order: the manifest, parts, then the segments that the manifest does not
// cover, by sequence number. What OnPart says applies to all methods.
export interface LogReceiver {
  // Returns what the manifest says. load() calls it again if another owner has committed a manifest
  // meanwhile; the receiver then drops everything that it got before.
  onManifest(bytes: Uint8Array | undefined): ManifestFiles;
  onPart: OnPart;
  onSegment(sequence: number, bytes: Uint8Array | undefined): void;
}

// Receives a segment, like OnPart. Returns whether to continue with the next segment.
export type OnSegment = (sequence: number, bytes: Uint8Array | undefined) => boolean;

export interface LogStorage {
  // Reads the manifest and the segments that it does not cover, as one consistent snapshot. Parts
  // are not read; only missing parts are reported, without bytes. Resolves to the ids of stored
  // parts that the manifest does not name. They remain from an unfinished checkpoint. Rejects with
  // "fenced" if other owners commit manifests faster than this call reads them.
  load(reader: LogReceiver): Promise<number[]>;
  // Reads parts that the manifest names, and passes them to `part` in this order, except that a
  // missing part may come later. The bytes are valid only until `part` returns. Rejects with
  // "fenced" if a part is missing because another owner has replaced it.
  readParts(ids: readonly number[], part: OnPart): Promise<void>;
  // Reads segments again that load() has read, or that were added since, in the order of their
  // numbers from `first` on. Rejects with "fenced" if another owner has committed a manifest, and
  // possibly if it has only claimed the log.
  readSegments(first: number, segment: OnSegment): Promise<void>;
  // Reads a log that is in use, like load(), but passes all parts to the reader before the
  // segments. Changes neither the files nor this object's state, and does not delay addSegments().
  // Rejects with "fenced" if a file is missing because another owner has replaced it.
  readWhileInUse(reader: LogReceiver): Promise<number[]>;
  // Adds the first segment after load(), with "relaxed" durability. If several owners loaded the
  // same log, only one of them can claim it. If a call rejected with "unknown" and is repeated, the
  // segment of the first call may fence it; then load the log again.
  claim(sequence: number, bytes: Uint8Array): Promise<void>;
  // The segment size in bytes up to which several segments are cheaper to store than one larger
  // segment. Undefined: the size does not matter, and addSegments() always gets one segment.
  readonly segmentBytes?: number;
  // Adds consecutive segments; `sequence` is the number of the first. Succeeds if equal bytes are
  // already stored under the same numbers. The caller frees the bytes of the segments when the call
  // has resolved (util/free-bytes.ts), so a storage that keeps segments keeps copies.
  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void>;
  putPart(id: number, bytes: Uint8Array): Promise<void>;
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void>;
  // Deletes parts. REQUIRES: no manifest names them.
  deleteParts(ids: readonly number[]): Promise<void>;
  // Space that is held back for writes that free space. Undefined: the storage has none. REQUIRES,
  // for calls of its methods: load() has resolved.
  readonly reserve?: StorageReserve | undefined;
  // Deletes the whole log if it exists, and closes.
  deleteLog(): Promise<void>;
  // Waits for pending calls and closes. Later calls reject with "closed". May be called again.
  close(): Promise<void>;
}

// ---- Names of entries ---------------------------------------------------------------------------
// Numbers have 16 hexadecimal digits, so that names sort like numbers.

export const manifestName = "manifest";

export function segmentName(sequence: number): string {
  return `wal-${sequence.toString(16).padStart(16, "0")}`;
}
export function partName(id: number): string {
  return `part-${id.toString(16).padStart(16, "0")}`;
}

// Returns the number in a name of this kind; undefined for other names.
export function numberFromName(prefix: "wal-" | "part-", name: string): number | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const digits = name.slice(prefix.length);
  if (!/^[0-9a-f]{16}$/.test(digits)) return undefined;
  const number = Number.parseInt(digits, 16);
  return Number.isSafeInteger(number) ? number : undefined;
}

// Compares the parts that a manifest names with the stored parts. `missing`: named but not stored.
// `orphans`: stored but not named.
export function missingAndOrphanParts(
  named: readonly number[],
  stored: readonly number[],
): { missing: number[]; orphans: number[] } {
  const isNamed = new Set(named);
  const isStored = new Set(stored);
  return {
    missing: named.filter((id) => !isStored.has(id)),
    orphans: stored.filter((id) => !isNamed.has(id)),
  };
}

export function fencedError(what: string, cause?: unknown): StorageError {
  return new StorageError("fenced", `The store has another owner now: it wrote ${what}.`, cause);
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
