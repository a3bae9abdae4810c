// The log as files in a folder, for Node.
//
//   wal-…, part-…, manifest       the log's files (log-storage.ts)
//   relaxed-<sequence>-<hash>     a second link to a segment that is not flushed yet, with the hash
//                                 of the segment's bytes
//   tmp-…                         a file that is being written, or left over from a crash
//   lock                          see folder-lock.ts
//
// Files appear complete: a file is written under a temporary name, flushed, and linked to its name,
// which fails if the name is taken. "relaxed" segments are not flushed, so a loss of power may tear
// them. The hash in the second link shows that a segment is torn. Torn segments at the end of the
// log are lost writes, which "relaxed" permits, and not damage. The next strict segment flushes
// earlier relaxed segments first, so the stored segments are always a prefix.

import { type NodeFile, type NodeFs, nodeModule, systemErrorCode } from "../util/node.ts";
import {
  deleteFolder,
  flushFolder,
  relaxedPattern,
  storageErrorFrom,
  temporaryPrefix,
} from "./log-folder.ts";
import {
  compareParts,
  equalBytes,
  fencedError,
  type LogReader,
  type LogStorage,
  manifestName,
  numberFromName,
  type ObsoleteFiles,
  type OnPart,
  partName,
  type SegmentDurability,
  StorageError,
  segmentName,
} from "./log-storage.ts";

const readAhead = 8; // how many files are read ahead

export class NodeFilesStorage implements LogStorage {
  readonly #fs: NodeFs["promises"];
  readonly #folder: string;
  readonly #hash: (bytes: Uint8Array) => string;
  #manifest: Uint8Array | undefined; // as loaded or last committed
  // The manifest of the last commitManifest(), which may be stored even if the call failed.
  #attempted: Uint8Array | undefined;
  #last = 0; // the newest segment that was loaded or added
  // The segments that are not flushed, and the names of their second links.
  readonly #relaxed = new Map<number, string>();
  #fatalError: StorageError | undefined; // every later call rejects with it
  #adding: Promise<unknown> = Promise.resolve(); // the last addition: additions run one at a time
  // The last call that removes files or reads all of them: such calls run one at a time.
  #lastRemoval: Promise<unknown> = Promise.resolve();
  readonly #running = new Set<Promise<unknown>>();

  // Opens the storage. REQUIRES: the folder exists (makeFolder).
  static async open(folder: string, fs?: NodeFs["promises"]): Promise<NodeFilesStorage> {
    const { createHash } = await nodeModule("node:crypto");
    const hash = (bytes: Uint8Array) =>
      createHash("sha256").update(bytes).digest("hex").slice(0, 32);
    return new NodeFilesStorage(folder, fs ?? (await nodeModule("node:fs")).promises, hash);
  }

  private constructor(folder: string, fs: NodeFs["promises"], hash: (bytes: Uint8Array) => string) {
    this.#folder = folder;
    this.#fs = fs;
    this.#hash = hash;
  }

