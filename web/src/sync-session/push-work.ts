// Pushes what is pending, as soon as it is committed.

import type { Pusher } from "../sync/pusher.ts";

export class PushWork {
  readonly #pusher: Pusher;
  readonly #onFailure: (error: unknown) => Promise<void>;
  #running: Promise<void> | undefined;
  #isFailing = false;

  /** `onFailure`: the store has failed. Resolves when it may be used again. */
  constructor(pusher: Pusher, onFailure: (error: unknown) => Promise<void>) {
    this.#pusher = pusher;
    this.#onFailure = onFailure;
  }

  /** One call of `push` waits; further calls start what has become pending meanwhile. */
  start(): void {
    if (this.#running !== undefined) {
      this.#pusher.pushMore().catch((error) => this.onStoreFailure(error));
      return;
    }
    this.#running = this.#pusher
      .push()
      .catch((error) => this.onStoreFailure(error))
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Resolves when no partition is pushed any more. Rejects when the store fails. */
  drain(): Promise<void> {
    return this.#pusher.push();
  }

  /** Tries again, once for all partitions whose pushes have failed. */
  onStoreFailure(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    void this.#onFailure(error).then(() => {
      this.#isFailing = false;
      this.start();
    });
  }
}
