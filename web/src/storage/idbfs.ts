// The log in the IndexedDB database of an IDBFS mount. IDBFS creates the database and defines the
// form of its entries, so a program that mounts the folder and calls FS.syncfs(true) reads these
// files. The transactions are our own: FS.syncfs rewrites whole files, requests no durability, and
// never calls back when the disk is full.

import { StoreError } from "../errors.ts";
import {
  deleteDatabase,
  type FileEntry,
  fileStoreName,
  forceNewLevelDbLog,
  mountPoint,
  openExisting,
} from "./idbfs-database.ts";
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

const regularFile = 0o100644; // what IDBFS stores for a file of mode rw-r--r--
// The mode of an owner's first segment, with the sticky bit, so that later owners recognise a
// claim.
const claimFile = 0o101644;
const claimsKept = 8; // how many of the last claims a checkpoint keeps
const ownershipFreshMs = 1000; // how long ownership needs no check after a segment was stored
// An empty entry between the keys of the parts and those of the segments; no segment has number 0.
// Chromium iterates over deleted entries slowly until it compacts them, and checkpoints delete many
// segments. A read of all part keys ends at this entry instead of at the deleted segments.
const fencePost = segmentName(0);
// Chromium stores values of up to 64 kB (as cloned, and compressed if that helps) with their keys.
// It writes each larger value to its own file, which is slower for each byte.
const inlineBytes = 65_000;
const partsAhead = 8; // how many parts are requested at once: each has about 250 kB
const batchBytesMax = 32 * 1024 * 1024; // of one getAll, whose result is held in memory
// of one getAll in inspect(), so that the page stays responsive
const inspectBytesMax = 2 * 1024 * 1024;
const segmentBatchMax = 256; // segments of one getAll: their sizes are not known before
const reopenDelaysMs = [0, 50, 250, 1000, 3000]; // before each attempt of a call
const reopenWaitMs = 2000; // of one attempt: on a full disk the browser may never respond
const deleteWaitMs = 3000;

export interface IdbfsOptions {
  store: string; // the store's name
  factory: IDBFactory;
  // Opens the database, creating it if needed, like IDBFS.getDB of the module.
  connect: (mountPoint: string) => Promise<IDBDatabase>;
  onReopened?: () => void; // called when a lost connection was re-established
  now?: () => number; // a monotonic clock in ms
}

interface LoadedLog {
  manifest: Uint8Array | undefined;
  first: number; // the first live segment
  last: number; // the newest segment
  claims: number[]; // the live segments that are claims, ascending
  orphans: number[]; // stored parts that the manifest does not name
}

// Returns whether this owner still owned the log. Called after the transaction completed.
type OwnershipCheck = () => boolean | Promise<boolean>;

export class IdbfsStorage implements LogStorage {
  readonly segmentBytes = inlineBytes;
  readonly #mount: string;
  readonly #factory: IDBFactory;
  readonly #onReopened: (() => void) | undefined;
  readonly #now: () => number;
  #newLog: Promise<void> | undefined; // forceNewLevelDbLog(): claim() waits for it
  #database: IDBDatabase | undefined; // undefined: the connection is lost
  #fatalError: StorageError | undefined; // every later call rejects with it
  #reopening: Promise<IDBDatabase> | undefined;
  // The first segment of an addition whose outcome is unknown.
  #uncertainSegment: number | undefined;
  #manifest: Uint8Array | undefined; // as loaded or last committed
  // The manifest of the last commitManifest(), which may be stored even if the call failed.
  #attempted: Uint8Array | undefined;
  #coveredBelow = 1; // these two manifests cover the segments below this number
  #last = 0; // the newest segment that was loaded or added
  #claims: number[] = []; // the segments by which owners claimed the log, ascending
  // Segments below this number were covered when the log was loaded, and `#claims` lacks the claims
  // among them. 0: `#claims` is complete.
  #oldClaimsBelow = 0;
  #claimed = false; // the last of `#claims` is ours
  // The last time at which the log was certainly ours: the start of the last addition of a segment
  // on this connection.
  #lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  readonly #adding = new Map<number, Uint8Array>(); // segments that are being added
  readonly #running = new Set<Promise<unknown>>();

