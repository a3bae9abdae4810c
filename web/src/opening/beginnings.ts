// An engine and a connection to the database take as long to come as the lock that tells whether they are wanted: so they are begun before.

import { StoreError } from "../errors.ts";
import { IdbfsStorage } from "../storage/idbfs.ts";
import { mountPoint, openExisting } from "../storage/idbfs-database.ts";
import type { LogStorage } from "../storage/log-storage.ts";
import type { Engine } from "../wasm/engine.ts";
import { unavailable } from "./environment.ts";

export interface BeginningsOptions {
  store: string;
  factory: IDBFactory;
  startEngine(): Promise<Engine>;
}

interface Begun {
  starting: Promise<Engine>;
  connecting: Promise<EarlyConnection>;
}

export class Beginnings {
  readonly #o: BeginningsOptions;
  #early: Begun | undefined;

  constructor(options: BeginningsOptions) {
    this.#o = options;
  }

  // Before it is known whether somebody takes them.
  beginEarly(): void {
    this.#early = this.#begin();
  }

  // What was begun, once; then others. Rejects with StoreError.
  async take(onReopened: () => void): Promise<[Engine, LogStorage]> {
    const begun = this.#early ?? this.#begin();
    this.#early = undefined;
    const connected = this.#connected(begun, onReopened);
    try {
      return await Promise.all([begun.starting, connected]);
    } catch (error) {
      // The other one may still come, in its own time.
      void closeOf(begun.starting);
      void closeOf(connected);
      throw error;
    }
  }

  // What nobody took.
  drop(): void {
    if (this.#early === undefined) return;
    void closeOf(this.#early.starting);
    void closeOf(this.#early.connecting);
    this.#early = undefined;
  }

  #begin(): Begun {
    const { store, factory, startEngine } = this.#o;
    const begun = { starting: startEngine(), connecting: connectEarly(factory, mountPoint(store)) };
    // Whoever takes them is told.
    begun.starting.catch(() => {});
    begun.connecting.catch(() => {});
    return begun;
  }

  // A database that isn't there, IDBFS makes; one that can't be opened is tried again by it, and what it says of that is reported.
  async #connected(begun: Begun, onReopened: () => void): Promise<LogStorage> {
    const { store, factory } = this.#o;
    const connect = async (mount: string) => {
      try {
        const { database } = await begun.connecting;
        return database ?? (await openExisting(factory, mount));
      } catch {
        return await (await begun.starting).idbfs(mount);
      }
    };
    try {
      return await IdbfsStorage.open({ store, factory, connect, onReopened });
    } catch (cause) {
      throw cause instanceof StoreError
        ? cause
        : unavailable("IndexedDB could not be opened.", cause);
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

export async function closeOf(opening: Promise<{ close(): unknown }>): Promise<void> {
  await opening.then((opened) => opened.close()).catch(() => {});
}
