// Keeps the log of a store for clients of its change feed, which may connect again and continue
// after the last event that they got: also after a restart of the server, and with what checkpoints
// have covered meanwhile. The store keeps the log within its option `history`, as it does for a
// durable reader: this one acknowledges nothing.

import type { Store } from "../types.ts";

const readerName = "entitable/server"; // in the store, and so it must never change
// The store forgets a reader that is silent for longer than it keeps the log, which is 7 days by
// default.
const renewMs = 6 * 3600 * 1000;

export type StoreWithReaders = Pick<Store, "reader">;

export class FeedHistory {
  readonly #stores: readonly StoreWithReaders[];
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(stores: Iterable<StoreWithReaders>) {
    this.#stores = [...stores];
  }

  // Resolves when the stores keep their log from now on. A store that cannot be written keeps
  // nothing, and clients that continue may get FeedTruncated.
  async start(): Promise<void> {
    const renewAll = () => Promise.allSettled(this.#stores.map(renew));
    this.#timer = setInterval(renewAll, renewMs);
    (this.#timer as { unref?(): void }).unref?.();
    await renewAll();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

async function renew(store: StoreWithReaders): Promise<void> {
  const reader = await store.reader(readerName, { since: 0n }); // with what the log still has
  try {
    await reader.ack(reader.acknowledged);
  } finally {
    await reader.close();
  }
}
