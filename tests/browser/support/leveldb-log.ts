// The log of LevelDB, in which Chromium keeps IndexedDB: blocks of 32 KiB with records, each of a
// checksum (4 bytes), the length of its content (2, little-endian), a type (1) and the content. A
// record ends in the block in which it begins.

import { appendFileSync, globSync, readFileSync, truncateSync } from "node:fs";
import { basename, join } from "node:path";

const blockBytes = 32_768;
const headerBytes = 7;
const contentBytes = 512;
const writtenBytes = 100;

// Makes the log look as if the browser of this profile was killed while it wrote a record. If it
// really was, removes what it wrote of that one: a log never ends with parts of two records.
export function endLogWithHalfRecord(profileFolder: string): void {
  const newest = filesOf(profileFolder, "*.log").at(-1) as string;
  const end = endOfRecords(readFileSync(newest));
  if (blockBytes - (end % blockBytes) < headerBytes + contentBytes) {
    throw new Error(`The log of ${end} bytes has too little space in its last block.`);
  }
  truncateSync(newest, end);
  const record = Buffer.alloc(headerBytes + writtenBytes, 7);
  record.writeUInt16LE(contentBytes, 4);
  record.writeUInt8(1, 6); // a whole record, not a part of one
  appendFileSync(newest, record);
}

// Says where each log ends, and what LevelDB wrote about its last start. For the message of a test
// that finds data lost.
export function describeLogs(profileFolder: string): string {
  const logs = filesOf(profileFolder, "*.log").map((file) => {
    const log = readFileSync(file);
    return `${basename(file)}: ${log.length} bytes, ${log.length - endOfRecords(log)} after records`;
  });
  const notes = filesOf(profileFolder, "LOG").map((file) => readFileSync(file, "utf8"));
  return [...logs, ...notes].join("\n");
}

// The files of all databases, in the order of their numbers.
function filesOf(profileFolder: string, pattern: string): string[] {
  const folder = join(profileFolder, "Default/IndexedDB");
  return globSync(`*/${pattern}`, { cwd: folder })
    .sort()
    .map((file) => join(folder, file));
}

// Where the last complete record of the log ends.
function endOfRecords(log: Buffer): number {
  let end = 0;
  for (;;) {
    const inBlock = blockBytes - (end % blockBytes);
    const begin = inBlock < headerBytes ? end + inBlock : end; // a block's last bytes are unused
    if (begin + headerBytes > log.length) return end;
    const next = begin + headerBytes + log.readUInt16LE(begin + 4);
    if (next > log.length) return end;
    end = next;
  }
}
