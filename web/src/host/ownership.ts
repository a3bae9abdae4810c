// One tab per store: whoever runs the engine holds an exclusive Web Lock of the store's name while it does. The browser
// frees the lock when its holder dies, so a crashed or reloaded page never leaves a store locked for long.
//
// Without navigator.locks (plain HTTP on a local network) a store opens without one; adding segments, never overwriting them,
// is then what keeps two owners from harming each other (storage/log-storage.ts, "fenced").

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";

export interface Ownership {
  release(): void; // may be called again
}

export interface OwnershipOptions {
  locks: LockManager | undefined;
  waitMs: number; // a reloaded page meets the lock of the page before it
  signal?: AbortSignalLike | undefined;
}

// Rejects with StoreLocked if the lock is still held elsewhere after `waitMs`, and with AbortError if `signal` aborts.
export function acquireOwnership(store: string, options: OwnershipOptions): Promise<Ownership> {
  const { locks, signal } = options;
  if (signal?.aborted) return Promise.reject(new AbortError());
  if (locks === undefined) return Promise.resolve({ release() {} });
  return new Promise((resolve, reject) => {
    const waiting = new AbortController();
    let reason: Error | undefined;
    const cancel = (error: Error) => {
      reason = error;
      waiting.abort();
    };
    const timer = setTimeout(() => cancel(storeLockedError(store)), options.waitMs);
    const onAbort = () => cancel(new AbortError());
    signal?.addEventListener("abort", onAbort);
    const settled = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const onGranted = () => {
      settled();
      // The lock is held until the promise given back here resolves.
      return new Promise<void>((release) => resolve({ release: () => release() }));
    };
    locks
      .request(lockName(store), { mode: "exclusive", signal: waiting.signal }, onGranted)
      .catch((error: unknown) => {
        settled();
        reject(reason ?? (isForbidden(error) ? locksForbiddenError(error) : error));
      });
  });
}

function lockName(store: string): string {
  return `entitable/${store}`;
}

// In a sandboxed frame, or with all site data blocked: there IndexedDB is forbidden too.
function isForbidden(error: unknown): boolean {
  return (error as { name?: string } | undefined)?.name === "SecurityError";
}

export function locksForbiddenError(cause: unknown): StoreError {
  const message = "The browser forbids Web Locks here, and with them storage.";
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Open the store with persistence: "memory", or where the browser allows site data.',
  });
}

export function storeLockedError(store: string): StoreError {
  return new StoreError("StoreLocked", `The store "${store}" is open in another tab.`, {
    hint: "Close it there, or give the store another name here.",
  });
}
