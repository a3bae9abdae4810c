// Where the time of a durable write goes, as a page can see it: until the browser has everything,
// in the browser, and until the caller goes on. By watching the transactions of IndexedDB, one
// write at a time.

import { median, now } from "./timing.ts";

// Milliseconds, medians.
export interface CommitPhases {
  before: number;
  browser: number;
  behind: number;
}

export class CommitTimer {
  #committed = 0; // when a transaction was last committed, or complete
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
    IDBDatabase.prototype.transaction = function (...asked) {
      const made = transaction.apply(this, asked);
      // added before all other listeners, because promise callbacks run between two listeners
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

  // Nothing if no transaction of this page was seen.
  of(kind = ""): CommitPhases | undefined {
    const writes = this.#writes.get(kind) ?? [];
    if (writes.length === 0) return undefined;
    const middle = (part: keyof CommitPhases) => median(writes.map((write) => write[part]));
    return { before: middle("before"), browser: middle("browser"), behind: middle("behind") };
  }

  // No more is measured.
  end(): void {
    this.#restore();
  }
}
