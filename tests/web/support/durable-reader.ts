// Adds a durable reader of the change feed to a manifest (core/log/FORMAT.md), because nothing in
// the package registers readers yet.

const headerBytes = 16;
const recordHeaderBytes = 6; // type, flags, length of the payload
const checksumBytes = 4;
const tableType = 36;
const readersType = 40;
const endType = 127;
const skippable = 1;
const ticksPerMs = 10_000n;
const ticksOf1970 = 621_355_968_000_000_000n;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1;
  return crc;
});

function checksum(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] as number);
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0;
}

function words(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setUint32(4 * i, value, true);
  return bytes;
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
}

function record(type: number, flags: number, payload: Uint8Array): Buffer {
  const checked = Buffer.concat([Uint8Array.of(type, flags), words(payload.length), payload]);
  return Buffer.concat([checked, words(checksum(checked))]);
}

/** Returns the manifest with a reader that has acknowledged `commit` of `epoch` at `nowMs`. */
export function withDurableReader(
  manifest: Uint8Array,
  { epoch, commit, nowMs }: { epoch: number; commit: number; nowMs: number },
): Uint8Array {
  const ticks = Buffer.alloc(8);
  ticks.writeBigUInt64LE(BigInt(nowMs) * ticksPerMs + ticksOf1970);
  const reader = [1, "r".charCodeAt(0), ...varint(epoch), ...varint(commit), ...ticks];
  const added = record(readersType, skippable, Uint8Array.of(1, ...reader));
  const records: Uint8Array[] = [];
  const view = new DataView(manifest.buffer, manifest.byteOffset, manifest.byteLength);
  for (let at = headerBytes; at < manifest.length; ) {
    const type = manifest[at] as number;
    const isBefore = type === tableType || type === endType;
    if (isBefore && !records.includes(added)) records.push(added);
    const size = recordHeaderBytes + view.getUint32(at + 2, true) + checksumBytes;
    if (type !== endType) records.push(manifest.subarray(at, at + size));
    at += size;
  }
  const header = manifest.subarray(0, headerBytes);
  const checksums = [header, ...records].map((bytes) => bytes.subarray(-checksumBytes));
  const chain = checksum(Buffer.concat(checksums));
  const end = record(endType, 0, words(records.length, chain));
  return Buffer.concat([header, ...records, end]);
}
