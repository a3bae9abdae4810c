// Starts the engine and the database connection before the lock is granted. Both take as long as
// the lock, which decides whether they are needed.

import { StoreError } from "../errors.ts";
import { IdbfsStorage } from "../storage/idbfs.ts";
import { mountPoint, openExisting } from "../storage/idbfs-database.ts";
import type { LogStorage } from "../storage/log-storage.ts";
import type { Engine } from "../wasm/engine.ts";
import { persistenceUnavailableError } from "./environment.ts";

export interface PreconnectOptions {
  store: string;
  factory: IDBFactory;
  startEngine(): Promise<Engine>;
}

interface EarlyStart {
  starting: Promise<Engine>;
  connecting: Promise<EarlyConnection>;
}

export class Preconnect {
  readonly #options: PreconnectOptions;
  #early: EarlyStart | undefined;

  constructor(options: PreconnectOptions) {
    this.#options = options;
  }

  // Before it is known whether somebody takes them.
  start(): void {
    this.#early = this.#begin();
  }

  // What was begun, once; then others. Rejects with StoreError.
  async take(onReopened: () => void): Promise<[Engine, LogStorage]> {
    const started = this.#early ?? this.#begin();
    this.#early = undefined;
    const connected = this.#connected(started, onReopened);
    try {
      return await Promise.all([started.starting, connected]);
    } catch (error) {
      // The other one may still come, in its own time.
      void closeWhenOpened(started.starting);
      void closeWhenOpened(connected);
      throw error;
    }
  }

  // What nobody took.
  discard(): void {
    if (this.#early === undefined) return;
    void closeWhenOpened(this.#early.starting);
    void closeWhenOpened(this.#early.connecting);
    this.#early = undefined;
  }

  #begin(): EarlyStart {
    const { store, factory, startEngine } = this.#options;
    const started = {
      starting: startEngine(),
      connecting: connectEarly(factory, mountPoint(store)),
    };
    // Whoever takes them is told.
    started.starting.catch(() => {});
    started.connecting.catch(() => {});
    return started;
  }

  // A database that isn't there, IDBFS makes; one that can't be opened is tried again by it, and
  // what it says of that is reported.
  async #connected(started: EarlyStart, onReopened: () => void): Promise<LogStorage> {
    const { store, factory } = this.#options;
    const connect = async (mount: string) => {
      try {
        const { database } = await started.connecting;
        return database ?? (await openExisting(factory, mount));
      } catch {
        return await (await started.starting).openIdbfsDatabase(mount);
      }
    };
    try {
      return await IdbfsStorage.open({ store, factory, connect, onReopened });
    } catch (cause) {
      throw cause instanceof StoreError
        ? cause
        : persistenceUnavailableError("IndexedDB could not be opened.", cause);
    }
  }
}

interface EarlyConnection {
  readonly database: IDBDatabase | undefined; // undefined: it was lost
  close(): void;
}

// To a database that is there; in the way of nobody who wants to delete it meanwhile.
async function connectEarly(factory: IDBFactory, mount: string): Promise<EarlyConnection> {
  const database = await openExisting(factory, mount);
  const connection = {
    database: database as IDBDatabase | undefined,
    close: () => database.close(),
  };
  database.onclose = () => {
    connection.database = undefined;
  };
  database.onversionchange = () => {
    connection.database = undefined;
    database.close();
  };
  return connection;
}

export async function closeWhenOpened(opening: Promise<{ close(): unknown }>): Promise<void> {
  await opening.then((opened) => opened.close()).catch(() => {});
}
