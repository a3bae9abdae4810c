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
    const name = prefix === "wal-" ? segmentName : partName;
    const last = end === undefined ? `${prefix}\uffff` : name(end);
    if (name(first) >= last) return [];
    const range = IDBKeyRange.bound(this.path(name(first)), this.path(last), false, true);
    const found: number[] = [];
    for (const key of await requestResult(files.getAllKeys(range))) {
      const number = numberFromName(prefix, this.#nameOf(key));
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

  // Reads the entries of the names from `from` up to but without `end`, at most `count`, in the
  // order of their names. Makes its requests at once.
  async read(
    files: IDBObjectStore,
    [from, end]: readonly [string, string],
    count: number,
  ): Promise<[name: string, entry: unknown][]> {
    if (from >= end) return [];
    const range = IDBKeyRange.bound(this.path(from), this.path(end), false, true);
    const [keys, entries] = await Promise.all([
      requestResult(files.getAllKeys(range, count)),
      requestResult<unknown[]>(files.getAll(range, count)),
    ]);
    return keys.map((key, i) => [this.#nameOf(key), entries[i]]);
  }

  #nameOf(key: IDBValidKey): string {
    return String(key).slice(this.path("").length);
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
