// The Web Locks of a store. The browser releases a lock when the tab that holds it ends or crashes.
//
//   entitable/<store>                  held by the owner; other tabs queue for it
//   entitable/<store>/steal            held while a tab steals the owner's lock: one tab at a time
//   entitable/<store>/client/<client>  held by a client while it exists. If another tab gets this
//                                      lock, the client has ended.

import { clientChannelName, storeChannelName } from "./messages.ts";

export interface LockEvents {
  held(): void;
  lost(): void; // called when another tab has stolen the lock
  failed(error: unknown): void;
}

export interface LockRequest {
  end(): void; // releases the lock or cancels the request; may be called again
}

// Requests the owner's lock. "queue" waits until it is free; "steal" takes it from the tab that
// holds it.
export function requestStoreLock(
  locks: LockManager,
  store: string,
  how: "queue" | "steal",
  events: LockEvents,
): LockRequest {
  return requestLock(locks, storeChannelName(store), how, events);
}

// Runs `steal`. Has no effect while another client is stealing the lock.
export async function runStealExclusively(
  locks: LockManager,
  store: string,
  steal: () => Promise<void>,
): Promise<void> {
  await locks.request(`${storeChannelName(store)}/steal`, { ifAvailable: true }, async (lock) => {
    if (lock !== null) await steal();
  });
}

// Holds a client's lock until end(), so that others can wait for the client's end. Calls `ready`
// when the lock is held.
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

// Calls `gone` when the client has ended and its lock is therefore free.
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
    // If the lock was stolen before onHeld() was called, the error is an AbortError.
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
