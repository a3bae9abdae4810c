// The contract of log storage. Memory, IndexedDB and Node files implement it; the suite
// tests/web/support/storage-contract.ts tests every implementation. core/log/FORMAT.md describes
// the files:
//
//   wal-<sequence>   a segment, one per group commit; added, never overwritten
//   part-<id>        a checkpoint part; immutable
//   manifest         lists the parts and says which segments are still live
//
// When a promise resolves:
//
//   addSegments      the segments are stored completely and atomically. "relaxed" segments survive
//                    the death of the process, "strict" segments also a loss of power.
//   putPart          the part is stored completely. It is unused until a manifest names it.
//   commitManifest   the new manifest is stored, and the covered segments and obsolete parts are
//                    deleted, atomically. Claims may stay: segments below the first live one are
//                    never read.
//
// When a call rejects, nothing of it is stored, unless the error's `failure` is "unknown". Then
// repeat the call: it resolves if the first call was stored, or stores it now, or rejects with
// "fenced" if another owner wrote instead. Any other error leaves the outcome unknown. So does
// "fenced" after a checkpoint of another owner, which may have removed the segment. Store nothing
// else before the outcome is known.
//
// Calls may overlap; segments take effect in the order of the calls. The caller may reuse the bytes
// that it passed in when the promise settles. Bytes passed to the reader belong to the reader.
//
// There may be two owners for a while: a page can be frozen, replaced, and resumed. Ownership is
// therefore a *claim*: a segment that the new owner adds. From then on every write of the previous
// owner conflicts with the new owner's writes and rejects with "fenced":
//
//   a segment            if its number is taken. A checkpoint that removed the segment with that
//                        number also removed the preceding segment. So if the preceding segment is
//                        missing, the manifest must be the one that this owner knows. If this check
//                        is slow, the storage may keep the last claims instead, and check only when
//                        it may have been suspended.
//   a part or manifest   if there are segments beyond the last known one, or the manifest is not
//                        the one that this owner knows
//   a claim              if the manifest is not the one that was loaded, or its number is taken,
//                        even by equal bytes: all tabs that loaded the same log make equal claims
//
// REQUIRES: a checkpoint covers its owner's claim.

import { StoreError, type StoreErrorCode } from "../errors.ts";

// Why a storage call rejected:
//
//   quota     the disk or the origin's quota is full. Reads still work; a later call may succeed.
//   aborted   the backend rolled the transaction back for another reason (an I/O error). A later
//             call may succeed.
//   fenced    the log has another owner now. Final.
//   gone      the database or folder was deleted while it was open (site data cleared). Final.
//   unknown   it is not known whether the call was stored, for example because the connection was
//             lost. Repeating the call finds out.
//   closed    close() or drop() was called before. Final.
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
  quota: "Delete data, or request more space with navigator.storage.persist(). Reads still work.",
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
  obsoleteParts: readonly number[];
}

// Receives a part. Called inside a read transaction, so it must not wait. If it throws, the read
// rejects with that error. `bytes` is undefined if the entry is missing or not readable as bytes.
export type OnPart = (id: number, bytes: Uint8Array | undefined) => void;

// Receives the log in order: the manifest, parts, then the live segments by sequence number. The
// rules of OnPart hold for all its methods.
export interface LogReader {
  // Returns the parts that the manifest names, and the first segment that it does not cover.
  manifest(bytes: Uint8Array | undefined): { parts: readonly number[]; firstSegment: number };
  part: OnPart;
  segment(sequence: number, bytes: Uint8Array | undefined): void;
}

export interface LogStorage {
  // Reads the manifest and the live segments as one consistent snapshot. Parts are not read, except
  // that missing parts are reported, without bytes. Resolves to the ids of stored parts that the
  // manifest does not name: left over from a checkpoint that did not finish.
  load(reader: LogReader): Promise<number[]>;
  // Reads parts that the manifest names. Rejects with "fenced" if a part is missing because another
  // owner made it obsolete.
  readParts(ids: readonly number[], part: OnPart): Promise<void>;
  // Reads a log that is in use, like load(), but with all parts before the segments. Changes
  // neither the files nor the state of this object, and does not delay addSegments().
  inspect(reader: LogReader): Promise<number[]>;
  // Adds the first segment after load(), with "relaxed" durability. Of several owners that loaded
  // the same log, only one can claim it. After "unknown", a repeated call may be fenced by the
  // first call's own segment; then load again.
  claim(sequence: number, bytes: Uint8Array): Promise<void>;
  // The size in bytes up to which segments are cheap to store: several such segments cost less than
  // one larger segment. Undefined: size does not matter, and addSegments() takes one segment.
  readonly segmentBytes?: number;
  // Adds consecutive segments; `sequence` is the number of the first. Adding equal bytes under the
  // same number again succeeds.
  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void>;
  putPart(id: number, bytes: Uint8Array): Promise<void>;
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void>;
  // Deletes parts. REQUIRES: no manifest names them.
  dropParts(ids: readonly number[]): Promise<void>;
  // Deletes the whole log, if there is one, and closes.
  drop(): Promise<void>;
  // Closes after pending calls have ended; later calls reject with "closed". May be called again.
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

// Returns the number in such a name; undefined for other names.
export function numberFromName(prefix: "wal-" | "part-", name: string): number | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const digits = name.slice(prefix.length);
  if (!/^[0-9a-f]{16}$/.test(digits)) return undefined;
  const number = Number.parseInt(digits, 16);
  return Number.isSafeInteger(number) ? number : undefined;
}

// Compares the parts that a manifest names with the stored parts. Returns named parts that are
// missing and stored parts that are not named.
export function compareParts(
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
