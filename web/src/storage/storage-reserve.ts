// Space that a storage holds back, so that writes that free space succeed when the storage is full.
// host/space-reserve.ts decides on its size and when it is used.
//
// The reserve consists of entries whose bytes do not compress. In IndexedDB, Chromium frees the
// space of a deleted entry at once only if it has stored the entry in its own file, which it does
// for values from 64 kB. It frees smaller entries when it compacts its database, much later.
//
// Chromium also writes small values to its disk before it checks the quota. A rejected write of
// small values then takes up space until the browser compacts its database.

import { freeBytes } from "../util/free-bytes.ts";

export const reserveEntryBytes = 256 * 1024;

export interface StorageReserve {
  // Resolves to the number of entries.
  size(): Promise<number>;
  // Adds or removes entries until there are this many, or until there is no space for another.
  // Resolves to how many there are. Rejects with "fenced" if another owner has written to the log.
  resize(entries: number): Promise<number>;
  // Makes the storage measure how much is stored, if it would otherwise use an older measurement.
  remeasure?(): Promise<void>;
  // What to do after each failure for lack of space, before the next attempt: release an entry, or
  // wait this many ms and measure again. After the last step, and if undefined: release an entry.
  readonly stepsAfterFailure?: readonly (number | "release")[];
}

// Returns the bytes of an entry.
export function makeReserveEntry(): Uint8Array {
  const bytes = new Uint8Array(reserveEntryBytes);
  const callBytesMax = 65_536; // of getRandomValues()
  for (let at = 0; at < bytes.length; at += callBytesMax) {
    crypto.getRandomValues(bytes.subarray(at, at + callBytesMax));
  }
  return bytes;
}

// Adds entries one at a time, up to `wanted`, while there is space. Resolves to how many there are.
export async function addReserveEntries(
  present: number,
  wanted: number,
  add: (entry: number, bytes: Uint8Array) => Promise<void>,
): Promise<number> {
  if (present >= wanted) return present;
  const bytes = makeReserveEntry();
  try {
    for (let entry = present; entry < wanted; ++entry) {
      try {
        await add(entry, bytes);
      } catch (error) {
        if ((error as { failure?: string }).failure === "quota") return entry;
        throw error;
      }
    }
    return wanted;
  } finally {
    freeBytes(bytes);
  }
}
