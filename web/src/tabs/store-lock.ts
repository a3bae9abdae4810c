// The Web Locks of a store. The browser releases a lock when its holder ends, even by a crash.
//
//   entitable/<store>                  held by the owner; other tabs queue for it
//   entitable/<store>/steal            held while a tab steals the owner's lock: one tab at a time
//   entitable/<store>/client/<client>  held by the client while it exists; when another holder is
//                                      granted it, the client is gone

import { clientChannelName, storeChannelName } from "./messages.ts";

export interface LockEvents {
  held(): void;
  lost(): void; // another tab stole the lock
  failed(error: unknown): void;
}

export interface LockRequest {
  end(): void; // releases the lock, or leaves the queue; may be called again
}

// Requests the owner's lock: waits in the queue, or steals it from its holder.
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

// Holds a client's lock until end(). Calls `ready` when the lock is held, so that others can wait
// for the client's end.
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

// Calls `gone` when the client's lock is free, because the client has ended.
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
    // The lock may have been stolen before onHeld() was called.
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
