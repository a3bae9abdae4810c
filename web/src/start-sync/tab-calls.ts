// The calls of a tab that does not own the store.

import { StoreError } from "../errors.ts";
import type { Clock } from "../sync-session/clock.ts";
import { errorFromWire } from "../tabs/messages.ts";
import type { MethodCall, TabCall, TabResult } from "./tab-messages.ts";

interface Waiting {
  readonly call: TabCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** Ends the time limit. */
  cancel: () => void;
}

/** Within this time, the tab that owns the store says that it syncs. */
export const ownerMs = 10_000;

export class TabCalls {
  readonly #clock: Clock;
  readonly #post: (call: TabCall) => void;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  #hasOwner = false;

  constructor(clock: Clock, post: (call: TabCall) => void) {
    this.#clock = clock;
    this.#post = post;
  }

  call(method: MethodCall): Promise<unknown> {
    const call: TabCall = { ...method, type: "call", number: ++this.#calls };
    return new Promise((resolve, reject) => {
      const cancel = this.#hasOwner ? () => {} : this.#limit(call);
      this.#waiting.set(call.number, { call, resolve, reject, cancel });
      this.#post(call);
    });
  }

  /** Returns a function that ends the time limit. */
  #limit({ number }: TabCall): () => void {
    return this.#clock.after(ownerMs, () => {
      const message = "The tab that has the store does not sync these tables.";
      const hint = "Call startSync() with the same tables in every tab that opens the store.";
      this.#take(number)?.reject(new StoreError("NotSupported", message, { hint }));
    });
  }

  /** Another tab syncs now, and does not know the calls. */
  onOwner(): void {
    this.#hasOwner = true;
    for (const { call, cancel } of this.#waiting.values()) {
      cancel();
      this.#post(call);
    }
  }

  /** The tab that synced does so no more. The next one has limited time to begin. */
  onOwnerGone(): void {
    if (!this.#hasOwner) return;
    this.#hasOwner = false;
    for (const waiting of this.#waiting.values()) waiting.cancel = this.#limit(waiting.call);
  }

  onResult({ error, number, value }: TabResult): void {
    const waiting = this.#take(number);
    if (error) waiting?.reject(errorFromWire(error));
    else waiting?.resolve(value);
  }

  /** This tab is the owner now: runs what waits. */
  runHere(run: (call: TabCall) => Promise<unknown>): void {
    for (const number of [...this.#waiting.keys()]) {
      const { call, resolve, reject } = this.#take(number) as Waiting;
      run(call).then(resolve, reject);
    }
  }

  rejectAll(error: Error): void {
    for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(error);
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    waiting?.cancel();
    this.#waiting.delete(number);
    return waiting;
  }
}
