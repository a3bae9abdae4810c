// A connection to an IndexedDB database that is opened again when it is lost. Browsers close
// connections when they clear site data or when the disk fails.

import { StoreError } from "../errors.ts";
import { isDomException } from "../util/platform-objects.ts";
import { TimedOut, withTimeLimit } from "../util/time-limit.ts";
import { openExisting } from "./idbfs-database.ts";
import {
  ConnectionLost,
  errorName,
  runTransaction,
  storageErrorFrom,
} from "./idbfs-transaction.ts";
import { forceNewLevelDbLog, requireSpaceForNewLog } from "./leveldb-log.ts";
import { type SegmentDurability, StorageError } from "./log-storage.ts";
import { RunningCalls } from "./running-calls.ts";

const lostMessage = "The connection to IndexedDB is lost and could not be re-established.";
const reopenDelaysMs = [0, 50, 250, 1000, 3000]; // before each attempt of a call
const firstLogWaitMs = 1000; // for the new log of the first connection, and on closing
const reopenWaitMs = 2000; // of one attempt: on a full disk the browser may never respond

export interface ReconnectingDatabaseOptions {
  name: string;
  factory: IDBFactory;
  newLog: Promise<void>; // forceNewLevelDbLog(), called for the first connection
  onLost: () => void; // called when the connection is lost
  onReopened: (() => void) | undefined; // called when a lost connection was re-established
}

// The browser could not begin a new log (leveldb-log.ts). `cause` says why: a StorageError.
class NoNewLog extends Error {}

export interface TransactionOptions {
  mayHaveCommittedBefore?: boolean; // by an earlier call with the same body
  // The transaction belongs to a call of track(). It runs even if close() was called meanwhile.
  isPartOfCall?: boolean;
}

export class ReconnectingDatabase {
  readonly #options: ReconnectingDatabaseOptions;
  #connection: IDBDatabase | undefined; // undefined: lost
  #fatalError: StorageError | undefined; // every later call rejects with it
  #reopening: Promise<IDBDatabase> | undefined;
  // The call of forceNewLevelDbLog() for the current connection, or "begun" when it has ended.
  // Undefined: it must be called before the next write.
  #newLog: Promise<void> | "begun" | undefined;
  readonly #running = new RunningCalls();

  // Takes ownership of the connection.
  constructor(connection: IDBDatabase, options: ReconnectingDatabaseOptions) {
    this.#options = options;
    this.#use(connection);
    // The first connection does not wait longer, because a tab that the browser froze may block it.
    // A lost connection is more often the sign of a log that ends with half a record.
    const first = withTimeLimit(firstLogWaitMs, options.newLog).catch((error: unknown) => {
      if (!(error instanceof TimedOut)) throw error;
    });
    this.#beginNewLog(first);
  }

  // The current connection; undefined while it is lost.
  get currentConnection(): IDBDatabase | undefined {
    return this.#connection;
  }

