// The lock of a store: the tab that runs the engine holds an exclusive Web Lock with the store's
// name. The browser releases the lock when the tab crashes or reloads.
//
// Without navigator.locks (plain HTTP on a local network), a store opens without a lock. Two owners
// then still cannot destroy each other's data, because segments are added and never overwritten
// (storage/log-storage.ts, "fenced").

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike } from "../types.ts";

export interface Ownership {
  release(): void; // may be called again
}

export interface OwnershipOptions {
  locks: LockManager | undefined;
  waitMs: number; // how long to wait, because a page that was reloaded may still hold the lock
  signal?: AbortSignalLike | undefined;
}

// Acquires the lock of a store. Rejects with StoreLocked if the lock is still held elsewhere after
// `waitMs`, and with AbortError if `signal` aborts.
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
      // The lock is held until the returned promise resolves.
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

// Whether the browser forbids Web Locks: in a sandboxed frame, or if all site data is blocked.
// IndexedDB is then forbidden too.
function isForbidden(error: unknown): boolean {
  return (error as { name?: string } | undefined)?.name === "SecurityError";
}

export function locksForbiddenError(cause: unknown): StoreError {
  const message = "The browser forbids Web Locks here, and therefore storage.";
  return new StoreError("PersistenceUnavailable", message, {
    cause,
    hint: 'Open the store with persistence: "memory", or where the browser allows site data.',
  });
}

export function storeLockedError(store: string): StoreError {
  return new StoreError("StoreLocked", `The store "${store}" is open in another tab.`);
}
