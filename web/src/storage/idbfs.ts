// The log in the IndexedDB database of an IDBFS mount. IDBFS creates the database and defines the
// form of its entries, so a program that mounts the folder and calls FS.syncfs(true) reads these
// files. The transactions are our own: FS.syncfs rewrites whole files, requests no durability, and
// never calls back when the disk is full.

import { freeBytes } from "../util/free-bytes.ts";
import { deleteDatabase, mountPoint } from "./idbfs-database.ts";
import {
  claimFile,
  contentsOf,
  equalContents,
  fileEntry,
  IdbfsEntries,
  timestampOf,
} from "./idbfs-entries.ts";
import { IdbfsFencing, type OwnershipCheck } from "./idbfs-fencing.ts";
import { type LogSummary, readLog, readParts, readSegments } from "./idbfs-log-reader.ts";
import { IdbfsReserve } from "./idbfs-reserve.ts";
import { errorName, requestResult } from "./idbfs-transaction.ts";
import { forceNewLevelDbLog } from "./leveldb-log.ts";
import {
  fencedError,
  type LogReceiver,
  type LogStorage,
  manifestName,
  type ObsoleteFiles,
  type OnPart,
  type OnSegment,
  partName,
  type SegmentDurability,
  StorageError,
  segmentName,
} from "./log-storage.ts";
import { ReconnectingDatabase, type TransactionOptions } from "./reconnecting-database.ts";

// An empty entry between the keys of the parts and those of the segments; no segment has number 0.
// Chromium iterates over deleted entries slowly until it compacts them, and checkpoints delete many
// segments. A read of all part keys ends at this entry instead of at the deleted segments.
const fencePost = segmentName(0);
// Chromium stores values of up to 64 kB (as cloned, and compressed if that helps) with their keys.
// It writes each larger value to its own file, which is slower for each byte.
const inlineBytes = 65_000;
const deleteWaitMs = 3000;

export interface IdbfsOptions {
  store: string; // the store's name
  factory: IDBFactory;
  // Opens the database, creating it if needed, like IDBFS.getDB of the module.
  connect: (mountPoint: string) => Promise<IDBDatabase>;
  onReopened?: () => void; // called when a lost connection was re-established
  now?: () => number; // a monotonic clock in ms
}

type Addition = [
  sequence: number,
  segments: readonly Uint8Array[],
  durability: SegmentDurability,
  addAfter: (files: IDBObjectStore, add: () => void) => OwnershipCheck | Promise<OwnershipCheck>,
];

export class IdbfsStorage implements LogStorage {
  readonly segmentBytes = inlineBytes;
  readonly reserve: IdbfsReserve;
  readonly #factory: IDBFactory;
  readonly #mount: string;
  readonly #now: () => number;
  readonly #database: ReconnectingDatabase;
  readonly #entries: IdbfsEntries;
  readonly #fencing: IdbfsFencing;
  // The first segment of an addition whose outcome is unknown.
  #uncertainSegment: number | undefined;

  static async open(options: IdbfsOptions): Promise<IdbfsStorage> {
    const connecting = options.connect(mountPoint(options.store));
    const newLog = forceNewLevelDbLog(options.factory); // while the connection opens
    newLog.catch(() => {}); // the first write begins one again
    return new IdbfsStorage(options, await connecting, newLog);
  }

