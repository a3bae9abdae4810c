// The log in the database of an IDBFS mount. IDBFS makes the database and gives the layout of its
// entries; the transactions are ours, because FS.syncfs rewrites whole files, asks for no
// durability and never calls back when the disk is full (design: files). A program that mounts the
// folder and calls FS.syncfs(true) reads these files.

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
// with the sticky bit: an owner's first segment, so that the next owners know it for a claim
const claimFile = 0o101644;
const claimsKept = 8; // that checkpoints leave where they are
const ownershipFreshMs = 1000; // after a segment was stored
// No segment has the number 0. Entries that were deleted are in Chromium's way until it tidies up,
// with their values: a burst of a hundred thousand entities leaves some that take 15 ms to step
// over. Whoever reads the keys of the parts to their end stops here, before those of segments.
const fencePost = segmentName(0);
// Chromium keeps values of up to 64 kB (as cloned, and compressed if that helps) with their keys. A
// larger one becomes a file of its own, for which the page's thread needs three times as long for
// each byte, and the disk twice.
const inlineBytes = 65_000;
const partsAhead = 8; // parts asked for at once: each has about 250 kB
const batchBytesMax = 32 * 1024 * 1024; // of one getAll: more would hold it all twice
const inspectBytesMax = 2 * 1024 * 1024; // the same, while the page goes on
const segmentBatchMax = 256; // segments of a batch, whose sizes are not known before
const reopenDelaysMs = [0, 50, 250, 1000, 3000]; // before each attempt of a call
const reopenWaitMs = 2000; // of an attempt: on a full disk the browser may never answer
const deleteWaitMs = 3000;

export interface IdbfsOptions {
  store: string; // the store's name
  factory: IDBFactory;
  // as IDBFS.getDB of the module: makes the database if need be
  connect: (mountPoint: string) => Promise<IDBDatabase>;
  onReopened?: () => void; // a lost connection was made anew
  now?: () => number; // ms, never backwards
}

interface LoadedLog {
  manifest: Uint8Array | undefined;
  first: number; // of the segments that are live
  last: number; // the newest segment
  claims: number[]; // segments, ascending
  orphans: number[];
}

// Returns whether this owner still owned the log. Called when the transaction is complete.
type OwnershipCheck = () => boolean | Promise<boolean>;

export class IdbfsStorage implements LogStorage {
  readonly segmentBytes = inlineBytes;
  readonly #mount: string;
  readonly #factory: IDBFactory;
  readonly #onReopened: (() => void) | undefined;
  readonly #now: () => number;
  #newLog: Promise<void> | undefined; // the browser's: nothing is written before
  #database: IDBDatabase | undefined; // undefined: the connection is lost
  #fatalError: StorageError | undefined; // what every later call rejects with
  #reopening: Promise<IDBDatabase> | undefined;
  // the segment of which, and of those with it, it is not known whether they arrived
  #uncertainSegment: number | undefined;
  #manifest: Uint8Array | undefined; // as it was loaded, or committed
  // the manifest that was to be committed last, and may have arrived
  #attempted: Uint8Array | undefined;
  #coveredBelow = 1; // segments that these manifests cover
  #last = 0; // the newest segment that was loaded or added
  #claims: number[] = []; // the segments by which owners claimed the log, ascending
  // those that the manifest covered when it was loaded, and that are not known yet; 0: there are
  // none
  #oldClaimsBelow = 0;
  #claimed = false; // the last of them is ours
  // when the log was ours for certain: before the last segment was added on this connection
  #lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  readonly #adding = new Map<number, Uint8Array>(); // segments under way
  readonly #running = new Set<Promise<unknown>>();

