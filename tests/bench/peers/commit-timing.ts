// Divides the time of a durable write, as a page can observe it, into three phases (see
// CommitPhases). Observes the IndexedDB transactions of one write at a time.

import { median, now } from "./timing.ts";

// Medians in milliseconds. `before`: until the page has passed everything to the browser.
// `browser`: until the browser reports that the transaction is complete. `behind`: until the caller
// continues.
export interface CommitPhases {
  before: number;
  browser: number;
  behind: number;
}

export class CommitTimer {
  #committed = 0; // when a transaction was last committed or completed
  #completed = 0;
  readonly #writes = new Map<string, CommitPhases[]>(); // by kind
  readonly #restore: () => void;

  constructor() {
    const committed = () => {
      this.#committed = now();
    };
    const completed = () => {
      this.#completed = now();
    };
    const { transaction } = IDBDatabase.prototype;
    const { commit } = IDBTransaction.prototype;
    IDBDatabase.prototype.transaction = function (...args) {
      const made = transaction.apply(this, args);
      // Added before all other listeners, because promise callbacks run between two listeners.
      made.addEventListener("complete", completed);
      return made;
    };
    IDBTransaction.prototype.commit = function () {
      committed();
      commit.call(this);
    };
    this.#restore = () => {
      IDBDatabase.prototype.transaction = transaction;
      IDBTransaction.prototype.commit = commit;
    };
  }

  async measure<T>(write: () => Promise<T> | T, kind = ""): Promise<T> {
    const began = now();
    const written = await write();
    const over = now();
    const before = this.#committed - began;
    const browser = this.#completed - this.#committed;
    const behind = over - this.#completed;
    const writes = this.#writes.get(kind) ?? [];
    if (before >= 0 && browser >= 0) writes.push({ before, browser, behind });
    this.#writes.set(kind, writes);
    return written;
  }

  // Returns the medians of the writes of a kind. Returns undefined if this page had no transaction.
  of(kind = ""): CommitPhases | undefined {
    const writes = this.#writes.get(kind) ?? [];
    if (writes.length === 0) return undefined;
    const middle = (part: keyof CommitPhases) => median(writes.map((write) => write[part]));
    return { before: middle("before"), browser: middle("browser"), behind: middle("behind") };
  }

  // Stops measuring.
  end(): void {
    this.#restore();
  }
}
