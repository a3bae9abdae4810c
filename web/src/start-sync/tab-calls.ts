// The calls of a tab that does not own the store.

import { StoreError } from "../errors.ts";
import type { Clock } from "../sync-session/clock.ts";
import { errorFromWire } from "../tabs/messages.ts";
import type { CallMethod, TabCall, TabResult } from "./tab-messages.ts";

interface Waiting {
  readonly call: TabCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Within this time, the tab that owns the store says that it syncs. */
export const ownerMs = 10_000;

export class TabCalls {
  readonly #clock: Clock;
  readonly #post: (call: TabCall) => void;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;
  /** A tab that syncs was heard of. */
  isServed = false;

  constructor(clock: Clock, post: (call: TabCall) => void) {
    this.#clock = clock;
    this.#post = post;
  }

  call(method: CallMethod, id: string | undefined): Promise<unknown> {
    const call: TabCall = { type: "call", number: ++this.#calls, method, id };
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.number, { call, resolve, reject });
      this.#post(call);
      if (!this.isServed) this.#clock.after(ownerMs, () => this.#giveUp(call));
    });
  }

  #giveUp({ number }: TabCall): void {
    if (this.isServed) return;
    const message = "The tab that has the store does not sync it.";
    const hint = "Call startSync() in every tab that opens the store.";
    this.#take(number)?.reject(new StoreError("NotSupported", message, { hint }));
  }

  /** The store has another owner, which does not know the calls. */
  sendAgain(): void {
    for (const { call } of this.#waiting.values()) this.#post(call);
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
    this.#waiting.delete(number);
    return waiting;
  }
}