  static async open(options: IdbfsOptions): Promise<IdbfsStorage> {
    const storage = new IdbfsStorage(options);
    const connecting = options.connect(storage.#mount);
    storage.#newLog = forceNewLevelDbLog(options.factory); // meanwhile
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

  // Again, if the connection breaks: to take a part twice does no harm.
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
        throw ours ? storageError(error) : error; // else the reader's own
      }
    });
  }

  async claim(sequence: number, bytes: Uint8Array): Promise<void> {
    await this.#newLog;
    await this.#add(sequence, [bytes], "relaxed", async (files, add) => {
      // All asked for at once, which takes the time of one answer; whoever throws here takes the
      // claim back.
      const path = this.#path(segmentName(sequence));
      const ours = this.#requireOurManifest(files);
      const there = sequence > this.#last ? requestResult(files.getKey(path)) : undefined;
      add();
      // Taken by whoever else loaded the same log; his claim says the same as ours, so its bytes
      // don't tell.
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
      add(); // in this very turn: on leaving a page there is no other
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

  // Strict, since it deletes the segments that stood in for it: without a flush a loss of power
  // could take the parts and keep the deletions. (One flush covers the parts before it: they are in
  // the same database.)
  async commitManifest(bytes: Uint8Array, obsolete: ObsoleteFiles): Promise<void> {
    const entry = fileEntry(bytes);
    const path = this.#path(manifestName);
    const attempted = bytes.slice();
    this.#attempted = attempted;
    this.#coveredBelow = Math.max(this.#coveredBelow, obsolete.segmentsBelow);
    let attempts = 0;
    const commit = async (files: IDBObjectStore) => {
      attempts += 1;
      // An attempt of ours may have arrived although its connection was lost; then there is nothing
      // left to do.
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
    const asked = requestResult<FileEntry | undefined>(files.get(this.#path(manifestName)));
    const listing = this.#numbers(files, "part-", 0); // while the reader is busy with the manifest
    listing.catch(() => {}); // until it is waited for
    const entry = await asked;
    // An entry that is there but is not a file must not pass for a new store: no bytes at all is a
    // damaged manifest.
    const manifest = contentsOf(entry);
    const named = reader.manifest(entry === undefined ? undefined : (manifest ?? new Uint8Array()));
    const { missing, orphans } = compareParts(named.parts, await listing);
    await this.#readParts(files, parts === "all" ? named.parts : missing, reader.part);
    const first = named.firstSegment;
    const live = await this.#numbers(files, "wal-", first);
    const claims = await this.#readSegments(files, live, reader, batchBytes);
    return { manifest, first, last: live.at(-1) ?? first - 1, claims, orphans };
  }

  // A few requests at a time; each answer is a task of its own, so that the page goes on between
  // two parts.
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

  // Resolves to those that are claims.
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

  // The numbers of all entries of a kind, ascending, from `first` on; before `end`, if it is given.
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
    // foreign keys between
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
      began = Number.NEGATIVE_INFINITY; // another may have come behind it since
      // Either an attempt of ours arrived although its connection was lost, or somebody else took a
      // number.
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

  // Whether a segment may skip the ownership check, which takes a tenth of its time. A new owner's
  // claim would have the next number, and checkpoints keep the last claims. Only an owner that was
  // suspended while more claims came and went would miss them, and an owner that was suspended
  // checks again.
  get #isOwnershipFresh(): boolean {
    return this.#now() - this.#lastKnownOwnedAt < ownershipFreshMs;
  }

  // Of what the manifest covers, nothing but claims is left, and the fence post. To look for them
  // Chromium steps over all that was deleted there, so only who is about to delete some does.
  async #findOldClaims(files: IDBObjectStore): Promise<void> {
    const below = this.#oldClaimsBelow;
    if (below === 0) return;
    const old = await this.#numbers(files, "wal-", 1, below);
    if (this.#oldClaimsBelow === 0) return; // another attempt found them
    this.#oldClaimsBelow = 0;
    this.#claims.unshift(...old);
  }

  // All segments below, but for the last claims. The very first segment goes: it is in the way of
  // nobody who has stored one, and without it those that stay are never taken for a log that needs
  // no manifest.
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

  // Requests the entry that shows whether another owner has continued the log and its checkpoint
  // removed the segment that would fence this owner. In that case the preceding segment is gone; if
  // no such segment is required, the manifest has changed. The result may arrive after the
  // transaction has ended, because Chromium reads large values separately.
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

  // What was added is below the first live segment, where it would only mislead others like us.
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

  // Throws, and so aborts the transaction, if there are segments beyond those that were loaded or
  // added here. A segment being added may have been stored without its completion having been
  // observed.
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
          // else: the connection could not be made anew yet
        }
      }
      const failure = mayHaveCommitted && mode === "readwrite" ? "unknown" : "aborted";
      const message = "The connection to IndexedDB is lost and can't be made anew.";
      throw new StorageError(failure, message);
    });
  }

  // One open request at a time, shared by all calls and attempts that wait for it.
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
    // The browser closed the connection: storage cleared, disk failure.
    database.onclose = () => this.#onConnectionLost(database);
    // Somebody wants to delete the database. Transactions under way still complete; the next call
    // finds out what is left.
    database.onversionchange = () => {
      database.close();
      this.#onConnectionLost(database);
    };
  }

  #onConnectionLost(database: IDBDatabase): void {
    if (this.#database !== database) return;
    this.#database = undefined;
    // the next may be to another database of the same name
    this.#lastKnownOwnedAt = Number.NEGATIVE_INFINITY;
  }

  // Rejects when closed; else remembers the call until it ends, for close() to wait for.
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
        // It had ended already. If that is why a request failed, the abort itself is told next.
        if (nameOf(error) !== "AbortError") reject(thrown);
      }
    };
    // When the browser closes the connection it should abort what runs on it; on a full disk it may
    // also just never end it.
    const onClose = () => reject(new ConnectionLost(database, true, thrown));
    database.addEventListener("close", onClose);
    running.oncomplete = () => {
      database.removeEventListener("close", onClose);
      resolve(value);
    };
    running.onabort = () => {
      database.removeEventListener("close", onClose);
      // A request that ended with the transaction does not say why. An abort that neither we nor a
      // request caused: the browser closed the connection.
      const error = nameOf(thrown) === "AbortError" ? running.error : (thrown ?? running.error);
      const lost = error === null || nameOf(error) === "AbortError";
      reject(lost ? new ConnectionLost(database, true, error) : error);
    };
    const finish = (v: T) => {
      value = v;
      if (mode === "readonly") resolve(v);
      try {
        running.commit?.(); // nothing more will come: saves the wait for it
      } catch {
        // It has ended, which its events tell.
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

// The same for one whose failure the transaction tells, if it is not asked for at all.
function resultIgnoringErrors<T>(request: IDBRequest<T>): Promise<T> {
  const promise = requestResult(request);
  promise.catch(() => {});
  return promise;
}

// IndexedDB must get an exact copy: cloning a view stores its whole buffer, here the whole wasm
// heap.
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

// It was made twice, and by now a checkpoint of another owner tells nothing of the first time.
function unknownOutcomeError(path: string): StorageError {
  const message = `Whether ${path} was stored before the store got another owner is not known.`;
  return new StorageError("unknown", message);
}

function storageError(error: unknown): StorageError {
  if (isQuotaError(error)) {
    return new StorageError("quota", "There is no room left for this origin's data.", error);
  }
  return new StorageError("aborted", `IndexedDB failed: ${String(error)}`, error);
}

// QuotaExceededError is for a quota that is used up. On a disk that is full Chromium says
// "DataError: Failed to write blobs (IOError)" (large values go into files of their own, and our
// entries are never the data's fault) or "UnknownError: … FILE_ERROR_NO_SPACE …".
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
    const timer = setTimeout(() => reject(new Error("The browser does not answer.")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
