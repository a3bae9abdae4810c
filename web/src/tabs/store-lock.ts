// The locks of a store, as Web Locks. The browser releases a lock when its holder ends in any way.
//
//   entitable/<store>                  the owner's. Who wants to be the owner queues for it.
//   entitable/<store>/steal            of whom takes the owner's away, one at a time
//   entitable/<store>/client/<client>  each client's: whoever gets it knows that the client is gone

import { clientChannelName, storeChannelName } from "./messages.ts";

export interface LockEvents {
  held(): void;
  lost(): void; // somebody took it away
  failed(error: unknown): void;
}

export interface LockRequest {
  end(): void; // lets go of the lock, or of the place in the queue; may be called again
}

export function requestStoreLock(
  locks: LockManager,
  store: string,
  how: "queue" | "steal",
  events: LockEvents,
): LockRequest {
  return requestLock(locks, storeChannelName(store), how, events);
}

// Runs `steal` unless another client is already stealing the lock.
export async function runStealExclusively(
  locks: LockManager,
  store: string,
  steal: () => Promise<void>,
): Promise<void> {
  await locks.request(`${storeChannelName(store)}/steal`, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await steal();
  });
}

// What a client holds as long as it lives. `ready`: others can wait for its end from now on.
export function holdClientLock(
  locks: LockManager,
  store: string,
  client: string,
  ready: () => void,
) {
  return requestLock(locks, clientChannelName(store, client), "queue", {
    held: ready,
    lost() {},
    failed() {},
  });
}

// Calls back when the client is gone.
export function onClientGone(locks: LockManager, store: string, client: string, gone: () => void) {
  const waiting = requestLock(locks, clientChannelName(store, client), "queue", {
    held() {
      waiting.end();
      gone();
    },
    lost() {},
    failed() {},
  });
  return waiting;
}

function requestLock(
  locks: LockManager,
  name: string,
  how: "queue" | "steal",
  events: LockEvents,
): LockRequest {
  const waiting = new AbortController();
  let state: "waiting" | "held" | "ended" = "waiting";
  let release = () => {};
  const onHeld = () =>
    new Promise<void>((resolve) => {
      if (state === "ended") return resolve();
      state = "held";
      release = resolve;
      events.held();
    });
  const options: LockOptions = how === "steal" ? { steal: true } : { signal: waiting.signal };
  locks.request(name, options, onHeld).catch((error: unknown) => {
    // maybe before we heard that it was ours
    const taken = state === "held" || (error as { name?: string }).name === "AbortError";
    if (state !== "ended") taken ? events.lost() : events.failed(error);
    state = "ended";
  });
  return {
    end() {
      const before = state;
      state = "ended";
      if (before === "held") release();
      else if (before === "waiting") waiting.abort();
    },
  };
}
