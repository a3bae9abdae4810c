// The log as files in a folder, for Node.
//
//   wal-…, part-…, manifest-…     the log's files (log-storage.ts); log-folder.ts defines the names
//   relaxed-<sequence>-<hash>     a second link to a segment that is not flushed yet, with the hash
//                                 of the segment's bytes
//   tmp-…                         a file that is being written, or left over from a crash
//   tmp-reserve-…                 the reserve (folder-reserve.ts)
//   lock                          see folder-lock.ts
//
// "relaxed" segments are not flushed, so after a power failure their content may be damaged (torn).
// The hash in the name of the second link reveals this. Torn segments at the end of the log are
// lost writes, which "relaxed" permits; they are removed and not reported as damage. A strict
// segment first flushes all earlier relaxed segments, so what is stored is always a prefix of the
// log.
//
// Another process may own the log: the lock cannot exclude it in another container. Nothing here
// replaces or deletes a file that a later owner may need (FENCING.md, "Files in Node").

import { type NodeFs, nodeModule } from "../util/node.ts";
import { confirming, FolderFiles } from "./folder-files.ts";
import { FolderManifests, highestGeneration } from "./folder-manifests.ts";
import { FolderReserve } from "./folder-reserve.ts";
import {
  deleteLogFolder,
  ownedPartName,
  partFromName,
  relaxedName,
  relaxedPattern,
  reservePattern,
  segmentNumbers,
  temporaryPrefix,
} from "./log-folder.ts";
import {
  equalBytes,
  fencedError,
  type LogReceiver,
  type LogStorage,
  manifestName,
  missingAndOrphanParts,
  type ObsoleteFiles,
  type OnPart,
  type OnSegment,
  type SegmentDurability,
  StorageError,
  segmentName,
} from "./log-storage.ts";
import { type ReadBuffer, ReadBuffers } from "./read-buffers.ts";
import { RunningCalls } from "./running-calls.ts";

const readAhead = 8; // how many files are read ahead
const loadsMax = 10; // how often load() begins again because the manifest changed

// What a listing of the folder says.
interface Listing {
  names: readonly string[];
  generation: number | undefined; // of the manifest in force
  parts: Map<number, string>; // the name of each part, by id
}

