// The log as files in a folder, for Node.
//
//   wal-…, part-…, manifest       the log's files (log-storage.ts)
//   relaxed-<sequence>-<hash>     a second link to a segment that is not flushed yet, with the hash
//                                 of the segment's bytes
//   tmp-…                         a file that is being written, or left over from a crash
//   lock                          see folder-lock.ts
//
// Files appear only when complete: a file is written under a temporary name, flushed, and linked to
// its final name. Linking fails if the name is taken. "relaxed" segments are not flushed, so after
// a power failure their content may be damaged (torn). The hash in the name of the second link
// reveals this. Torn segments at the end of the log are lost writes, which "relaxed" permits; they
// are removed and not reported as damage. A strict segment first flushes all earlier relaxed
// segments, so what is stored is always a prefix of the log.

import { type NodeFile, type NodeFs, nodeModule, systemErrorCode } from "../util/node.ts";
import {
  deleteFolder,
  flushFolder,
  relaxedPattern,
  storageErrorFrom,
  temporaryPrefix,
} from "./log-folder.ts";
import {
  diffParts,
  equalBytes,
  fencedError,
  type LogReceiver,
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
  #manifest: Uint8Array | undefined; // as last loaded or committed
  // The manifest of the last commitManifest(). It may be stored even if that call failed.
  #attempted: Uint8Array | undefined;
  #last = 0; // sequence number of the newest segment that was loaded or added
  // Segments that are not flushed: the name of the second link by sequence number.
  readonly #relaxed = new Map<number, string>();
  #fatalError: StorageError | undefined; // the error of every later call
  // the last addition of a segment; additions run one at a time
  #adding: Promise<unknown> = Promise.resolve();
  // The last call that removes files or reads all of them. Such calls run one at a time.
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

  load(reader: LogReceiver): Promise<number[]> {
    return this.#track(async () => {
      const names = await this.#mappingErrors(this.#fs.readdir(this.#folder));
      const manifest = await this.#read(manifestName);
      this.#manifest = manifest;
      // A manifest that exists but cannot be read must not look like a new store. Empty bytes are
      // reported as a damaged manifest.
      const damaged = names.includes(manifestName) ? new Uint8Array() : undefined;
      const { parts, firstSegment } = reader.onManifest(manifest ?? damaged);
      const { missing, orphans } = diffParts(parts, numbers("part-", names));
      for (const id of missing) reader.onPart(id, undefined);
      this.#findRelaxed(names, firstSegment);
      const sequences = numbers("wal-", names).filter((sequence) => sequence >= firstSegment);
      const torn = await this.#readSegments(sequences, reader);
      this.#last = sequences.at(-1 - torn.length) ?? firstSegment - 1;
      // Removes the newest segment first, so that the others are a prefix even if the removal is
      // interrupted.
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

  // The order of the calls ensures that no files are removed during the read, and that the folder
  // is not listed in the middle of an addition.
  readAll(reader: LogReceiver): Promise<number[]> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        const listing = this.#adding.then(() =>
          this.#mappingErrors(this.#fs.readdir(this.#folder)),
        );
        this.#adding = listing.catch(() => {});
        const names = await listing;
        const manifest = await this.#read(manifestName);
        const damaged = names.includes(manifestName) ? new Uint8Array() : undefined;
        const { parts, firstSegment } = reader.onManifest(manifest ?? damaged);
        const { orphans } = diffParts(parts, numbers("part-", names));
        await this.#readAllParts(parts, reader);
        const sequences = numbers("wal-", names).filter((sequence) => sequence >= firstSegment);
        const read = (sequence: number) => this.#read(segmentName(sequence));
        for await (const [sequence, bytes] of readInOrder(sequences, read)) {
          reader.onSegment(sequence, bytes);
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

  // The rename stores the new manifest. Obsolete files that cannot be deleted afterwards do no
  // harm: the next load() removes the segments and reports the parts as orphans.
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        await this.#requireOwner();
        // makes the names of the new parts durable
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

  deleteParts(ids: readonly number[]): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        await this.#requireOwner();
        for (const id of ids) await this.#mappingErrors(this.#unlink(partName(id)));
      }),
    );
  }

  async deleteLog(): Promise<void> {
    await this.close();
    await deleteFolder(this.#folder, this.#fs);
  }

  // Flushes relaxed segments, so that the log of a closed store is complete even after a power
  // failure.
  async close(): Promise<void> {
    const first = this.#fatalError === undefined;
    this.#fatalError ??= new StorageError("closed", "The storage is closed.");
    await Promise.allSettled([...this.#running]);
    if (!first || this.#relaxed.size === 0) return;
    await this.#flushRelaxed()
      .then(() => this.#flushFolder())
      .catch(() => {}); // relaxed segments do not require a flush
  }

  // ---- Reading ----------------------------------------------------------------------------------

  async #readAllParts(ids: readonly number[], reader: LogReceiver): Promise<void> {
    const read = (id: number) => this.#read(partName(id));
    for await (const [id, bytes] of readInOrder(ids, read)) reader.onPart(id, bytes);
  }

  // Passes segments to the reader, up to the first torn one. Resolves to the numbers of the torn
  // segment and all later ones.
  async #readSegments(sequences: readonly number[], reader: LogReceiver): Promise<number[]> {
    const flushed = (sequence: number) => !this.#relaxed.has(sequence);
    const tail = sequences.findLastIndex(flushed) + 1;
    const read = (sequence: number) => this.#read(segmentName(sequence));
    let at = 0;
    for await (const [sequence, bytes] of readInOrder(sequences, read)) {
      if (at >= tail && !this.#isWhole(sequence, bytes)) return sequences.slice(at);
      reader.onSegment(sequence, bytes);
      ++at;
    }
    return [];
  }

  #isWhole(sequence: number, bytes: Uint8Array | undefined): boolean {
    // a missing file is damage; a power failure only tears files
    if (bytes === undefined) return true;
    return this.#relaxed.get(sequence) === relaxedName(sequence, this.#hash(bytes));
  }

  #findRelaxed(names: readonly string[], first: number): void {
    const there = new Set(names);
    for (const name of names) {
      const sequence = Number.parseInt(relaxedPattern.exec(name)?.[1] ?? "", 16);
      if (sequence >= first && there.has(segmentName(sequence))) this.#relaxed.set(sequence, name);
    }
  }

  // Returns a file's bytes. Returns undefined if it does not exist or the disk cannot read it.
  async #read(name: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#fs.readFile(this.#path(name));
    } catch (error) {
      if (["ENOENT", "EISDIR", "EIO"].includes(systemErrorCode(error))) return undefined;
      throw storageErrorFrom(error);
    }
  }

  // Removes files that remain from a crash.
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

  // Runs calls that remove files, or that need all files, one at a time and in the order of the
  // calls.
  #afterRemovals<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#lastRemoval.then(call);
    this.#lastRemoval = done.catch(() => {});
    return done;
  }

  // Throws "fenced" if another owner wrote to this folder. The folder's lock normally prevents a
  // second owner (folder-lock.ts). If it cannot, these checks find most cases.
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

  // Gives a temporary file its final name. Returns false if the name is taken.
  async #publish(from: string, name: string): Promise<boolean> {
    try {
      await this.#fs.link(this.#path(from), this.#path(name));
      return true;
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST") return false;
      if (!lacksLinks(error)) throw await this.#storageErrorFrom(error);
    }
    // The file system has no hard links. Here only the lock prevents two owners, and every segment
    // is flushed.
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
        // otherwise a checkpoint has removed the segment
        if (this.#relaxed.has(sequence)) throw error;
      });
    }
    for (const [sequence, second] of this.#relaxed) {
      await this.#unlink(second);
      this.#relaxed.delete(sequence);
    }
  }

  // Writes and flushes a file. Replaces an existing file with that name.
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

  // Deletes segments in the given order; each one before its second link, which marks it as
  // relaxed.
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

  // Flushes the folder after files got their names. Rejects with "unknown" on failure: the files
  // exist, but may not survive a power failure.
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

  // Runs a call, for which close() then waits. Rejects if an earlier error was fatal.
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

// Yields keys and values in the order of the keys. Reads up to `readAhead` files ahead.
async function* readInOrder<T>(
  keys: readonly number[],
  read: (key: number) => Promise<T>,
): AsyncGenerator<[key: number, value: T]> {
  const ahead: Promise<T>[] = [];
  for (const [at, key] of keys.entries()) {
    for (let next = at + ahead.length; ahead.length < readAhead && next < keys.length; ++next) {
      const reading = read(keys[next] as number);
      reading.catch(() => {}); // its error is reported when it is awaited
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
