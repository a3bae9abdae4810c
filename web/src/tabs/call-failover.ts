// Moves a tab's calls to the next owner when its local engine no longer is the owner. Calls that
// failed for this reason, and deferred writes that the engine may not have stored, are sent again.

import type { LocalHost } from "../host/local-host.ts";
import { type PooledRequest, requestPool } from "../host/request-pool.ts";
import type { AbortSignalLike, Durability } from "../types.ts";
import type { CallClient } from "./call-client.ts";
import { isOwnershipError } from "./call-server.ts";
import type { ContentCallKind } from "./messages.ts";

export interface CallFailoverOptions {
  client: CallClient; // sends calls to the owner
  isClosed(): boolean; // nothing is handed over any more
}

export class CallFailover {
  readonly #options: CallFailoverOptions;
  // Calls to the local engine without a response yet. orElseOwner() handles each result before
  // others that wait for the same promise.
  readonly #pendingCalls = new Set<Promise<unknown>>();
  #whenLocalClosed: Promise<void> = Promise.resolve();

  constructor(options: CallFailoverOptions) {
    this.#options = options;
  }

  // Resolves when the last local engine is closed and all its calls have ended.
  get whenLocalClosed(): Promise<void> {
    return this.#whenLocalClosed;
  }

  // The local engine is being closed. `gone` resolves when it is closed; `whenLocalClosed` waits
  // for that.
  onLocalClosing(gone: Promise<void>): void {
    this.#whenLocalClosed = this.#settlePendingCalls(gone);
  }

  // Resolves when the local engine is gone and each of its calls has a response or is handed to
  // the client. No call is sent to another owner before that.
  async #settlePendingCalls(gone: Promise<void>): Promise<void> {
    await gone;
    await Promise.allSettled([...this.#pendingCalls]);
  }

  // Keeps a copy of the request until the response arrives, because the next owner may have to run
  // the call. Not needed for synchronous responses.
  responseOrResend(
    response: Promise<Uint8Array>,
    kind: ContentCallKind,
    request: Uint8Array,
    callNumber: number,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    const pooled = requestPool.add(request);
    const elsewhere = () =>
      this.#options.client.request(kind, pooled.request, durability, signal, callNumber);
    return this.orElseOwner(response, elsewhere, pooled);
  }

  // Waits for a local response. If the local engine is no longer the owner, calls `elsewhere`
  // instead, before `#pendingCalls` reports the call as ended.
  orElseOwner<T>(
    response: Promise<T>,
    elsewhere: () => Promise<T>,
    pooled?: PooledRequest,
  ): Promise<T> {
    this.#pendingCalls.add(response);
    const onSettled = () => {
      this.#pendingCalls.delete(response);
      if (pooled !== undefined) requestPool.release(pooled);
    };
    return response.then(
      (value) => {
        onSettled();
        return value;
      },
      (error: unknown) => {
        try {
          if (!isOwnershipError(error) || this.#options.isClosed()) throw error;
          return elsewhere();
        } finally {
          onSettled();
        }
      },
    );
  }

  // Resends this tab's deferred writes that were acknowledged and may not be stored. Other tabs
  // resend theirs.
  async resendUnstored(local: LocalHost): Promise<void> {
    const unstored = await local.abandon();
    if (!this.#options.isClosed()) this.#options.client.resend(unstored);
  }
}