  static async open(options: IdbfsOptions): Promise<IdbfsStorage> {
    const storage = new IdbfsStorage(options);
    const connecting = options.connect(storage.#mount);
    storage.#newLog = forceNewLevelDbLog(options.factory); // while the connection opens
    storage.#use(await connecting);
    return storage;
  }

  private constructor(options: IdbfsOptions) {
    this.#mount = mountPoint(options.store);
    this.#factory = options.factory;
    this.#onReopened = options.onReopened;
    this.#now = options.now ?? (() => performance.now());
  }

  async load(reader: LogReader): Promise<number[]> {
    const read = await this.#readAll(reader, "missing", batchBytesMax);
    this.#manifest = read.manifest;
    this.#coveredBelow = read.first;
    this.#last = read.last;
    this.#claims = read.claims;
    this.#oldClaimsBelow = read.first;
    this.#claimed = false;
    this.#lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
    return read.orphans;
  }

  async inspect(reader: LogReader): Promise<number[]> {
    return (await this.#readAll(reader, "all", inspectBytesMax)).orphans;
  }

  // Repeats the read if the connection breaks, so `part` may receive a part twice.
  async readParts(ids: readonly number[], part: OnPart): Promise<void> {
    await this.#transact("readonly", undefined, async (files) => {
      await this.#readParts(files, ids, async (id, bytes) => {
        if (bytes === undefined) await this.#requireOurManifest(files);
        part(id, bytes);
      });
    });
  }

  #readAll(reader: LogReader, parts: "missing" | "all", batchBytes: number): Promise<LoadedLog> {
    return this.#track(async () => {
      const database = this.#database ?? (await this.#reopen());
      try {
        return await transaction(database, "readonly", undefined, (files) =>
          this.#read(files, reader, parts, batchBytes),
        );
      } catch (error) {
        const ours = error instanceof ConnectionLost || error instanceof DOMException;
        throw ours ? storageError(error) : error; // otherwise the reader threw it
      }
    });
  }

  async claim(sequence: number, bytes: Uint8Array): Promise<void> {
    await this.#newLog;
    await this.#add(sequence, [bytes], "relaxed", async (files, add) => {
      // All requests are made at once, to save round trips. An error aborts the transaction, and
      // with it the claim.
      const path = this.#path(segmentName(sequence));
      const ours = this.#requireOurManifest(files);
      const there = sequence > this.#last ? requestResult(files.getKey(path)) : undefined;
      add();
      // Another tab that loaded the same log adds an equal claim, so comparing bytes would not
      // help.
      const [, taken] = await Promise.all([ours, there]);
      if (taken !== undefined) throw fencedError(path);
      return () => true;
    });
  }

  addSegments(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
  ): Promise<void> {
    return this.#add(sequence, segments, durability, (files, add) => {
      const isOurs = this.#isOwnershipFresh ? () => true : this.#checkOwnership(files, sequence);
      add(); // in this turn of the event loop: a page that is being left has no other
      return isOurs;
    });
  }

  async putPart(id: number, bytes: Uint8Array): Promise<void> {
    const entry = fileEntry(bytes);
    await this.#write("relaxed", async (files) => {
      await this.#requireOwner(files);
      files.put(entry, this.#path(partName(id)));
    });
  }

  // Uses strict durability, because it deletes the segments that the parts replace: without a
  // flush, a loss of power could undo the parts but not the deletions. The flush includes the
  // parts, which are in the same database.
  async commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    const entry = fileEntry(bytes);
    const path = this.#path(manifestName);
    const attempted = bytes.slice();
    this.#attempted = attempted;
    this.#coveredBelow = Math.max(this.#coveredBelow, obsolete.segmentsBelow);
    let attempts = 0;
    const commit = async (files: IDBObjectStore) => {
      attempts += 1;
      // An earlier attempt may have been stored although its connection was lost.
      const there = contentsOf(await requestResult(files.get(path)));
      if (equalContents(there, attempted)) return;
      await this.#requireOwner(files);
      await this.#findOldClaims(files);
      files.put(entry, path);
      files.put(fileEntry(new Uint8Array()), this.#path(fencePost));
      for (const range of this.#coveredSegments(obsolete.segmentsBelow)) files.delete(range);
      for (const id of obsolete.obsoleteParts) files.delete(this.#path(partName(id)));
    };
    await this.#write("strict", commit).catch((error: unknown) => {
      const replaced = error instanceof StorageError && error.failure === "fenced";
      throw replaced && attempts > 1 ? unknownOutcomeError(path) : error;
    });
    this.#manifest = attempted;
  }

  async dropParts(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#write("relaxed", async (files) => {
      await this.#requireOwner(files);
      for (const id of ids) files.delete(this.#path(partName(id)));
    });
  }

  async drop(): Promise<void> {
    await this.close();
    await deleteDatabase(this.#factory, this.#mount, deleteWaitMs);
  }

  async close(): Promise<void> {
    this.#fatalError ??= new StorageError("closed", "The storage is closed.");
    await Promise.allSettled([...this.#running, this.#newLog]);
    this.#database?.close();
    this.#database = undefined;
  }

  // ---- Reading ----------------------------------------------------------------------------------

  async #read(
    files: IDBObjectStore,
    reader: LogReader,
    parts: "missing" | "all",
    batchBytes: number,
  ): Promise<LoadedLog> {
    const entryRead = requestResult<FileEntry | undefined>(files.get(this.#path(manifestName)));
    const listing = this.#numbers(files, "part-", 0); // runs while the reader reads the manifest
    listing.catch(() => {}); // awaited below
    const entry = await entryRead;
    // An entry that is not a file must not look like a new store. Empty bytes are read as a damaged
    // manifest.
    const manifest = contentsOf(entry);
    const named = reader.manifest(entry === undefined ? undefined : (manifest ?? new Uint8Array()));
    const { missing, orphans } = compareParts(named.parts, await listing);
    await this.#readParts(files, parts === "all" ? named.parts : missing, reader.part);
    const first = named.firstSegment;
    const live = await this.#numbers(files, "wal-", first);
    const claims = await this.#readSegments(files, live, reader, batchBytes);
    return { manifest, first, last: live.at(-1) ?? first - 1, claims, orphans };
  }

  // Reads a few parts at a time. Each result arrives as its own task, so the page stays responsive
  // between two parts.
  async #readParts(
    files: IDBObjectStore,
    ids: readonly number[],
    take: (id: number, bytes: Uint8Array | undefined) => void | Promise<void>,
  ): Promise<void> {
    for (let i = 0; i < ids.length; i += partsAhead) {
      await Promise.all(
        ids.slice(i, i + partsAhead).map(async (id) => {
          await take(id, contentsOf(await requestResult(files.get(this.#path(partName(id))))));
        }),
      );
    }
  }

  // Passes segments to the reader. Resolves to the numbers of those that are claims.
  async #readSegments(
    files: IDBObjectStore,
    sequences: readonly number[],
    reader: LogReader,
    batchBytes: number,
  ): Promise<number[]> {
    const claims: number[] = [];
    let count = 16;
    for (let i = 0; i < sequences.length; ) {
      const batch = sequences.slice(i, i + count);
      const entries = await this.#range(files, batch.map(segmentName));
      let bytes = 0;
      for (const [at, sequence] of batch.entries()) {
        const contents = contentsOf(entries[at]);
        bytes += contents?.length ?? 0;
        if (isClaim(entries[at])) claims.push(sequence);
        reader.segment(sequence, contents);
      }
      i += batch.length;
      const mean = bytes / batch.length;
      count = Math.max(1, Math.min(segmentBatchMax, Math.floor(batchBytes / Math.max(mean, 1))));
    }
    return claims;
  }

  // Returns the numbers of all entries with a prefix, ascending, from `first` up to but without
  // `end`.
  async #numbers(
    files: IDBObjectStore,
    prefix: "wal-" | "part-",
    first: number,
    end?: number,
  ): Promise<number[]> {
    const folder = `${this.#mount}/`;
    const name = prefix === "wal-" ? segmentName : partName;
    const last = end === undefined ? `${prefix}\uffff` : name(end);
    if (name(first) >= last) return [];
    const range = IDBKeyRange.bound(folder + name(first), folder + last, false, true);
    const found: number[] = [];
    for (const key of await requestResult(files.getAllKeys(range))) {
      const number = numberFromName(prefix, String(key).slice(folder.length));
      if (number !== undefined && number >= first) found.push(number);
    }
    return found;
  }

  // Reads the entries of names that are adjacent in key order. One getAll reads many small files
  // faster than one get per file.
  async #range(files: IDBObjectStore, names: readonly string[]): Promise<unknown[]> {
    const paths = names.map((name) => this.#path(name));
    const range = IDBKeyRange.bound(paths[0], paths[paths.length - 1]);
    const entries = await requestResult(files.getAll(range));
    if (entries.length === paths.length) return entries;
    // A key that is not ours is in between, or an entry is missing.
    return await Promise.all(paths.map((path) => requestResult(files.get(path))));
  }

  // ---- Writing ----------------------------------------------------------------------------------

  async #add(
    sequence: number,
    segments: readonly Uint8Array[],
    durability: SegmentDurability,
    addAfter: (files: IDBObjectStore, add: () => void) => OwnershipCheck | Promise<OwnershipCheck>,
  ): Promise<void> {
    const isClaim = !this.#claimed;
    const added = segments.map((bytes, i) => ({
      path: this.#path(segmentName(sequence + i)),
      entry: fileEntry(bytes, isClaim && i === 0 ? claimFile : regularFile),
    }));
    const paths = added.map(({ path }) => path);
    const again = this.#uncertainSegment === sequence;
    this.#uncertainSegment = undefined;
    for (const [i, { entry }] of added.entries()) this.#adding.set(sequence + i, entry.contents);
    let attempts = 0;
    let began = 0;
    let database: IDBDatabase | undefined;
    try {
      const attempt = (files: IDBObjectStore) => {
        attempts += 1;
        began = this.#now();
        database = this.#database;
        return addAfter(files, () => {
          for (const { path, entry } of added) files.add(entry, path);
        });
      };
      const isOurs = await this.#write(durability, attempt, again);
      if (!(await isOurs())) await this.#onCoveredByOther(paths, attempts);
    } catch (error) {
      if (error instanceof StorageError && error.failure === "unknown")
        this.#uncertainSegment = sequence;
      if (nameOf(error) !== "ConstraintError") throw error;
      began = Number.NEGATIVE_INFINITY; // another owner may have added a segment since
      // Either an earlier attempt was stored although its connection was lost, or another owner
      // used one of the numbers.
      const there = await this.#write("relaxed", (files) =>
        Promise.all(paths.map((path) => requestResult<unknown>(files.get(path)))),
      );
      const ours = added.every(({ entry }, i) =>
        equalContents(contentsOf(there[i]), entry.contents),
      );
      if (!ours) throw fencedError(paths.join(), error);
    } finally {
      for (const i of segments.keys()) this.#adding.delete(sequence + i);
    }
    this.#last = Math.max(this.#last, sequence + segments.length - 1);
    if (this.#database === database) this.#lastKnownOwnedAt = began;
    if (isClaim) this.#claims.push(sequence);
    this.#claimed = true;
  }

  // Returns whether a segment may skip the ownership check, which costs time. A new owner's claim
  // would have the next number, and checkpoints keep the last claims. Only an owner that was
  // suspended during more than `claimsKept` claims would miss them. After a suspension the last
  // segment is not recent, so the check is made.
  get #isOwnershipFresh(): boolean {
    return this.#now() - this.#lastKnownOwnedAt < ownershipFreshMs;
  }

  // Adds the claims among the covered segments to `#claims`: nothing else is left there but the
  // fence post. Called only before segments are deleted, because Chromium iterates over all deleted
  // entries in the range.
  async #findOldClaims(files: IDBObjectStore): Promise<void> {
    const below = this.#oldClaimsBelow;
    if (below === 0) return;
    const old = await this.#numbers(files, "wal-", 1, below);
    if (this.#oldClaimsBelow === 0) return; // another attempt found them
    this.#oldClaimsBelow = 0;
    this.#claims.unshift(...old);
  }

  // Returns the key ranges of all segments below a number, except the last claims. Segment 1 is
  // always included, even if it is a claim: it fences no owner that has stored a segment, and
  // without it the kept claims can't look like a log without a manifest.
  #coveredSegments(below: number): IDBKeyRange[] {
    const covered = this.#claims.filter((sequence) => 1 < sequence && sequence < below);
    const kept = covered.slice(-claimsKept);
    const ranges: IDBKeyRange[] = [];
    let first = 1;
    for (const end of [...kept, below]) {
      const [from, to] = [this.#path(segmentName(first)), this.#path(segmentName(end))];
      if (from < to) ranges.push(IDBKeyRange.bound(from, to, false, true));
      first = end + 1;
    }
    return ranges;
  }

  // Requests the entry that shows whether another owner continued the log and then removed, with a
  // checkpoint, the segment that would fence this owner. Such a checkpoint also removed the
  // preceding segment. If that segment is unknown, covered or a kept claim, it proves nothing, and
  // the manifest is compared. The result may arrive after the transaction ended, because Chromium
  // reads large values separately.
  #checkOwnership(files: IDBObjectStore, sequence: number): OwnershipCheck {
    const before = sequence - 1;
    const removable = before >= this.#coveredBelow && !this.#claims.includes(before);
    if (before === this.#last && removable) {
      const there = resultIgnoringErrors(files.getKey(this.#path(segmentName(before))));
      return async () => (await there) !== undefined;
    }
    const manifest = resultIgnoringErrors(files.get(this.#path(manifestName)));
    return async () => this.#isOurs(await manifest);
  }

  // Removes segments that were added below the first live segment of another owner, where they
  // could mislead other stale owners.
  async #onCoveredByOther(paths: readonly string[], attempts: number): Promise<never> {
    const remove = (files: IDBObjectStore) => {
      for (const path of paths) files.delete(path);
    };
    await this.#write("relaxed", remove).catch(() => {});
    this.#fatalError = fencedError(manifestName);
    throw attempts > 1 ? unknownOutcomeError(paths.join()) : this.#fatalError;
  }

  #isOurs(manifest: unknown): boolean {
    const there = contentsOf(manifest);
    return (
      equalContents(there, this.#manifest) ||
      (there && equalContents(there, this.#attempted)) === true
    );
  }

  async #requireOurManifest(files: IDBObjectStore): Promise<void> {
    const manifest = await requestResult(files.get(this.#path(manifestName)));
    if (!this.#isOurs(manifest)) throw fencedError(manifestName);
  }

  // Throws, which aborts the transaction, if there are segments that were neither loaded nor added
  // here. A segment in `#adding` may be stored already.
  async #requireOwner(files: IDBObjectStore): Promise<void> {
    await this.#requireOurManifest(files);
    for (const sequence of await this.#numbers(files, "wal-", this.#last + 1)) {
      const ours = this.#adding.get(sequence);
      const there = contentsOf(await requestResult(files.get(this.#path(segmentName(sequence)))));
      const known = sequence <= this.#last || (ours !== undefined && equalContents(there, ours));
      if (!known) throw fencedError(segmentName(sequence));
    }
  }

  #write<T>(
    durability: SegmentDurability,
    body: (files: IDBObjectStore) => T | Promise<T>,
    mayHaveCommittedBefore = false,
  ): Promise<T> {
    return this.#transact("readwrite", durability, body, mayHaveCommittedBefore);
  }

  // Runs one transaction until it completes or fails, on a new connection if the current one is
  // lost. `body` must be safe to repeat: an attempt whose connection broke may have been committed.
  #transact<T>(
    mode: "readonly" | "readwrite",
    durability: SegmentDurability | undefined,
    body: (files: IDBObjectStore) => T | Promise<T>,
    mayHaveCommittedBefore = false,
  ): Promise<T> {
    return this.#track(async () => {
      let mayHaveCommitted = mayHaveCommittedBefore;
      for (const delayMs of reopenDelaysMs) {
        if (delayMs > 0) await sleep(delayMs);
        try {
          const database = this.#database ?? (await this.#reopen());
          return await transaction(database, mode, durability, body);
        } catch (error) {
          if (error instanceof ConnectionLost) {
            this.#onConnectionLost(error.database);
            mayHaveCommitted ||= error.mayHaveCommitted;
          } else if (error instanceof StoreError || nameOf(error) === "ConstraintError") {
            throw error;
          } else if (this.#database !== undefined) {
            throw storageError(error);
          }
          // otherwise the connection could not be re-established yet: try again
        }
      }
      const failure = mayHaveCommitted && mode === "readwrite" ? "unknown" : "aborted";
      const message = "The connection to IndexedDB is lost and could not be re-established.";
      throw new StorageError(failure, message);
    });
  }

  // Opens the database again. There is one open request at a time, shared by all calls and attempts
  // that wait for it.
  async #reopen(): Promise<IDBDatabase> {
    this.#reopening ??= openExisting(this.#factory, this.#mount)
      .then((database) => {
        if (this.#fatalError === undefined || this.#running.size > 0) {
          this.#use(database);
          this.#onReopened?.();
        } else {
          database.close(); // too late: the storage is closed
        }
        return database;
      })
      .catch((error: unknown) => {
        if (error instanceof StorageError) this.#fatalError = error;
        throw error;
      })
      .finally(() => {
        this.#reopening = undefined;
      });
    return await withTimeout(reopenWaitMs, this.#reopening);
  }

  #use(database: IDBDatabase): void {
    this.#database = database;
    // The browser closed the connection: site data cleared, or a disk failure.
    database.onclose = () => this.#onConnectionLost(database);
    // The database is about to be deleted. Running transactions still complete; the next call opens
    // the database again and finds out what is left.
    database.onversionchange = () => {
      database.close();
      this.#onConnectionLost(database);
    };
  }

  #onConnectionLost(database: IDBDatabase): void {
    if (this.#database !== database) return;
    this.#database = undefined;
    // The next connection may be to another database of the same name.
    this.#lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
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
    return `${this.#mount}/${name}`;
  }
}

// ---- Transactions -------------------------------------------------------------------------------

class ConnectionLost extends Error {
  readonly database: IDBDatabase;
  readonly mayHaveCommitted: boolean;

  constructor(database: IDBDatabase, mayHaveCommitted: boolean, cause: unknown) {
    super("The connection to IndexedDB was lost.", { cause });
    this.database = database;
    this.mayHaveCommitted = mayHaveCommitted;
  }
}

// Resolves when the transaction is complete, not when its requests succeed: a full disk shows only
// at the end. A read-only transaction resolves earlier, with its result, because it stores nothing.
// `body` may await only requests of this transaction; otherwise the browser ends it early.
function transaction<T>(
  database: IDBDatabase,
  mode: IDBTransactionMode,
  durability: SegmentDurability | undefined,
  body: (files: IDBObjectStore) => T | Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let running: IDBTransaction;
    try {
      running = database.transaction(fileStoreName, mode, durability && { durability });
    } catch (error) {
      const closed = nameOf(error) === "InvalidStateError"; // the connection is closed
      reject(closed ? new ConnectionLost(database, false, error) : error);
      return;
    }
    let value: T;
    let thrown: unknown;
    const fail = (error: unknown) => {
      thrown ??= error;
      try {
        running.abort();
      } catch {
        // The transaction had ended already. If a request failed because of that, onabort follows.
        if (nameOf(error) !== "AbortError") reject(thrown);
      }
    };
    // A browser that closes the connection should abort its transactions. On a full disk it may
    // never end them instead.
    const onClose = () => reject(new ConnectionLost(database, true, thrown));
    database.addEventListener("close", onClose);
    running.oncomplete = () => {
      database.removeEventListener("close", onClose);
      resolve(value);
    };
    running.onabort = () => {
      database.removeEventListener("close", onClose);
      // A request that failed with AbortError does not say why the transaction ended. If neither we
      // nor a request caused the abort, the browser closed the connection.
      const error = nameOf(thrown) === "AbortError" ? running.error : (thrown ?? running.error);
      const lost = error === null || nameOf(error) === "AbortError";
      reject(lost ? new ConnectionLost(database, true, error) : error);
    };
    const finish = (v: T) => {
      value = v;
      if (mode === "readonly") resolve(v);
      try {
        running.commit?.(); // saves the browser from waiting for further requests
      } catch {
        // The transaction has ended already; its events report how.
      }
    };
    try {
      const done = body(running.objectStore(fileStoreName));
      if (done instanceof Promise) done.then(finish, fail);
      else finish(done);
    } catch (error) {
      fail(error);
    }
  });
}

function requestResult<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// Like requestResult(), but the result may be ignored: the transaction reports a failure too.
function resultIgnoringErrors<T>(request: IDBRequest<T>): Promise<T> {
  const promise = requestResult(request);
  promise.catch(() => {});
  return promise;
}

// Returns an entry with the bytes in their own buffer: cloning a view stores its whole buffer, here
// the whole wasm heap.
function fileEntry(bytes: Uint8Array, mode = regularFile): FileEntry {
  const exact = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
  return { timestamp: new Date(), mode, contents: exact };
}

function isClaim(entry: unknown): boolean {
  return (entry as Partial<FileEntry> | undefined)?.mode === claimFile;
}

function equalContents(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

function contentsOf(entry: unknown): Uint8Array | undefined {
  const contents = (entry as Partial<FileEntry> | undefined)?.contents;
  return contents instanceof Uint8Array ? contents : undefined;
}

// The error after several attempts, if another owner's checkpoint hides whether the first one was
// stored.
function unknownOutcomeError(path: string): StorageError {
  const message = `It is unknown whether ${path} was stored before the store's owner changed.`;
  return new StorageError("unknown", message);
}

function storageError(error: unknown): StorageError {
  if (isQuotaError(error)) {
    return new StorageError("quota", "The storage quota of this origin is used up.", error);
  }
  return new StorageError("aborted", `IndexedDB failed: ${String(error)}`, error);
}

// QuotaExceededError means that the origin's quota is used up. On a full disk, Chromium reports
// "DataError: Failed to write blobs (IOError)", for large values, which it writes to files, or
// "UnknownError: … FILE_ERROR_NO_SPACE …". Our entries cause no other DataError.
function isQuotaError(error: unknown): boolean {
  const name = nameOf(error);
  return (
    name === "QuotaExceededError" ||
    name === "DataError" ||
    (name === "UnknownError" && String(error).includes("NO_SPACE"))
  );
}

function nameOf(error: unknown): string {
  return (error as { name?: string } | null | undefined)?.name ?? "";
}

function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The browser does not respond.")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
