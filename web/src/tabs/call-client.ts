// Sends one client's calls to the owner in another tab or worker. A call is kept until an owner
// responds, and a deferred write until an owner has stored it. When the owner changes, these calls
// are sent again: first the deferred writes, with "recover" (messages.ts), then the calls without a
// response. The next owner may have read some of them from the log. It recognises only the newest
// calls of a client, but calls of one client are applied in the order of their numbers. So those
// before a known one are applied.

import { AbortError, StoreError } from "../errors.ts";
import type { UnstoredWrite } from "../host/deferred-writes.ts";
import type { AbortSignalLike, Durability, RestoreMode, RestoreReport } from "../types.ts";
import { callIdOf, wrapInCall } from "../util/call-message.ts";
import {
  type CallResponse,
  errorFromWire,
  type MessageCallKind,
  type PlainCallKind,
  type RemoteCall,
  type ToOwner,
  type UnstoredCall,
  writesInFlightMax,
} from "./messages.ts";

// The connection to one owner, for one session. Each message carries the owner's name.
export interface OwnerSession {
  readonly owner: string;
  readonly session: number;
  post(message: ToOwner): void;
}

interface PendingCall extends RemoteCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  isSent: boolean; // to the current owner
  sendCount: number; // to any owner
  unlisten(): void; // stops listening to the call's AbortSignal
}

const recoverRetryMs = 1000;

const orderedKinds: ReadonlySet<RemoteCall["kind"]> = new Set([
  "write",
  "restore",
  "flush",
  "compact",
]);

export class CallClient {
  readonly #id: Uint8Array | undefined;
  readonly #onResendFailed: (error: Error, retryInMs: number) => void;
  #next = 1;
  #link: OwnerSession | undefined;
  #scheduled = false;
  // Calls of `orderedKinds` by call number: sent in that order, with a limit on how many are in
  // flight.
  #ordered = new Map<number, PendingCall>();
  #highest = 0; // the highest number that was ever added to #ordered
  #needsSort = false; // a call was added after one with a higher number
  readonly #unordered = new Map<number, PendingCall>(); // all other calls
  readonly #unstored = new Map<number, UnstoredCall>();
  #mustRecover = false; // no ordered call is sent before "recover" has succeeded
  #recovering: number | undefined; // the number of the "recover" call without a response
  #hasRecoverFailed = false; // in this session
  #known: ReadonlySet<number> = new Set(); // the calls that the owner knew by then
  #storedUpTo = 0; // as the owner has reported in this session

  // `id`: 16 random bytes, written into each write so that the store recognises a repeated write.
  // Without an id the owner never changes and no write is sent twice. Writes are then sent
  // unwrapped, and without a limit on how many are in flight. `onResendFailed`: called when the
  // owner could not run deferred writes again; they are sent again after `retryInMs`.
  constructor(
    id?: Uint8Array,
    onResendFailed: (error: Error, retryInMs: number) => void = () => {},
  ) {
    this.#id = id;
    this.#onResendFailed = onResendFailed;
  }

  // Returns how many calls have no response yet, or are deferred writes that may not be stored.
  get pendingCount(): number {
    return this.#ordered.size + this.#unordered.size + this.#unstored.size;
  }

  // Returns whether ordered calls wait for a response, or deferred writes may have to be sent
  // again. Later ordered calls must then go through this client too, to stay behind them.
  get hasPendingOrderedCalls(): boolean {
    return this.#ordered.size > 0 || (this.#mustRecover && this.#unstored.size > 0);
  }

  // Reserves the next call number. Ordered calls are sent in the order of their numbers, so a call
  // that may be made later keeps its place.
  reserveCallNumber(): number {
    return this.#next++;
  }

  // Sends one request message and resolves to the response message. Rejects with the owner's error,
  // or with AbortError if `signal` aborts before the call had an effect. `request` is copied.
  request(
    kind: MessageCallKind,
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    number = this.reserveCallNumber(),
  ): Promise<Uint8Array> {
    if (signal?.aborted) return Promise.reject(new AbortError());
    const id = kind === "write" ? this.#id : undefined;
    const bytes = id === undefined ? request.slice() : wrapInCall(request, id, number);
    return this.#add({ number, kind, request: bytes, durability }, signal) as Promise<Uint8Array>;
  }