export class NodeFilesStorage implements LogStorage {
  readonly #fs: NodeFs["promises"];
  readonly #folder: string;
  readonly #files: FolderFiles;
  readonly #manifests: FolderManifests;
  readonly #hash: (bytes: Uint8Array) => string;
  readonly reserve: FolderReserve;
  #parts = new Map<number, string>(); // the name of each known part, by id
  #last = 0; // sequence number of the newest segment that was loaded or added
  // Segments that are not flushed: the name of the second link by sequence number.
  readonly #relaxed = new Map<number, string>();
  #leftovers: string[] = []; // files without use, found by load(); claiming the log removes them
  #fatalError: StorageError | undefined; // the error of every later call
  // the last addition of a segment; additions run one at a time
  #adding: Promise<unknown> = Promise.resolve();
  // The last call that removes files or reads all of them. Such calls run one at a time.
  #lastRemoval: Promise<unknown> = Promise.resolve();
  readonly #running = new RunningCalls();
  readonly #readBuffers = new ReadBuffers();

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
    this.#files = new FolderFiles(folder, fs);
    this.#manifests = new FolderManifests(this.#files);
    this.#hash = hash;
    this.reserve = new FolderReserve({
      files: this.#files,
      asOwner: (call) => this.#track(() => this.#asOwner(call)),
      whenInForce: (call) =>
        this.#track(async () => {
          await this.#manifests.requireInForce();
          await call();
        }),
    });
  }

  // Another owner's checkpoint may remove files during the load, which then begins again. The
  // folder changes only if there are torn segments.
  load(reader: LogReceiver): Promise<number[]> {
    return this.#track(async () => {
      for (let loads = 1; ; ++loads) {
        try {
          return await this.#loadOnce(reader);
        } catch (error) {
          if (!(error instanceof ManifestChanged)) throw error;
          if (loads === loadsMax) throw fencedError(`${loadsMax} checkpoints`, error);
        }
      }
    });
  }

  readParts(ids: readonly number[], part: OnPart): Promise<void> {
    return this.#track(async () => {
      const reads: Promise<void>[] = [];
      try {
        for (const id of ids) {
          const before = reads.at(-1);
          const read = this.#readBuffers.use((buffer) => this.#passPart(id, buffer, before, part));
          read.catch(() => {}); // reported below
          reads.push(read);
          await reads.at(-readAhead);
        }
        await Promise.all(reads);
      } finally {
        await Promise.allSettled(reads);
      }
    });
  }

  // Reads a part, and passes it on when the part before it has been passed on.
  async #passPart(
    id: number,
    buffer: ReadBuffer,
    before: Promise<void> | undefined,
    part: OnPart,
  ): Promise<void> {
    const name = this.#parts.get(id);
    const bytes = name === undefined ? undefined : await this.#files.readInto(buffer, name);
    await before;
    if (bytes === undefined) await this.#manifests.requireInForce();
    part(id, bytes);
  }

  readSegments(first: number, segment: OnSegment): Promise<void> {
    return this.#track(async () => {
      await this.#manifests.requireInForce();
      const sequences = Array.from({ length: this.#last - first + 1 }, (_, i) => first + i);
      const read = (sequence: number) => this.#files.read(segmentName(sequence));
      for await (const [sequence, bytes] of readInOrder(sequences, read)) {
        if (bytes === undefined) await this.#manifests.requireInForce();
        if (!segment(sequence, bytes)) return;
      }
    });
  }

  // The order of the calls ensures that no files are removed during the read, and that the folder
  // is not listed in the middle of an addition. Another owner may still remove files; the read then
  // rejects with "fenced".
  readWhileInUse(reader: LogReceiver): Promise<number[]> {
    return this.#track(() =>
      this.#afterRemovals(async () => {
        const reading = this.#adding.then(() => this.#list());
        this.#adding = reading.catch(() => {});
        try {
          return await this.#readEverything(await reading, reader);
        } catch (error) {
          throw error instanceof ManifestChanged ? fencedError(manifestName, error) : error;
        }
      }),
    );
  }

  // A claim is a segment, which another owner that loaded the same log cannot add too, and a
  // generation of the manifest, without which a previous owner cannot commit.
  claim(sequence: number, bytes: Uint8Array): Promise<void> {
    const taken = sequence > this.#last ? "fences" : "may be ours";
    const adding = this.#track(() =>
      this.#add(sequence, () => this.#addRelaxed(sequence, bytes, taken)),
    );
    return adding.catch((error: unknown) => {
      // A claim holds no writes, so it does not matter whether it is stored.
      const { cause } = error as StorageError;
      throw cause instanceof StorageError && cause.failure === "fenced" ? cause : error;
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
        if (durability === "strict") await this.#addStrict(sequence, bytes);
        else await this.#addRelaxed(sequence, bytes, "may be ours");
      }),
    );
  }

  // Other owners' parts have other names, even if they have the same id.
  putPart(id: number, bytes: Uint8Array): Promise<void> {
    return this.#track(() =>
      this.#asOwner(async () => {
        const name = ownedPartName(id, this.#manifests.owner);
        await this.#files.replace(name, bytes);
        this.#parts.set(id, name);
      }),
    );
  }

  // Taking a generation stores the new manifest. Obsolete files that cannot be deleted afterwards
  // do no harm: the next owner removes the segments, and load() reports the parts as orphans.
  commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(() =>
        this.#asOwner(async () => {
          const { segmentsBelow, historyFrom = segmentsBelow, flushesSegments } = obsolete;
          if (flushesSegments || historyFrom < segmentsBelow) await this.#flushSegments();
          await this.#files.flushFolder(); // makes the names of the new parts durable
          await this.#manifests.commit(bytes);
          await this.#files.flushNames();
          await this.#removeObsolete(obsolete).catch(() => {});
        }),
      ),
    );
  }

  deleteParts(ids: readonly number[]): Promise<void> {
    return this.#track(() =>
      this.#afterRemovals(() => this.#asOwner(() => this.#removeParts(ids))),
    );
  }

  async deleteLog(): Promise<void> {
    await this.close();
    await deleteLogFolder(this.#folder, this.#fs);
  }

  // Flushes relaxed segments, so that the log of a closed store is complete even after a power
  // failure.
  async close(): Promise<void> {
    const first = this.#fatalError === undefined;
    this.#fatalError ??= new StorageError("closed", "The storage is closed.");
    await this.#running.whenEnded();
    if (!first || this.#relaxed.size === 0) return;
    await this.#flushRelaxed()
      .then(() => this.#files.flushFolder())
      .catch(() => {}); // relaxed segments do not require a flush
  }

  // ---- Reading ----------------------------------------------------------------------------------

  async #list(): Promise<Listing> {
    const names = await this.#files.list();
    const owners = new Map<number, number>();
    for (const name of names) {
      const { id, owner } = partFromName(name) ?? { id: 0, owner: -1 };
      if (owner > (owners.get(id) ?? -1)) owners.set(id, owner);
    }
    const parts = new Map([...owners].map(([id, owner]) => [id, ownedPartName(id, owner)]));
    return { names, generation: highestGeneration(names), parts };
  }

  async #loadOnce(reader: LogReceiver): Promise<number[]> {
    const listing = await this.#list();
    const { names, generation, parts } = listing;
    if (!(await this.#manifests.onLoaded(generation))) throw new ManifestChanged();
    this.#parts = parts;
    this.#relaxed.clear();
    const named = reader.onManifest(await this.#readManifest(listing));
    const { missing, orphans } = missingAndOrphanParts(
      named.parts,
      [...parts.keys()].sort((a, b) => a - b),
    );
    const sequences = segmentNumbers(names).filter((sequence) => sequence >= named.firstSegment);
    const hasGap = sequences.some((sequence, i) => sequence !== named.firstSegment + i);
    if (missing.length > 0 || hasGap) await this.#requireUnchanged(listing);
    for (const id of missing) reader.onPart(id, undefined);
    const torn = await this.#readSegments(listing, sequences, reader);
    // A listing may miss a manifest that was created meanwhile.
    if (!(await this.#manifests.isInForce())) throw new ManifestChanged();
    this.#last = sequences.at(-1 - torn.length) ?? named.firstSegment - 1;
    // Removes the newest segment first, so that the others are a prefix even if the removal is
    // interrupted.
    await this.#dropSegments(torn.reverse());
    this.#leftovers = this.#findLeftovers(listing, named.historyFrom ?? named.firstSegment);
    return orphans;
  }

  async #readEverything(listing: Listing, reader: LogReceiver): Promise<number[]> {
    const { names, parts } = listing;
    const named = reader.onManifest(await this.#readManifest(listing));
    const { orphans } = missingAndOrphanParts(
      named.parts,
      [...parts.keys()].sort((a, b) => a - b),
    );
    for await (const [id, bytes] of readInOrder(named.parts, (id) => this.#readPart(id, parts))) {
      if (bytes === undefined) await this.#requireUnchanged(listing);
      reader.onPart(id, bytes);
    }
    const sequences = segmentNumbers(names).filter((sequence) => sequence >= named.firstSegment);
    const read = (sequence: number) => this.#files.read(segmentName(sequence));
    for await (const [sequence, bytes] of readInOrder(sequences, read)) {
      if (bytes === undefined) await this.#requireUnchanged(listing);
      reader.onSegment(sequence, bytes);
    }
    return orphans;
  }

  async #readManifest(listing: Listing): Promise<Uint8Array | undefined> {
    const bytes = await this.#manifests.read(listing.generation);
    if (bytes?.length === 0) await this.#requireUnchanged(listing);
    return bytes;
  }

  async #readPart(id: number, parts: Map<number, string>): Promise<Uint8Array | undefined> {
    const name = parts.get(id);
    return name === undefined ? undefined : this.#files.read(name);
  }

  // Called before damage is reported. Throws ManifestChanged if another owner's checkpoint may be
  // the reason why a file is missing.
  async #requireUnchanged({ generation }: Listing): Promise<void> {
    if (highestGeneration(await this.#files.list()) !== generation) throw new ManifestChanged();
  }

  // Passes segments to the reader, up to the first torn one. Resolves to the numbers of the torn
  // segment and all later ones.
  async #readSegments(
    listing: Listing,
    sequences: readonly number[],
    reader: LogReceiver,
  ): Promise<number[]> {
    const relaxed = findRelaxed(listing.names);
    let tail = sequences.length;
    while (tail > 0 && relaxed.has(sequences[tail - 1] as number)) --tail;
    const read = (sequence: number) => this.#files.read(segmentName(sequence));
    let at = 0;
    for await (const [sequence, bytes] of readInOrder(sequences, read)) {
      if (bytes === undefined) await this.#requireUnchanged(listing);
      const seconds = relaxed.get(sequence) ?? [];
      if (at >= tail && (await this.#isTorn(sequence, bytes, seconds))) return sequences.slice(at);
      const [second] = seconds;
      if (second !== undefined) this.#relaxed.set(sequence, second);
      reader.onSegment(sequence, bytes);
      ++at;
    }
    return [];
  }

  // `seconds`: names of relaxed segments with this number. A stale owner may have left one of them,
  // which then is not a link to the segment's file.
  async #isTorn(
    sequence: number,
    bytes: Uint8Array | undefined,
    seconds: readonly string[],
  ): Promise<boolean> {
    // a missing file is damage; a power failure only tears files
    if (bytes === undefined || seconds.includes(relaxedName(sequence, this.#hash(bytes))))
      return false;
    for (const second of seconds) {
      if (!(await this.#files.isSameFile(segmentName(sequence), second))) continue;
      this.#relaxed.set(sequence, second);
      return true;
    }
    return false;
  }

  // Returns the files that remain from a crash, or from a stale owner; segments in ascending order.
  // `firstKept`: earlier segments are not needed.
  #findLeftovers({ names, parts }: Listing, firstKept: number): string[] {
    const kept = new Set([...this.#relaxed.values(), ...parts.values()]);
    const others = names.filter(
      (name) =>
        (name.startsWith(temporaryPrefix) && !reservePattern.test(name)) ||
        ((relaxedPattern.test(name) || partFromName(name) !== undefined) && !kept.has(name)),
    );
    const unneeded = segmentNumbers(names).filter((sequence) => sequence < firstKept);
    return [...others, ...unneeded.map(segmentName)];
  }

  // ---- Writing ----------------------------------------------------------------------------------

  // Runs additions one at a time, in the order of the calls. The first one claims the log. A number
  // is free again if a later owner's checkpoint has removed its segment. The addition is therefore
  // stored only if no other owner has taken a generation since.
  #add(sequence: number, add: () => Promise<void>): Promise<void> {
    const adding = this.#adding.then(() =>
      this.#asFencedIfReplaced(async () => {
        await this.#manifests.requireInForce();
        this.#last = Math.max(this.#last, sequence);
        await add();
        if (!this.#manifests.isOwned) await this.#claimGeneration(sequence);
        else if (!(await confirming(segmentName(sequence), this.#manifests.isInForce())))
          throw unknownOutcomeError(sequence);
      }),
    );
    this.#adding = adding.catch(() => {});
    return adding;
  }

  async #claimGeneration(sequence?: number): Promise<void> {
    try {
      await this.#manifests.claim();
    } catch (error) {
      throw sequence === undefined ? error : unknownOutcomeError(sequence, error);
    }
    // An equal claim that was left over has the same second name as ours.
    const ours = new Set(this.#relaxed.values());
    const leftovers = this.#leftovers.filter((name) => !ours.has(name));
    this.#leftovers = [];
    for (const name of leftovers) await this.#files.unlink(name).catch(() => {});
  }

  // Runs calls that remove files, or that need all files, one at a time and in the order of the
  // calls.
  #afterRemovals<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#lastRemoval.then(call);
    this.#lastRemoval = done.catch(() => {});
    return done;
  }

  // Makes a call that only the owner may make. Throws "fenced" if there is another owner.
  #asOwner(call: () => Promise<void>): Promise<void> {
    return this.#asFencedIfReplaced(async () => {
      if (this.#manifests.isOwned) await this.#manifests.requireInForce();
      else await this.#claimGeneration();
      const next = this.#last + 1;
      const isThere = await this.#files.exists(segmentName(next));
      if (isThere && this.#last < next) throw fencedError(segmentName(next));
      await call();
    });
  }

  // A successor removes temporary files. A call that needs them then fails, and is fenced.
  async #asFencedIfReplaced(call: () => Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      const aborted = error instanceof StorageError && error.failure === "aborted";
      if (aborted && !(await this.#manifests.isInForce().catch(() => true)))
        throw fencedError(manifestName, error);
      throw error;
    }
  }

  async #addStrict(sequence: number, bytes: Uint8Array): Promise<void> {
    const temporary = await this.#files.writeTemporary(bytes, "flushed");
    const name = segmentName(sequence);
    try {
      await this.#flushRelaxed();
      if (!(await this.#files.publish(temporary, name))) {
        await this.#requireSame(name, bytes);
        await this.#files.flush(name);
      }
    } finally {
      await this.#files.unlink(temporary).catch(() => {});
    }
    await this.#files.flushNames();
  }

  async #addRelaxed(
    sequence: number,
    bytes: Uint8Array,
    taken: "may be ours" | "fences",
  ): Promise<void> {
    const temporary = await this.#files.writeTemporary(bytes, "not flushed");
    const name = segmentName(sequence);
    const second = relaxedName(sequence, this.#hash(bytes));
    if (this.#relaxed.get(sequence) === second) return; // the outcome of the first call was unknown
    await this.#files.rename(temporary, second);
    try {
      if (!(await this.#files.publish(second, name))) {
        if (taken === "fences") throw fencedError(name);
        await this.#requireSame(name, bytes);
      }
    } catch (error) {
      // An equal claim of another owner has the same second name.
      if (taken !== "fences" || !(await this.#files.exists(name).catch(() => true)))
        await this.#files.unlink(second).catch(() => {});
      throw error;
    }
    this.#relaxed.set(sequence, second);
  }

  async #requireSame(name: string, bytes: Uint8Array): Promise<void> {
    const there = await this.#files.read(name);
    if (there === undefined) throw new StorageError("unknown", `${name} cannot be read.`);
    if (!equalBytes(there, bytes)) throw fencedError(name);
  }

  // Does the same after the additions in progress.
  #flushSegments(): Promise<void> {
    const flushing = this.#adding.then(() => this.#flushRelaxed());
    this.#adding = flushing.catch(() => {});
    return flushing;
  }

  // Flushes all relaxed segments, then removes their second links.
  async #flushRelaxed(): Promise<void> {
    for (const sequence of this.#relaxed.keys()) {
      await this.#files.flush(segmentName(sequence)).catch((error: unknown) => {
        // otherwise a checkpoint has removed the segment
        if (this.#relaxed.has(sequence)) throw error;
      });
    }
    for (const [sequence, second] of this.#relaxed) {
      await this.#files.unlink(second);
      this.#relaxed.delete(sequence);
    }
  }

  // ---- Removing ---------------------------------------------------------------------------------

  // Removes what a stored manifest makes obsolete. Part ids of a manifest are never used again, and
  // segment numbers only grow, so this harms no later owner.
  async #removeObsolete(obsolete: ObsoleteFiles): Promise<void> {
    const { segmentsBelow, historyFrom = segmentsBelow, obsoleteParts } = obsolete;
    const names = await this.#files.list();
    const below = segmentNumbers(names).filter((n) => n < historyFrom);
    await this.#dropSegments(below).catch(() => {});
    await this.#removeParts(obsoleteParts).catch(() => {});
    await this.#manifests.removeOlder(names);
  }

  async #removeParts(ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const name = this.#parts.get(id);
      if (name !== undefined) await this.#files.unlink(name);
      if (this.#parts.get(id) === name) this.#parts.delete(id);
    }
  }

  // Deletes segments in the given order; each one before its second link, which marks it as
  // relaxed.
  async #dropSegments(sequences: readonly number[]): Promise<void> {
    for (const sequence of sequences) {
      const second = this.#relaxed.get(sequence);
      this.#relaxed.delete(sequence);
      await this.#files.unlink(segmentName(sequence));
      if (second !== undefined) await this.#files.unlink(second);
    }
  }

  // Runs a call, for which close() then waits. Rejects if an earlier error was fatal.
  #track<T>(call: () => Promise<T>): Promise<T> {
    const fatal = this.#fatalError ?? this.#files.gone;
    return fatal === undefined ? this.#running.run(call) : Promise.reject(fatal);
  }
}

// ---- Helpers ------------------------------------------------------------------------------------

// Thrown when a file is missing, and the manifest in force is not the one that was read before.
class ManifestChanged extends Error {}

// Another owner's generation was found after a segment had got its name: the segment is stored if
// the other owner has loaded it.
function unknownOutcomeError(sequence: number, cause?: unknown): StorageError {
  const name = segmentName(sequence);
  const message = `It is unknown whether ${name} was stored before the store's owner changed.`;
  return new StorageError("unknown", message, cause);
}

// Returns the names of second links, by the number of the segment.
function findRelaxed(names: readonly string[]): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const name of names) {
    const digits = relaxedPattern.exec(name)?.[1];
    if (digits === undefined) continue;
    const sequence = Number.parseInt(digits, 16);
    found.set(sequence, [...(found.get(sequence) ?? []), name]);
  }
  return found;
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
