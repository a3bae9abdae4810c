// A log in memory. If the constructor gets a map, the files are stored in it, so that tests can
// open them again. Without a map, nothing is stored: a store with persistence "memory" never reads
// its log, which would only hold every row a second time.

import { freeBytes } from "../util/free-bytes.ts";
import {
  equalBytes,
  fencedError,
  type LogReceiver,
  type LogStorage,
  manifestName,
  missingAndOrphanParts,
  numberFromName,
  type ObsoleteFiles,
  type OnPart,
  type OnSegment,
  partName,
  type SegmentDurability,
  StorageError,
  segmentName,
} from "./log-storage.ts";

export class MemoryStorage implements LogStorage {
  readonly #files: Map<string, Uint8Array> | undefined;
  #closed = false;
  #manifest: Uint8Array | undefined; // as last loaded or committed
  #last = 0; // sequence number of the newest segment that was loaded or added

  constructor(files?: Map<string, Uint8Array>) {
    this.#files = files;
  }

  async load(reader: LogReceiver): Promise<number[]> {
    this.#requireOpen();
    const { manifest, last, orphans } = await this.#read(reader, "missing");
    this.#manifest = manifest;
    this.#last = last;
    return orphans;
  }

  async readParts(ids: readonly number[], part: OnPart): Promise<void> {
    this.#requireOpen();
    for (const id of ids) {
      const bytes = this.#files?.get(partName(id))?.slice();
      if (bytes === undefined && this.#files?.get(manifestName) !== this.#manifest) {
        throw fencedError(manifestName);
      }
      part(id, bytes);
      if (bytes !== undefined) freeBytes(bytes);
    }
  }

  async readSegments(first: number, segment: OnSegment): Promise<void> {
    this.#requireOpen();
    this.#requireOurManifest();
    for (let sequence = first; sequence <= this.#last; ++sequence) {
      if (!segment(sequence, this.#files?.get(segmentName(sequence))?.slice())) return;
    }
  }

  async readWhileInUse(reader: LogReceiver): Promise<number[]> {
    this.#requireOpen();
    return (await this.#read(reader, "all")).orphans;
  }

  async #read(
    reader: LogReceiver,
    parts: "missing" | "all",
  ): Promise<{ manifest: Uint8Array | undefined; last: number; orphans: number[] }> {
    const files = new Map(this.#files);
    const numbers = (prefix: "wal-" | "part-") =>
      [...files.keys()].flatMap((name) => numberFromName(prefix, name) ?? []).sort((a, b) => a - b);
    const manifest = files.get(manifestName);
    const named = reader.onManifest(manifest?.slice());
    const { missing, orphans } = missingAndOrphanParts(named.parts, numbers("part-"));
    for (const id of parts === "all" ? named.parts : missing) {
      reader.onPart(id, files.get(partName(id))?.slice());
    }
    let last = named.firstSegment - 1;
    for (const sequence of numbers("wal-").filter((n) => n >= named.firstSegment)) {
      reader.onSegment(sequence, files.get(segmentName(sequence))?.slice());
      last = sequence;
    }
    return { manifest, last, orphans };
  }

  async claim(sequence: number, bytes: Uint8Array): Promise<void> {
    this.#requireOpen();
    this.#requireOurManifest();
    const name = segmentName(sequence);
    if (sequence > this.#last && this.#files?.has(name)) throw fencedError(name);
    await this.addSegments(sequence, [bytes], "relaxed");
  }

  async addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    _durability: SegmentDurability,
  ): Promise<void> {
    this.#requireOpen();
    const named = segments.map((bytes, i) => ({ name: segmentName(sequence + i), bytes }));
    for (const { name, bytes } of named) {
      const there = this.#files?.get(name);
      if (there !== undefined && !equalBytes(there, bytes)) throw fencedError(name);
    }
    if (!this.#files?.has(segmentName(sequence)) && !this.#files?.has(segmentName(sequence - 1)))
      this.#requireOurManifest();
    for (const { name, bytes } of named) this.#files?.set(name, bytes.slice());
    this.#last = Math.max(this.#last, sequence + segments.length - 1);
  }

  async putPart(id: number, bytes: Uint8Array): Promise<void> {
    this.#requireOwner();
    this.#files?.set(partName(id), bytes.slice());
  }

  async commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    this.#requireOwner();
    this.#manifest = bytes.slice();
    this.#files?.set(manifestName, this.#manifest);
    for (const id of obsolete.obsoleteParts) this.#files?.delete(partName(id));
    const { historyFrom = obsolete.segmentsBelow } = obsolete;
    for (const name of this.#files?.keys() ?? []) {
      const sequence = numberFromName("wal-", name);
      if (sequence !== undefined && sequence < historyFrom) this.#files?.delete(name);
    }
  }

  async deleteParts(ids: readonly number[]): Promise<void> {
    this.#requireOwner();
    for (const id of ids) this.#files?.delete(partName(id));
  }

  async deleteLog(): Promise<void> {
    this.#closed = true;
    this.#files?.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #requireOwner(): void {
    this.#requireOpen();
    this.#requireOurManifest();
    for (const name of this.#files?.keys() ?? []) {
      if ((numberFromName("wal-", name) ?? 0) > this.#last) throw fencedError(name);
    }
  }

  #requireOurManifest(): void {
    if (this.#files !== undefined && this.#files.get(manifestName) !== this.#manifest)
      throw fencedError(manifestName);
  }

  #requireOpen(): void {
    if (this.#closed) throw new StorageError("closed", "The storage is closed.");
  }
}