  load(reader: LogReader): Promise<number[]> {
    return this.#track(async () => {
      const names = await this.#mappingErrors(this.#fs.readdir(this.#folder));
      const manifest = await this.#read(manifestName);
      this.#manifest = manifest;
      // A manifest that can't be read must not look like a new store. Empty bytes are read as a
      // damaged manifest.
      const damaged = names.includes(manifestName) ? new Uint8Array() : undefined;
      const { parts, firstSegment } = reader.manifest(manifest ?? damaged);
      const { missing, orphans } = compareParts(parts, numbers("part-", names));
      for (const id of missing) reader.part(id, undefined);
      this.#findRelaxed(names, firstSegment);
      const sequences = numbers("wal-", names).filter((sequence) => sequence >= firstSegment);
      const torn = await this.#readSegments(sequences, reader);
      this.#last = sequences.at(-1 - torn.length) ?? firstSegment - 1;
      // Newest first, so that the remaining segments are always a prefix.
      await this.#mappingErrors(this.#dropSegments(torn.reverse()));
      await this.#sweep(names, firstSegment);
      return orphans;
    });
  }

  readParts(ids: readonly number[], part: OnPart): Promise<void> {
    return this.#track(async () => {
      for await (const [id, bytes] of readInOrder(ids, (id) => this.#read(partName(id)))) {
        if (bytes === undefined) await this.#requireOurManifest();
        part(id, bytes);
      }
    });
  }

  // No files are removed during the read, and the folder is listed between two additions.
  inspect(reader: LogReader): Promise<number[]> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        const listing = this.#adding.then(() =>
          this.#mappingErrors(this.#fs.readdir(this.#folder)),
        );
        this.#adding = listing.catch(() => {});
        const names = await listing;
        const manifest = await this.#read(manifestName);
        const damaged = names.includes(manifestName) ? new Uint8Array() : undefined;
        const { parts, firstSegment } = reader.manifest(manifest ?? damaged);
        const { orphans } = compareParts(parts, numbers("part-", names));
        await this.#readAllParts(parts, reader);
        const sequences = numbers("wal-", names).filter((sequence) => sequence >= firstSegment);
        const read = (sequence: number) => this.#read(segmentName(sequence));
        for await (const [sequence, bytes] of readInOrder(sequences, read)) {
          reader.segment(sequence, bytes);
        }
        return orphans;
      }),
    );
  }

  claim(sequence: number, bytes: Uint8Array): Promise<void> {
    return this.#track(async () => {
      await this.#requireOurManifest();
      const taken = sequence > this.#last ? "fences" : "may be ours";
      await this.#add(sequence, () => this.#addRelaxed(sequence, bytes, taken));
    });
  }

  addSegments(
    sequence: number,
    [bytes, ...others]: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void> {
    if (bytes === undefined || others.length > 0) throw new Error("Files are added one at a time.");
    return this.#track(() =>
      this.#add(sequence, async () => {
        await this.#requirePredecessor(sequence);
        if (durability === "strict") await this.#addStrict(sequence, bytes);
        else await this.#addRelaxed(sequence, bytes);
      }),
    );
  }

  putPart(id: number, bytes: Uint8Array): Promise<void> {
    return this.#track(async () => {
      await this.#requireOwner();
      await this.#replace(partName(id), bytes);
    });
  }

  // The rename commits the new manifest. Obsolete files that can't be deleted after that are
  // harmless; the next load() removes segments, and reports parts as orphans.
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        await this.#requireOwner();
        // so that the names of the parts are durable
        await this.#mappingErrors(this.#flushFolder());
        this.#attempted = bytes.slice();
        await this.#replace(manifestName, bytes);
        this.#manifest = this.#attempted;
        await this.#flushNames();
        const names = await this.#fs.readdir(this.#folder).catch(() => []);
        const below = numbers("wal-", names).filter((n) => n < obsolete.segmentsBelow);
        await this.#dropSegments(below).catch(() => {});
        for (const id of obsolete.obsoleteParts) await this.#unlink(partName(id)).catch(() => {});
      }),
    );
  }

  dropParts(ids: readonly number[]): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        await this.#requireOwner();
        for (const id of ids) await this.#mappingErrors(this.#unlink(partName(id)));
      }),
    );
  }

  async drop(): Promise<void> {
    await this.close();
    await deleteFolder(this.#folder, this.#fs);
  }

  // Flushes relaxed segments, so that a closed folder is complete even after a loss of power.
  async close(): Promise<void> {
    const first = this.#fatalError === undefined;
    this.#fatalError ??= new StorageError("closed", "The storage is closed.");
    await Promise.allSettled([...this.#running]);
    if (!first || this.#relaxed.size === 0) return;
    await this.#flushRelaxed()
      .then(() => this.#flushFolder())
      .catch(() => {}); // "relaxed" does not promise the flush
  }

  // ---- Reading ----------------------------------------------------------------------------------

  async #readAllParts(ids: readonly number[], reader: LogReader): Promise<void> {
    const read = (id: number) => this.#read(partName(id));
    for await (const [id, bytes] of readInOrder(ids, read)) reader.part(id, bytes);
  }

  // Passes segments to the reader. Resolves to the segments from the first torn one on.
  async #readSegments(sequences: readonly number[], reader: LogReader): Promise<number[]> {
    const flushed = (sequence: number) => !this.#relaxed.has(sequence);
    const tail = sequences.findLastIndex(flushed) + 1;
    const read = (sequence: number) => this.#read(segmentName(sequence));
    let at = 0;
    for await (const [sequence, bytes] of readInOrder(sequences, read)) {
      if (at >= tail && !this.#isWhole(sequence, bytes)) return sequences.slice(at);
      reader.segment(sequence, bytes);
      ++at;
    }
    return [];
  }

  #isWhole(sequence: number, bytes: Uint8Array | undefined): boolean {
    if (bytes === undefined) return true; // missing: damage, not a loss of power
    return this.#relaxed.get(sequence) === relaxedName(sequence, this.#hash(bytes));
  }

  #findRelaxed(names: readonly string[], first: number): void {
    const there = new Set(names);
    for (const name of names) {
      const sequence = Number.parseInt(relaxedPattern.exec(name)?.[1] ?? "", 16);
      if (sequence >= first && there.has(segmentName(sequence))) this.#relaxed.set(sequence, name);
    }
  }

  // Returns a file's bytes; undefined if it does not exist or the disk can't read it.
  async #read(name: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#fs.readFile(this.#path(name));
    } catch (error) {
      if (["ENOENT", "EISDIR", "EIO"].includes(systemErrorCode(error))) return undefined;
      throw storageErrorFrom(error);
    }
  }

  // Removes files that a crash left behind.
  async #sweep(names: readonly string[], firstSegment: number): Promise<void> {
    const kept = new Set(this.#relaxed.values());
    for (const name of names) {
      const left =
        name.startsWith(temporaryPrefix) ||
        (relaxedPattern.test(name) && !kept.has(name)) ||
        (numberFromName("wal-", name) ?? firstSegment) < firstSegment;
      if (left) await this.#unlink(name).catch(() => {});
    }
  }

  // ---- Writing ----------------------------------------------------------------------------------

  // Runs additions one at a time, in the order of the calls.
  #add(sequence: number, add: () => Promise<void>): Promise<void> {
    const adding = this.#adding.then(async () => {
      this.#last = Math.max(this.#last, sequence);
      await add();
    });
    this.#adding = adding.catch(() => {});
    return adding;
  }

  // Runs calls that remove files, or need all files, one at a time, in the order of the calls.
  #afterRemovals<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#lastRemoval.then(call);
    this.#lastRemoval = done.catch(() => {});
    return done;
  }

  // Throws "fenced" if another owner wrote here. The folder's lock normally prevents that
  // (folder-lock.ts); where it can't, these checks find most cases.
  async #requireOwner(): Promise<void> {
    await this.#requireOurManifest();
    const names = await this.#mappingErrors(this.#fs.readdir(this.#folder));
    const beyond = numbers("wal-", names).find((sequence) => sequence > this.#last);
    if (beyond !== undefined) throw fencedError(segmentName(beyond));
  }

  async #requirePredecessor(sequence: number): Promise<void> {
    const before = this.#path(segmentName(sequence - 1));
    const there = await this.#fs.stat(before).catch(() => undefined);
    if (there === undefined) await this.#requireOurManifest();
  }

  async #requireOurManifest(): Promise<void> {
    const there = await this.#fs.readFile(this.#path(manifestName)).catch(async (error) => {
      const failure = await this.#storageErrorFrom(error);
      if (systemErrorCode(error) !== "ENOENT" || failure.failure === "gone") throw failure;
      return undefined;
    });
    const ours = [this.#manifest, this.#attempted].some((m) => m && there && equalBytes(m, there));
    if (!ours && there !== this.#manifest) throw fencedError(manifestName);
  }

  async #addStrict(sequence: number, bytes: Uint8Array): Promise<void> {
    const temporary = await this.#writeTemporary(bytes, "flushed");
    const name = segmentName(sequence);
    try {
      await this.#mappingErrors(this.#flushRelaxed());
      if (!(await this.#publish(temporary, name))) {
        await this.#requireSame(name, bytes);
        await this.#mappingErrors(this.#flush(name));
      }
    } finally {
      await this.#unlink(temporary).catch(() => {});
    }
    await this.#flushNames();
  }

  async #addRelaxed(
    sequence: number,
    bytes: Uint8Array,
    taken: "may be ours" | "fences" = "may be ours",
  ): Promise<void> {
    const temporary = await this.#writeTemporary(bytes, "not flushed");
    const name = segmentName(sequence);
    const second = relaxedName(sequence, this.#hash(bytes));
    await this.#mappingErrors(this.#fs.rename(this.#path(temporary), this.#path(second)));
    try {
      if (!(await this.#publish(second, name))) {
        if (taken === "fences") throw fencedError(name);
        await this.#requireSame(name, bytes);
      }
    } catch (error) {
      await this.#unlink(second).catch(() => {});
      throw error;
    }
    this.#relaxed.set(sequence, second);
  }

  // Links or renames a file to its final name. Returns false if the name is taken.
  async #publish(from: string, name: string): Promise<boolean> {
    try {
      await this.#fs.link(this.#path(from), this.#path(name));
      return true;
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") return false;
      if (!lacksLinks(error)) throw await this.#storageErrorFrom(error);
    }
    // A file system without links: only the lock prevents two owners, and every segment is flushed.
    return this.#mappingErrors(
      (async () => {
        const names = await this.#fs.readdir(this.#folder);
        if (names.includes(name)) return false;
        await this.#flush(from);
        await this.#fs.rename(this.#path(from), this.#path(name));
        return true;
      })(),
    );
  }

  async #requireSame(name: string, bytes: Uint8Array): Promise<void> {
    const there = await this.#read(name);
    if (there !== undefined && equalBytes(there, bytes)) return;
    throw fencedError(name);
  }

  // Flushes all relaxed segments, then removes their second links.
  async #flushRelaxed(): Promise<void> {
    for (const sequence of this.#relaxed.keys()) {
      await this.#flush(segmentName(sequence)).catch((error: unknown) => {
        if (this.#relaxed.has(sequence)) throw error; // otherwise a checkpoint removed it meanwhile
      });
    }
    for (const [sequence, second] of this.#relaxed) {
      await this.#unlink(second);
      this.#relaxed.delete(sequence);
    }
  }

  // Writes and flushes a file, replacing the file with that name.
  async #replace(name: string, bytes: Uint8Array): Promise<void> {
    const temporary = await this.#writeTemporary(bytes, "flushed");
    await this.#mappingErrors(this.#fs.rename(this.#path(temporary), this.#path(name)));
  }

  async #writeTemporary(bytes: Uint8Array, how: "flushed" | "not flushed"): Promise<string> {
    const name = temporaryPrefix + crypto.randomUUID();
    try {
      const file = await this.#fs.open(this.#path(name), "wx");
      try {
        await writeAll(file, bytes);
        if (how === "flushed") await file.datasync();
      } finally {
        await file.close();
      }
      return name;
    } catch (error) {
      await this.#unlink(name).catch(() => {});
      throw await this.#storageErrorFrom(error);
    }
  }

  // Deletes segments in the given order. Each segment is deleted before its second link.
  async #dropSegments(sequences: readonly number[]): Promise<void> {
    for (const sequence of sequences) {
      const second = this.#relaxed.get(sequence);
      this.#relaxed.delete(sequence);
      await this.#unlink(segmentName(sequence));
      if (second !== undefined) await this.#unlink(second);
    }
  }

  async #unlink(name: string): Promise<void> {
    try {
      await this.#fs.unlink(this.#path(name));
    } catch (error) {
      if (systemErrorCode(error) !== "ENOENT") throw error;
    }
  }

  async #flush(name: string): Promise<void> {
    const file = await this.#fs.open(this.#path(name), "r+");
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  #flushFolder(): Promise<void> {
    return flushFolder(this.#folder, this.#fs);
  }

  // Flushes the folder after files were linked or renamed. Rejects with "unknown" on failure: the
  // files exist, but may not survive a loss of power.
  async #flushNames(): Promise<void> {
    try {
      await this.#flushFolder();
    } catch (error) {
      throw new StorageError("unknown", `The folder could not be flushed: ${String(error)}`, error);
    }
  }

  // ---- Errors and ends --------------------------------------------------------------------------

  async #mappingErrors<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw await this.#storageErrorFrom(error);
    }
  }

  async #storageErrorFrom(error: unknown): Promise<StorageError> {
    if (systemErrorCode(error) !== "ENOENT") return storageErrorFrom(error);
    const folder = await this.#fs.stat(this.#folder).catch(() => undefined);
    if (folder !== undefined) return storageErrorFrom(error);
    const message = `The folder ${this.#folder} was deleted while it was open.`;
    this.#fatalError = new StorageError("gone", message, error);
    return this.#fatalError;
  }

  // Runs a call, and lets close() wait for it. Rejects after a fatal error.
  async #track<T>(call: () => Promise<T>): Promise<T> {
    if (this.#fatalError !== undefined) throw this.#fatalError;
    const running = call();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #path(name: string): string {
    return `${this.#folder}/${name}`;
  }
}

// ---- Helpers ------------------------------------------------------------------------------------

function relaxedName(sequence: number, hash: string): string {
  return `relaxed-${sequence.toString(16).padStart(16, "0")}-${hash}`;
}

function numbers(prefix: "wal-" | "part-", names: readonly string[]): number[] {
  return names
    .map((name) => numberFromName(prefix, name))
    .filter((number) => number !== undefined)
    .sort((a, b) => a - b);
}

// Yields the results in the order of the keys, reading up to `readAhead` files ahead.
async function* readInOrder<T>(
  keys: readonly number[],
  read: (key: number) => Promise<T>,
): AsyncGenerator<[key: number, value: T]> {
  const ahead: Promise<T>[] = [];
  for (const [at, key] of keys.entries()) {
    for (let next = at + ahead.length; ahead.length < readAhead && next < keys.length; ++next) {
      const reading = read(keys[next] as number);
      reading.catch(() => {}); // it is awaited later, or not at all
      ahead.push(reading);
    }
    yield [key, (await ahead.shift()) as T];
  }
}

async function writeAll(file: NodeFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
  }
}

function lacksLinks(error: unknown): boolean {
  return ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(systemErrorCode(error));
}
