// Reads the log from the files of an IDBFS mount.

import type { FileEntry } from "./idbfs-database.ts";
import { contentsOf, type IdbfsEntries, isClaim, timestampOf } from "./idbfs-entries.ts";
import { requestResult } from "./idbfs-transaction.ts";
import {
  type LogReceiver,
  manifestName,
  missingAndOrphanParts,
  numberFromName,
  type OnSegment,
  partName,
  segmentName,
} from "./log-storage.ts";

const partsAhead = 8; // how many parts are requested at once: each has about 250 kB
const segmentBatchMax = 256; // segments of one getAll: their sizes are not known before
// Of the segments of one getAll, about. The browser keeps a second copy of the result in memory,
// and the page responds to nothing while it is made.
const batchBytesMax = 2 * 1024 * 1024;

export interface LogSummary {
  manifestTime: number | undefined; // the manifest's timestamp, in ms; undefined: no manifest
  first: number; // the first live segment
  historyFrom: number; // the first segment that is kept as history; `first`: there is no history
  last: number; // the newest segment
  claims: number[]; // the live segments that are claims, ascending
  orphans: number[]; // stored parts that the manifest does not name
}

// Passes the log to the reader, in one transaction. `parts`: "all" reads every part, "missing" only
// reports the parts that are missing.
export async function readLog(
  entries: IdbfsEntries,
  files: IDBObjectStore,
  reader: LogReceiver,
  parts: "missing" | "all",
): Promise<LogSummary> {
  const entryRead = requestResult<FileEntry | undefined>(files.get(entries.path(manifestName)));
  const listing = entries.numbers(files, "part-", 0); // runs while the reader reads the manifest
  listing.catch(() => {}); // awaited below
  const entry = await entryRead;
  // An entry that is not a file must not look like a new store. Empty bytes are read as a damaged
  // manifest.
  const manifest = contentsOf(entry);
  const named = reader.onManifest(entry === undefined ? undefined : (manifest ?? new Uint8Array()));
  const { missing, orphans } = missingAndOrphanParts(named.parts, await listing);
  await readParts(entries, files, parts === "all" ? named.parts : missing, reader.onPart);
  const first = named.firstSegment;
  const pass: OnSegment = (sequence, bytes) => {
    reader.onSegment(sequence, bytes);
    return true;
  };
  const { last, claims } = await readSegments(entries, files, { first }, pass);
  const manifestTime = timestampOf(entry);
  const historyFrom = named.historyFrom ?? first;
  return { manifestTime, first, historyFrom, last: last ?? first - 1, claims, orphans };
}

// Reads a few parts at a time. Each result arrives as its own task, so the page stays responsive
// between two parts.
export async function readParts(
  entries: IdbfsEntries,
  files: IDBObjectStore,
  ids: readonly number[],
  take: (id: number, bytes: Uint8Array | undefined) => void | Promise<void>,
): Promise<void> {
  for (let i = 0; i < ids.length; i += partsAhead) {
    await Promise.all(
      ids.slice(i, i + partsAhead).map(async (id) => {
        await take(id, contentsOf(await requestResult(files.get(entries.path(partName(id))))));
      }),
    );
  }
}

// Passes the segments from `first` on, below `end`, to `segment` until that returns false. No
// segment is passed before `before` resolves. Resolves to the number of the last segment that was
// passed, and to the numbers of those that are claims.
export async function readSegments(
  entries: IdbfsEntries,
  files: IDBObjectStore,
  { first, end, before }: { first: number; end?: number; before?: Promise<void> },
  segment: OnSegment,
): Promise<{ last: number | undefined; claims: number[] }> {
  const until = end === undefined ? "wal-\uffff" : segmentName(end);
  const claims: number[] = [];
  let last: number | undefined;
  let count = 16;
  for (let from = segmentName(first); ; ) {
    const [read] = await Promise.all([entries.read(files, [from, until], count), before]);
    let bytes = 0;
    for (const [name, entry] of read) {
      from = `${name}\0`;
      const sequence = numberFromName("wal-", name);
      if (sequence === undefined) continue;
      last = sequence;
      const contents = contentsOf(entry);
      bytes += contents?.length ?? 0;
      if (isClaim(entry)) claims.push(sequence);
      if (!segment(sequence, contents)) return { last, claims };
    }
    if (read.length < count) return { last, claims };
    const mean = bytes / read.length;
    const fitting = Math.floor(batchBytesMax / Math.max(mean, 1));
    count = Math.max(1, Math.min(segmentBatchMax, 2 * count, fitting));
  }
}
