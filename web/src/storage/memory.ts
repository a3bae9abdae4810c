// The log in memory. With a map the files are kept in it, for as long as somebody holds the map: tests open the same
// files again. Without one nothing is kept: what persistence "memory" promises is that nothing survives, and
// a log that nobody will read would only hold every row a second time.

import {
  type LogReader,
  type LogStorage,
  manifestName,
  numberInName,
  type Obsolete,
  partName,
  type SegmentDurability,
  StorageError,
  sameBytes,
  segmentName,
} from "./log-storage.ts";

export class MemoryStorage implements LogStorage {
  readonly #files: Map<string, Uint8Array> | undefined;
  #closed = false;

  constructor(files?: Map<string, Uint8Array>) {
    this.#files = files;
  }

  async load(reader: LogReader): Promise<number[]> {
    this.#requireOpen();
    const files = new Map(this.#files);
    const wanted = reader.manifest(files.get(manifestName)?.slice());
    const wantedIds = new Set<number>();
    for (const { id } of wanted.parts) {
      wantedIds.add(id);
      reader.part(id, files.get(partName(id))?.slice());
    }
    const orphans: number[] = [];
    for (const name of [...files.keys()].sort()) {
      const sequence = numberInName("wal-", name);
      if (sequence !== undefined && sequence >= wanted.firstSegment) {
        reader.segment(sequence, files.get(name)?.slice());
      }
      const part = numberInName("part-", name);
      if (part !== undefined && !wantedIds.has(part)) orphans.push(part);
    }
    return orphans;
  }

  async addSegment(
    sequence: number,
    bytes: Uint8Array,
    _durability: SegmentDurability,
  ): Promise<void> {
    this.#requireOpen();
    const name = segmentName(sequence);
    const there = this.#files?.get(name);
    if (there !== undefined && !sameBytes(there, bytes)) {
      throw new StorageError("fenced", `Segment ${name} was written by somebody else.`);
    }
    this.#files?.set(name, bytes.slice());
  }

  async putPart(id: number, bytes: Uint8Array): Promise<void> {
    this.#requireOpen();
    this.#files?.set(partName(id), bytes.slice());
  }

  async commitManifest(bytes: Uint8Array, obsolete: Obsolete): Promise<void> {
    this.#requireOpen();
    this.#files?.set(manifestName, bytes.slice());
    for (const id of obsolete.obsoleteParts) this.#files?.delete(partName(id));
    for (const name of this.#files?.keys() ?? []) {
      const sequence = numberInName("wal-", name);
      if (sequence !== undefined && sequence < obsolete.segmentsBelow) this.#files?.delete(name);
    }
  }

  async dropParts(ids: readonly number[]): Promise<void> {
    this.#requireOpen();
    for (const id of ids) this.#files?.delete(partName(id));
  }

  async drop(): Promise<void> {
    this.#closed = true;
    this.#files?.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #requireOpen(): void {
    if (this.#closed) throw new StorageError("closed", "The storage is closed.");
  }
}
