// Starts the engine and the database connection while the store's lock is being requested, to save
// time. If another tab holds the lock, both are closed again.

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

  // Starts the engine and the connection, although they may not be needed.
  start(): void {
    this.#early = this.#begin();
  }

  // Resolves to an engine and a storage. The first call returns those that start() began to open;
  // later calls open new ones. The caller must close both. Rejects with StoreError.
  async openEngineAndStorage(onReopened: () => void): Promise<[Engine, LogStorage]> {
    const started = this.#early ?? this.#begin();
    this.#early = undefined;
    const connected = this.#connected(started, onReopened);
    try {
      return await Promise.all([started.starting, connected]);
    } catch (error) {
      // One of the two may still open, and must then be closed.
      void closeWhenOpened(started.starting);
      void closeWhenOpened(connected);
      throw error;
    }
  }

  // Closes what start() opened, unless openEngineAndStorage() has returned it.
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
    // openEngineAndStorage() reports these errors.
    started.starting.catch(() => {});
    started.connecting.catch(() => {});
    return started;
  }

  // Opens the storage with the early connection. If there is none, because the database does not
  // exist or could not be opened, IDBFS opens the database itself and creates it if needed.
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
  readonly database: IDBDatabase | undefined; // undefined: the connection was lost
  close(): void;
}

// Connects to a database. Rejects if it does not exist. The connection closes when the database is
// about to be deleted.
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

// Waits until something has opened, and closes it. Never rejects.
export async function closeWhenOpened(opening: Promise<{ close(): unknown }>): Promise<void> {
  await opening.then((opened) => opened.close()).catch(() => {});
}
