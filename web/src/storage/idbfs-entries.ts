// The log's files as entries of the object store of an IDBFS mount: their keys, and what they hold.

import { isBytes, isDate } from "../util/platform-objects.ts";
import type { FileEntry } from "./idbfs-database.ts";
import { requestResult } from "./idbfs-transaction.ts";
import { equalBytes, numberFromName, partName, segmentName } from "./log-storage.ts";

const regularFile = 0o100644; // what IDBFS stores for a file of mode rw-r--r--
// The mode of an owner's first segment, with the sticky bit, so that later owners recognise a
// claim.
export const claimFile = 0o101644;

export class IdbfsEntries {
  readonly #mount: string;

  constructor(mount: string) {
    this.#mount = mount;
  }

  // Returns the key of a file.
  path(name: string): string {
    return `${this.#mount}/${name}`;
  }

  // Returns the numbers of all entries with a prefix, ascending, from `first` up to but without
  // `end`.
  async numbers(
    files: IDBObjectStore,
    prefix: "wal-" | "part-",
    first: number,
    end?: number,
  ): Promise<number[]> {
    const folder = `${this.#mount}/`;
    const name = prefix === "wal-" ? segmentName : partName;
    const last = end === undefined ? `${prefix}\uffff` : name(end);
    if (name(first) >= last) return [];
    const range = IDBKeyRange.bound(folder + name(first), folder + last, false, true);
    const found: number[] = [];
    for (const key of await requestResult(files.getAllKeys(range))) {
      const number = numberFromName(prefix, String(key).slice(folder.length));
      if (number !== undefined && number >= first) found.push(number);
    }
    return found;
  }

  // Returns whether a file has a timestamp, in ms. Reads keys only, not the file's bytes.
  async hasTimestamp(files: IDBObjectStore, name: string, timestamp: number): Promise<boolean> {
    const range = IDBKeyRange.only(new Date(timestamp));
    const keys = await requestResult(files.index("timestamp").getAllKeys(range));
    return keys.includes(this.path(name));
  }

  // Reads the entries of names that are adjacent in key order. One getAll reads many small files
  // faster than one get per file.
  async readAdjacent(files: IDBObjectStore, names: readonly string[]): Promise<unknown[]> {
    const paths = names.map((name) => this.path(name));
    const range = IDBKeyRange.bound(paths[0], paths[paths.length - 1]);
    const entries = await requestResult(files.getAll(range));
    if (entries.length === paths.length) return entries;
    // A key that is not ours is in between, or an entry is missing.
    return await Promise.all(paths.map((path) => requestResult(files.get(path))));
  }
}

// Returns an entry with the bytes in their own buffer: cloning a view stores its whole buffer, here
// the whole wasm heap.
export function fileEntry(
  bytes: Uint8Array,
  mode = regularFile,
  timestamp = new Date(),
): FileEntry {
  const exact = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  return { timestamp, mode, contents: exact };
}

// Returns an entry's timestamp in ms; undefined if it has none.
export function timestampOf(entry: unknown): number | undefined {
  const timestamp = (entry as Partial<FileEntry> | undefined)?.timestamp;
  return isDate(timestamp) ? timestamp.getTime() : undefined;
}

export function isClaim(entry: unknown): boolean {
  return (entry as Partial<FileEntry> | undefined)?.mode === claimFile;
}

export function equalContents(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

export function contentsOf(entry: unknown): Uint8Array | undefined {
  const contents = (entry as Partial<FileEntry> | undefined)?.contents;
  return isBytes(contents) ? contents : undefined;
}