  private constructor(options: IdbfsOptions, connection: IDBDatabase, newLog: Promise<void>) {
    this.#factory = options.factory;
    this.#mount = mountPoint(options.store);
    this.#now = options.now ?? (() => performance.now());
    this.#entries = new IdbfsEntries(this.#mount);
    this.#fencing = new IdbfsFencing(this.#entries);
    this.#database = new ReconnectingDatabase(connection, {
      name: this.#mount,
      factory: options.factory,
      newLog,
      onLost: () => this.#fencing.onConnectionLost(),
      onReopened: options.onReopened,
    });
    this.reserve = new IdbfsReserve({
      entries: this.#entries,
      read: (body) => this.#database.transact("readonly", undefined, body),
      write: (body) => this.#write("relaxed", body),
      requireOwner: (files) => this.#fencing.requireOwner(files),
    });
  }

  async load(reader: LogReceiver): Promise<number[]> {
    const log = await this.#read(reader, "missing");
    this.#fencing.onLoaded(log);
    return log.orphans;
  }

  async readSegments(first: number, segment: OnSegment): Promise<void> {
    await this.#database.readOnce(async (files) => {
      const before = this.#fencing.requireOurManifest(files);
      const end = this.#fencing.lastSegment + 1; // later ones belong to another owner
      await readSegments(this.#entries, files, { first, end, before }, segment);
    });
  }

  async readWhileInUse(reader: LogReceiver): Promise<number[]> {
    return (await this.#read(reader, "all")).orphans;
  }

  // Repeats the read if the connection breaks, so `part` may receive a part twice.
  async readParts(ids: readonly number[], part: OnPart): Promise<void> {
    await this.#database.transact("readonly", undefined, async (files) => {
      await readParts(this.#entries, files, ids, async (id, bytes) => {
        if (bytes === undefined) await this.#fencing.requireOurManifest(files);
        part(id, bytes);
        if (bytes !== undefined) freeBytes(bytes);
      });
    });
  }

  async claim(sequence: number, bytes: Uint8Array): Promise<void> {
    await this.#add(sequence, [bytes], "relaxed", async (files, add) => {
      // All requests are made at once, to save round trips. An error aborts the transaction, and
      // with it the claim.
      const unclaimed = this.#fencing.requireUnclaimed(files, sequence);
      add();
      await unclaimed;
      return () => true;
    });
  }

  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void> {
    return this.#add(sequence, segments, durability, (files, add) => {
      const isFresh = this.#fencing.isOwnershipFresh(this.#now());
      const isOurs = isFresh ? () => true : this.#fencing.startOwnershipCheck(files, sequence);
      add(); // in this turn of the event loop: a page that is being left has no other
      return isOurs;
    });
  }

  async putPart(id: number, bytes: Uint8Array): Promise<void> {
    const entry = fileEntry(bytes);
    await this.#write("relaxed", async (files) => {
      await this.#fencing.requireOwner(files);
      files.put(entry, this.#path(partName(id)));
    });
  }

  // Uses strict durability, because it deletes the segments that the parts replace: without a
  // flush, a loss of power could undo the parts but not the deletions. The flush includes the
  // parts, which are in the same database.
  async commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    const { segmentsBelow, historyFrom = segmentsBelow } = obsolete;
    const timestamp = this.#fencing.beginManifest(segmentsBelow);
    const path = this.#path(manifestName);
    const entry = fileEntry(bytes.slice(), undefined, timestamp);
    let stored = timestamp.getTime(); // the timestamp with which the manifest is stored
    let attempts = 0;
    const commit = async (files: IDBObjectStore) => {
      attempts += 1;
      // An earlier attempt may have been stored although its connection was lost.
      const there = await requestResult<unknown>(files.get(path));
      if (equalContents(contentsOf(there), entry.contents)) {
        stored = timestampOf(there) ?? stored;
        return;
      }
      await this.#fencing.requireOwner(files);
      await this.#fencing.findOldClaims(files);
      files.put(entry, path);
      files.put(fileEntry(new Uint8Array()), this.#path(fencePost));
      for (const range of this.#fencing.deletableSegmentRanges(historyFrom)) files.delete(range);
      for (const id of obsolete.obsoleteParts) files.delete(this.#path(partName(id)));
    };
    await this.#write("strict", commit).catch((error: unknown) => {
      const replaced = error instanceof StorageError && error.failure === "fenced";
      throw replaced && attempts > 1 ? unknownOutcomeError(path) : error;
    });
    this.#fencing.onManifestCommitted(stored);
  }

  async deleteParts(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#write("relaxed", async (files) => {
      await this.#fencing.requireOwner(files);
      for (const id of ids) files.delete(this.#path(partName(id)));
    });
  }

  async deleteLog(): Promise<void> {
    await this.close();
    await deleteDatabase(this.#factory, this.#mount, deleteWaitMs);
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #read(reader: LogReceiver, parts: "missing" | "all"): Promise<LogSummary> {
    return this.#database.readOnce((files) => readLog(this.#entries, files, reader, parts));
  }

  // An addition may take several transactions. close() waits for all of them: with fewer, a stored
  // segment could be reported as not stored.
  #add(...addition: Addition): Promise<void> {
    return this.#database.track(() => this.#addTracked(...addition));
  }

  async #addTracked(...[sequence, segments, durability, addAfter]: Addition): Promise<void> {
    const isClaim = !this.#fencing.hasClaimed;
    const added = segments.map((bytes, i) => ({
      path: this.#path(segmentName(sequence + i)),
      entry: fileEntry(bytes, isClaim && i === 0 ? claimFile : undefined),
    }));
    const paths = added.map(({ path }) => path);
    const again = this.#uncertainSegment === sequence;
    this.#uncertainSegment = undefined;
    const contents = added.map(({ entry }) => entry.contents);
    this.#fencing.beginAdding(sequence, contents);
    let attempts = 0;
    let began = 0;
    let connection: IDBDatabase | undefined;
    try {
      const attempt = (files: IDBObjectStore) => {
        attempts += 1;
        began = this.#now();
        connection = this.#database.currentConnection;
        return addAfter(files, () => {
          for (const { path, entry } of added) files.add(entry, path);
        });
      };
      const isOurs = await this.#write(durability, attempt, {
        mayHaveCommittedBefore: again,
        isPartOfCall: true,
      });
      if (!(await isOurs())) await this.#onCoveredByOther(paths, attempts);
    } catch (error) {
      if (error instanceof StorageError && error.failure === "unknown")
        this.#uncertainSegment = sequence;
      if (errorName(error) !== "ConstraintError") throw error;
      began = Number.NEGATIVE_INFINITY; // another owner may have added a segment since
      this.#uncertainSegment = sequence; // until it is known whose segments these are
      if (!(await this.#haveContents(paths, contents))) throw fencedError(paths.join(), error);
      this.#uncertainSegment = undefined;
    } finally {
      this.#fencing.endAdding(sequence, segments.length);
    }
    this.#fencing.onAdded(sequence, segments.length, isClaim);
    if (this.#database.currentConnection === connection) this.#fencing.noteOwnedAt(began);
  }

  // Resolves to whether the files have these contents. If segments could not be added because their
  // numbers are used, either an earlier attempt was stored although its connection was lost, or
  // another owner has used one of the numbers.
  async #haveContents(paths: readonly string[], contents: readonly Uint8Array[]): Promise<boolean> {
    const read = (files: IDBObjectStore) =>
      Promise.all(paths.map((path) => requestResult<unknown>(files.get(path))));
    const there = await this.#write("relaxed", read, {
      mayHaveCommittedBefore: true, // the segments; so if this fails, the outcome is "unknown"
      isPartOfCall: true,
    });
    return contents.every((bytes, i) => equalContents(contentsOf(there[i]), bytes));
  }

  // Removes segments that were added below the first live segment of another owner, where they
  // could mislead other stale owners.
  async #onCoveredByOther(paths: readonly string[], attempts: number): Promise<never> {
    const remove = (files: IDBObjectStore) => {
      for (const path of paths) files.delete(path);
    };
    await this.#write("relaxed", remove, { isPartOfCall: true }).catch(() => {});
    const fenced = fencedError(manifestName);
    this.#database.rejectLaterCalls(fenced);
    throw attempts > 1 ? unknownOutcomeError(paths.join()) : fenced;
  }

  #write<T>(
    durability: SegmentDurability,
    body: (files: IDBObjectStore) => T | Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    return this.#database.transact("readwrite", durability, body, options);
  }

  #path(name: string): string {
    return this.#entries.path(name);
  }
}

// The error after several attempts, if another owner's checkpoint hides whether the first one was
// stored.
function unknownOutcomeError(path: string): StorageError {
  const message = `It is unknown whether ${path} was stored before the store's owner changed.`;
  return new StorageError("unknown", message);
}
