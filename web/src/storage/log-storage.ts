// Where a store's log lives: the contract that memory, IndexedDB (and later files) fulfil, in the
// words of core/log/FORMAT.md. One test suite, tests/web/support/storage-contract.ts, holds every
// implementation to it.
//
//   wal-<sequence>   a segment, one per group commit; added, never overwritten
//   part-<id>        a checkpoint part; immutable
//   manifest         ties the parts together and says which segments are still live
//
// What holds when a promise resolves:
//
//   addSegments      the segments are there whole, as durable as asked for: "relaxed" survives the
//                    death of the process, "strict"
//                    also power loss. They count as one atomic step.
//   putPart          the part is there whole. Nothing refers to it until a manifest does.
//   commitManifest   in one atomic step: the new manifest, and the covered segments and obsolete
//                    parts gone. (Claims may stay: nobody
//                    reads a segment below the first live one.)
//
// When one rejects, nothing of it is stored, unless the error's `failure` is "unknown". Then the
// same call made again finds out, by resolving or by being fenced; that it fails in another way
// tells nothing of the call before. (Fenced by a checkpoint of the owner since, which may have
// taken the segment with it, it tells nothing either.) Nothing else should be stored meanwhile.
// Calls may overlap; segments take effect in the order of the calls. Bytes given in may be reused
// by the caller as soon as the promise settles, and bytes given out belong to the reader.
//
// Two owners at a time can't be ruled out: a page may freeze, be given up, and wake. So ownership
// is a *claim*: a segment that the new owner adds. From then on each write of the owner before
// meets something that it did not write, and rejects with "fenced":
//
//   a segment            its number is taken. If a checkpoint removed the one that took it, then it
//                        removed the one before too, and
//                        the manifest says whose checkpoint that was. So without a predecessor it
//                        must be our own manifest. A
//                        storage for which this look is dear leaves the last claims where they are,
//                        and looks when it may have slept.
//   parts, manifests     there are segments beyond the last one that we know; or, again, the
//                        manifest is not ours
//   a claim              the manifest is not the one that was loaded, or its number is taken, be it
//                        by the same bytes: those of everybody
//                        who loaded the same log are the same
//
// For this a checkpoint must cover its owner's claim.

import { StoreError, type StoreErrorCode } from "../errors.ts";

// Why a call on the storage rejected:
//
//   quota     the disk or the origin's share of it is full. Reading goes on; a later call may
//             succeed.
//   aborted   the backend undid the transaction for another reason (an I/O error). A later call may
//             succeed.
//   fenced    somebody else has added segments: the log has another owner now. Final.
//   gone      the database was deleted under the store (site data cleared). Final.
//   unknown   the connection was lost and can't be made anew for now, so whether it was stored is
//             not known. The same call
//             again gives the answer when there is a connection again.
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
  quota:
    "Delete data, or ask for more room with navigator.storage.persist(); reads go on meanwhile.",
  aborted: "The write had no effect and may be tried again.",
  fenced: "Close this store and open it again to see what the other owner wrote.",
  gone: "The origin's site data was cleared; open the store again to start empty.",
  unknown:
    "It is there whole or not at all, which shows when the connection is back or the store opens again.",
  closed: undefined,
};

export class StorageError extends StoreError {
  readonly failure: StorageFailure;

  constructor(failure: StorageFailure, message: string, cause?: unknown) {
    const hint = hints[failure];
    super(codes[failure], message, { cause, ...(hint === undefined ? {} : { hint }) });
    this.failure = failure;
  }

  // Whether every later call will fail too.
  get isFatal(): boolean {
    return this.failure === "fenced" || this.failure === "gone" || this.failure === "closed";
  }
}

export type SegmentDurability = "strict" | "relaxed";

export interface ObsoleteFiles {
  segmentsBelow: number;
  obsoleteParts: readonly number[];
}

// Receives a part. Called inside a read transaction, so it must not wait; what it throws ends the
// reading and rejects it. Bytes are `undefined` where an entry is missing or not readable as bytes.
export type OnPart = (id: number, bytes: Uint8Array | undefined) => void;

// Receives the log in order: the manifest, parts, the live segments in sequence. Its methods are
// called as OnPart is.
export interface LogReader {
  // The parts that the manifest names, and the first segment that it doesn't cover.
  manifest(bytes: Uint8Array | undefined): { parts: readonly number[]; firstSegment: number };
  part: OnPart;
  segment(sequence: number, bytes: Uint8Array | undefined): void;
}

export interface LogStorage {
  // In one consistent snapshot: of the parts only those that are missing, without bytes; the others
  // by readParts(). Resolves to the ids of parts that are stored and that the manifest doesn't
  // name: left over by a checkpoint that never finished.
  load(reader: LogReader): Promise<number[]>;
  // Parts that the manifest names. Rejects with "fenced" where one is missing because another owner
  // has made it obsolete.
  readParts(ids: readonly number[], part: OnPart): Promise<void>;
  // As load(), of a log that is in use, and with all parts, before the segments: changes nothing,
  // neither what is stored nor what this storage knows of it, and holds up no segment.
  inspect(reader: LogReader): Promise<number[]>;
  // The first write after load(): a segment, as durable as a relaxed one. Only one of those who
  // loaded the same log can claim it. If it is not known whether it arrived, the same call again
  // may be fenced by what did: then that is to be loaded too.
  claim(sequence: number, bytes: Uint8Array): Promise<void>;
  // Several segments of so many bytes are cheaper than one of more. Undefined: they are not, and it
  // is given one at a time.
  readonly segmentBytes?: number;
  // Neighbours, `sequence` being the first one's. The same bytes again are the same segments.
  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void>;
  putPart(id: number, bytes: Uint8Array): Promise<void>;
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void>;
  // REQUIRES: no manifest names them.
  dropParts(ids: readonly number[]): Promise<void>;
  // Deletes the whole log and closes. A store without a log can be dropped too.
  drop(): Promise<void>;
  // Waits for calls under way; later calls reject with "closed". May be called again.
  close(): Promise<void>;
}

// ---- Names of entries ---------------------------------------------------------------------------
// Numbers in 16 hexadecimal digits, so that the order of names is the order of numbers.

export const manifestName = "manifest";

export function segmentName(sequence: number): string {
  return `wal-${sequence.toString(16).padStart(16, "0")}`;
}
export function partName(id: number): string {
  return `part-${id.toString(16).padStart(16, "0")}`;
}

// The number in such a name; undefined if it is not one.
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