  // Takes deferred writes that this tab's own engine acknowledged and may not have stored. They are
  // sent to the next owner. REQUIRES: there is no connection.
  resend(writes: readonly UnstoredWrite[]): void {
    const id = this.#id as Uint8Array;
    for (const { request, callNumber: number, provenBy } of writes) {
      if (this.#unstored.has(number)) continue;
      const bytes =
        callIdOf(request) !== undefined ? request.slice() : wrapInCall(request, id, number);
      this.#unstored.set(number, { number, request: bytes, provenBy });
    }
  }

  // Sends a snapshot file for the owner to restore.
  restore(
    file: Uint8Array,
    mode: RestoreMode | undefined,
    number = this.reserveCallNumber(),
  ): Promise<RestoreReport> {
    const request = this.#id === undefined ? file : wrapInCall(file, this.#id, number);
    return this.#add({ number, kind: "restore", request, mode }) as Promise<RestoreReport>;
  }

  callWithoutMessage(kind: PlainCallKind, number = this.reserveCallNumber()): Promise<unknown> {
    return this.#add({ number, kind });
  }

  // Connects to an owner and sends all calls without a response, including those that were sent to
  // an earlier owner, and the deferred writes that an earlier owner may not have stored.
  connect(link: OwnerSession): void {
    this.disconnect();
    this.#link = link;
    this.#send();
  }

  // Stops sending. Calls without a response wait for the next connect().
  disconnect(): void {
    this.#link = undefined;
    this.#recovering = undefined;
    this.#hasRecoverFailed = false;
    this.#known = new Set();
    this.#storedUpTo = 0;
    this.#mustRecover = this.#id !== undefined;
    for (const call of this.#ordered.values()) call.isSent = false;
    for (const call of this.#unordered.values()) call.isSent = false;
  }

  // `stored`: see messages.ts.
  receiveResponses(responses: readonly CallResponse[], stored = 0): void {
    for (const response of responses) {
      if (response.number === this.#recovering) this.#onRecoverEnded(response);
      const call = this.#ordered.get(response.number) ?? this.#unordered.get(response.number);
      if (call === undefined) continue;
      this.#removeCall(call);
      if ("error" in response) {
        call.reject(errorAfterResend(call, errorFromWire(response.error)));
      } else {
        this.#keepIfUnstored(call, response.isUnstored);
        call.resolve(response.value);
      }
    }
    this.#onStored(stored);
    this.#schedule();
  }

  rejectAll(error: unknown): void {
    this.#unstored.clear();
    for (const call of [...this.#ordered.values(), ...this.#unordered.values()]) {
      this.#removeCall(call);
      call.reject(error);
    }
  }

  // ---- Deferred writes, and the calls that the owner knows --------------------------------------

  // A deferred write of an earlier session with the same owner may also be unstored.
  #keepIfUnstored({ number, request, durability }: PendingCall, isUnstored = false): void {
    const isKnown = durability === "deferred" && this.#known.has(number);
    if (request === undefined || number <= this.#storedUpTo || !(isUnstored || isKnown)) return;
    this.#unstored.set(number, { number, request, provenBy: number });
  }

  #onStored(number: number): void {
    if (number <= this.#storedUpTo || this.#mustRecover) return;
    this.#storedUpTo = number;
    for (const unstored of this.#unstored.keys())
      if (unstored <= number) this.#unstored.delete(unstored);
  }

  // Whether reads must wait, so that they see this client's acknowledged writes. While the owner
  // cannot run writes, they do not wait.
  get #readsWait(): boolean {
    return this.#mustRecover && this.#unstored.size > 0 && !this.#hasRecoverFailed;
  }

  // Returns the call to send before all ordered calls; undefined if none is needed, or if it has no
  // response yet.
  #recover(): RemoteCall | undefined {
    if (this.#recovering !== undefined) return undefined;
    const unstored = [...this.#unstored.values()].sort((a, b) => a.number - b.number);
    const writes = [...this.#ordered.values()].filter(({ kind }) => isWrite(kind));
    const numbers = [...unstored, ...writes].map(({ number }) => number);
    this.#mustRecover = numbers.length > 0;
    if (!this.#mustRecover) return undefined;
    this.#recovering = this.reserveCallNumber();
    return { number: this.#recovering, kind: "recover", request: this.#id, numbers, unstored };
  }

  #onRecoverEnded(response: CallResponse): void {
    if ("error" in response) {
      this.#onRecoverFailed(errorFromWire(response.error));
      return;
    }
    this.#recovering = undefined;
    this.#mustRecover = false;
    const known = response.value as number[];
    this.#known = new Set(known);
    this.#rejectOvertaken(known);
  }

  // The owner cannot run writes now. Rejects those that wait, as the owner would, and tries again
  // later, because the deferred writes must not be lost.
  #onRecoverFailed(error: Error): void {
    for (const call of [...this.#ordered.values()]) {
      this.#removeCall(call);
      call.sendCount += 1;
      call.reject(errorAfterResend(call, error));
    }
    this.#hasRecoverFailed = true;
    if (this.#unstored.size > 0) this.#onResendFailed(error, recoverRetryMs);
    const failed = this.#recovering;
    setTimeout(() => {
      if (this.#recovering !== failed) return;
      this.#recovering = undefined;
      this.#schedule();
    }, recoverRetryMs);
  }

  // Rejects writes without a response that are not known although a later call is. Such a write had
  // no effect: an earlier owner rejected it, and the response was lost. If it were sent again, it
  // would be applied after later calls. If the store knows as many calls as it remembers, it may
  // have forgotten an earlier one, whose outcome is then unknown. Only a tab that was the owner can
  // have so many writes without a response.
  #rejectOvertaken(known: readonly number[]): void {
    const last = Math.max(0, ...known);
    const first = known.length < writesInFlightMax ? 0 : Math.min(...known);
    for (const call of [...this.#ordered.values()]) {
      if (!isWrite(call.kind) || call.number > last || this.#known.has(call.number)) continue;
      this.#removeCall(call);
      const message = "The store's owner changed, and the response to this call is lost";
      const error = new StoreError("ConnectionLost", `${message}. The call had no effect.`);
      call.reject(
        call.number < first
          ? unknownOutcomeError(new StoreError("ConnectionLost", message))
          : error,
      );
    }
  }

  #add(call: RemoteCall, signal?: AbortSignalLike): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const added: PendingCall = {
        ...call,
        resolve,
        reject,
        isSent: false,
        sendCount: 0,
        unlisten: () => {},
      };
      if (signal !== undefined) this.#listen(added, signal);
      if (orderedKinds.has(call.kind)) this.#order(added);
      else this.#unordered.set(call.number, added);
      this.#schedule();
    });
  }

  #order(call: PendingCall): void {
    this.#ordered.set(call.number, call);
    if (call.number < this.#highest) this.#needsSort = true;
    else this.#highest = call.number;
  }

  // Rejects an unsent call when `signal` aborts. For a call that was sent, requests cancellation
  // from the owner, which knows whether the call had an effect already.
  #listen(call: PendingCall, signal: AbortSignalLike): void {
    const onAbort = () => {
      if (call.isSent) {
        const { owner: to, session } = this.#link as OwnerSession;
        this.#link?.post({ to, type: "cancel", session, number: call.number });
      } else {
        this.#removeCall(call);
        call.reject(new AbortError());
      }
    };
    signal.addEventListener("abort", onAbort);
    call.unlisten = () => signal.removeEventListener("abort", onAbort);
  }

  #removeCall(call: PendingCall): void {
    call.unlisten();
    this.#ordered.delete(call.number);
    this.#unordered.delete(call.number);
  }

  // Sends calls that were made in the same turn of the event loop as one message.
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#link === undefined) return;
    const calls: RemoteCall[] = [];
    const send = (call: PendingCall) => {
      call.isSent = true;
      call.sendCount += 1;
      const { number, kind, request, durability, mode } = call;
      calls.push({ number, kind, request, durability, mode });
    };
    if (this.#needsSort) this.#ordered = new Map([...this.#ordered].sort(([a], [b]) => a - b));
    this.#needsSort = false;
    const recover = this.#mustRecover ? this.#recover() : undefined;
    if (recover !== undefined) calls.push(recover);
    const inFlightMax = this.#id === undefined ? Number.POSITIVE_INFINITY : writesInFlightMax;
    let inFlight = 0;
    for (const call of this.#mustRecover ? [] : this.#ordered.values()) {
      if (++inFlight > inFlightMax) break;
      if (!call.isSent) send(call);
    }
    if (!this.#readsWait) for (const call of this.#unordered.values()) if (!call.isSent) send(call);
    const { owner: to, session } = this.#link;
    if (calls.length > 0) this.#link.post({ to, type: "calls", session, calls });
  }
}

// Returns the error to report for a call. If a write was sent more than once, a storage error of
// the last owner does not show whether an earlier owner stored the write. The outcome is then
// unknown.
function errorAfterResend({ kind, sendCount }: PendingCall, error: Error): Error {
  const ofStorage = error instanceof StoreError || error instanceof AbortError;
  return isWrite(kind) && ofStorage && sendCount >= 2 ? unknownOutcomeError(error) : error;
}

function unknownOutcomeError(error: Error): StoreError {
  const outcome = "The store's owner changed, and it is unknown whether this call was stored";
  const message = `${outcome}: ${error.message}`;
  const hint = "The call was applied completely or not at all. Read the data to find out.";
  return new StoreError("ConnectionLost", message, { cause: error, hint, uncertain: true });
}

function isWrite(kind: RemoteCall["kind"]): boolean {
  return kind === "write" || kind === "restore";
}