  // Runs one transaction until it completes or fails, on a new connection if the current one is
  // lost. `body` must be safe to repeat: an attempt whose connection broke may have been committed.
  transact<T>(
    mode: "readonly" | "readwrite",
    durability: SegmentDurability | undefined,
    body: (files: IDBObjectStore) => T | Promise<T>,
    { mayHaveCommittedBefore = false, isPartOfCall = false }: TransactionOptions = {},
  ): Promise<T> {
    const transact = async () => {
      let mayHaveCommitted = mayHaveCommittedBefore;
      for (const delayMs of reopenDelaysMs) {
        if (delayMs > 0) await sleep(delayMs);
        try {
          const database = this.#connection ?? (await this.#reopen());
          if (mode === "readwrite" && this.#newLog !== "begun") await this.#requireNewLog();
          return await runTransaction(database, mode, durability, body);
        } catch (error) {
          if (error instanceof ConnectionLost) {
            this.#onConnectionLost(error.database);
            mayHaveCommitted ||= error.mayHaveCommitted;
          } else if (error instanceof StoreError || errorName(error) === "ConstraintError") {
            throw error;
          } else if (error instanceof NoNewLog) {
            const { cause } = error;
            throw mayHaveCommitted ? new StorageError("unknown", lostMessage, cause) : cause;
          } else if (this.#connection !== undefined && !(error instanceof TimedOut)) {
            throw storageErrorFrom(error);
          }
          // otherwise the connection could not be re-established yet: try again
        }
      }
      const failure = mayHaveCommitted && mode === "readwrite" ? "unknown" : "aborted";
      throw new StorageError(failure, lostMessage);
    };
    return isPartOfCall ? transact() : this.track(transact);
  }

  // Runs one read-only transaction. Unlike transact(), does not repeat it if the connection breaks.
  readOnce<T>(body: (files: IDBObjectStore) => Promise<T>): Promise<T> {
    return this.track(async () => {
      try {
        const database = this.#connection ?? (await this.#reopen());
        return await runTransaction(database, "readonly", undefined, body);
      } catch (error) {
        if (error instanceof NoNewLog) throw error.cause;
        if (error instanceof TimedOut) throw new StorageError("aborted", lostMessage, error);
        const ours = error instanceof ConnectionLost || isDomException(error);
        throw ours ? storageErrorFrom(error) : error; // otherwise `body` threw it
      }
    });
  }

  // Runs a call of one or several transactions, and lets close() wait for it. Rejects after a fatal
  // error.
  track<T>(call: () => Promise<T>): Promise<T> {
    const fatal = this.#fatalError;
    return fatal === undefined ? this.#running.run(call) : Promise.reject(fatal);
  }

  // Makes every later call reject with this error.
  rejectLaterCalls(error: StorageError): void {
    this.#fatalError = error;
  }

  // Closes after running calls have ended. May be called again.
  async close(): Promise<void> {
    this.#fatalError ??= new StorageError("closed", "The storage is closed.");
    await this.#running.whenEnded();
    await withTimeLimit(firstLogWaitMs, Promise.resolve(this.#newLog)).catch(() => {});
    this.#connection?.close();
    this.#connection = undefined;
  }

  // Opens the database again. There is one open request at a time, shared by all calls and attempts
  // that wait for it. Rejects with NoNewLog if the disk has no space.
  async #reopen(): Promise<IDBDatabase> {
    this.#reopening ??= requireSpaceForNewLog()
      .catch((error: unknown) => {
        const cause = new StorageError("quota", `The disk may be full: ${error}`, error);
        throw new NoNewLog("", { cause });
      })
      .then(() => openExisting(this.#options.factory, this.#options.name))
      .then((database) => {
        if (this.#fatalError === undefined || !this.#running.isEmpty) {
          this.#newLog = undefined;
          this.#use(database);
          this.#requireNewLog().catch(() => {}); // early: the next write may have no time to wait
          this.#options.onReopened?.();
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
    return await withTimeLimit(reopenWaitMs, this.#reopening);
  }

  // Resolves when the browser has begun a new log since the connection was opened. Rejects with
  // NoNewLog if it cannot, for example on a full disk, or with TimedOut. The next call tries again.
  async #requireNewLog(): Promise<void> {
    this.#newLog ??= this.#beginNewLog(forceNewLevelDbLog(this.#options.factory));
    const beginning = this.#newLog;
    if (beginning === "begun") return;
    try {
      await withTimeLimit(reopenWaitMs, beginning);
    } catch (error) {
      if (this.#newLog === beginning) this.#newLog = undefined;
      throw error instanceof TimedOut
        ? error
        : new NoNewLog("", { cause: storageErrorFrom(error) });
    }
  }

  #beginNewLog(beginning: Promise<void>): Promise<void> {
    const end = (now: "begun" | undefined) => () => {
      if (this.#newLog === beginning) this.#newLog = now;
    };
    this.#newLog = beginning;
    beginning.then(end("begun"), end(undefined));
    return beginning;
  }

  #use(database: IDBDatabase): void {
    this.#connection = database;
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
    if (this.#connection !== database) return;
    this.#connection = undefined;
    this.#options.onLost();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
