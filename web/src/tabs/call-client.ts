// Sends one client's calls to the owner in another tab or worker. A call is kept until an owner
// responds. When the owner changes, calls without a response are sent again.

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, Durability, RestoreMode, RestoreReport } from "../types.ts";
import { callHeaderBytes, callKind } from "../util/engine-message-kinds.ts";
import {
  type CallResponse,
  errorFromWire,
  type MessageCallKind,
  type PlainCallKind,
  type RemoteCall,
  type ToOwner,
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

const orderedKinds: ReadonlySet<RemoteCall["kind"]> = new Set([
  "write",
  "restore",
  "flush",
  "compact",
]);

export class CallClient {
  readonly #id: Uint8Array | undefined;
  #next = 1;
  #link: OwnerSession | undefined;
  #scheduled = false;
  // Calls of `orderedKinds` by call number: sent in that order, with a limit on how many are in
  // flight.
  #ordered = new Map<number, PendingCall>();
  #highest = 0; // the highest number that was ever added to #ordered
  #needsSort = false; // a call was added after one with a higher number
  readonly #unordered = new Map<number, PendingCall>(); // all other calls

  // `id`: 16 random bytes, written into each write so that the store recognises a repeated write.
  // Without an id the owner never changes and no write is sent twice. Writes are then sent
  // unwrapped, and without a limit on how many are in flight.
  constructor(id?: Uint8Array) {
    this.#id = id;
  }

  // Returns how many calls have no response yet.
  get pendingCount(): number {
    return this.#ordered.size + this.#unordered.size;
  }

  // Returns whether ordered calls wait for a response. Later ordered calls must then go through
  // this client too, to stay behind them.
  get hasPendingOrderedCalls(): boolean {
    return this.#ordered.size > 0;
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

  // Sends a deferred write again that an owner acknowledged and could not store. A write of this
  // client keeps its call number; another client's write becomes a new call of this client.
  resendWrite(request: Uint8Array, callNumber: number | undefined): Promise<Uint8Array> {
    const number = callNumber ?? this.#ownCallNumber(request) ?? this.reserveCallNumber();
    return this.request("write", unwrapCall(request), "deferred", undefined, number);
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
  // an earlier owner.
  connect(link: OwnerSession): void {
    this.disconnect();
    this.#link = link;
    this.#send();
  }

  // Stops sending. Calls without a response wait for the next connect().
  disconnect(): void {
    this.#link = undefined;
    for (const call of this.#ordered.values()) call.isSent = false;
    for (const call of this.#unordered.values()) call.isSent = false;
  }

  receiveResponses(responses: readonly CallResponse[]): void {
    for (const response of responses) {
      const call = this.#ordered.get(response.number) ?? this.#unordered.get(response.number);
      if (call === undefined) continue;
      this.#removeCall(call);
      if ("error" in response) call.reject(errorAfterResend(call, errorFromWire(response.error)));
      else call.resolve(response.value);
    }
    this.#schedule();
  }

  rejectAll(error: unknown): void {
    for (const call of [...this.#ordered.values(), ...this.#unordered.values()]) {
      this.#removeCall(call);
      call.reject(error);
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

  // Returns the call number in a wrapped message if this client made the call, else undefined.
  #ownCallNumber(request: Uint8Array): number | undefined {
    const call = callIdOf(request);
    if (call === undefined || this.#id?.every((byte, i) => byte === call[8 + i]) !== true)
      return undefined;
    return Number(new DataView(call.buffer, call.byteOffset).getBigUint64(0, true));
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
    const inFlightMax = this.#id === undefined ? Number.POSITIVE_INFINITY : writesInFlightMax;
    let inFlight = 0;
    for (const call of this.#ordered.values()) {
      if (++inFlight > inFlightMax) break;
      if (!call.isSent) send(call);
    }
    for (const call of this.#unordered.values()) if (!call.isSent) send(call);
    const { owner: to, session } = this.#link;
    if (calls.length > 0) this.#link.post({ to, type: "calls", session, calls });
  }
}

// Returns the error to report for a call. If a write was sent more than once, a storage error of
// the last owner does not show whether an earlier owner stored the write. The outcome is then
// unknown.
function errorAfterResend({ kind, sendCount }: PendingCall, error: Error): Error {
  const writes = kind === "write" || kind === "restore";
  const ofStorage = error instanceof StoreError || error instanceof AbortError;
  if (!writes || !ofStorage || sendCount < 2) return error;
  const outcome = "The store's owner changed, and it is unknown whether this call was stored";
  const message = `${outcome}: ${error.message}`;
  const hint = "The call was applied completely or not at all. Read the data to find out.";
  return new StoreError("ConnectionLost", message, { cause: error, hint, uncertain: true });
}

// ---- Calls: the format of core/dispatch/dispatcher.h --------------------------------------------

const callVersion = 1;

function wrapInCall(request: Uint8Array, client: Uint8Array, number: number): Uint8Array {
  const bytes = new Uint8Array(callHeaderBytes + request.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, callKind);
  view.setUint8(1, callVersion);
  view.setBigUint64(8, BigInt(number), true);
  bytes.set(client, 16);
  bytes.set(request, callHeaderBytes);
  return bytes;
}

// Returns the call number (8 bytes) and client id (16 bytes) by which the engine recognises a
// repeated call; undefined if the message is not wrapped in a call.
export function callIdOf(request: Uint8Array): Uint8Array | undefined {
  return request[0] === callKind ? request.subarray(8, callHeaderBytes) : undefined;
}

// Returns a copy of the message, without the call around it if there is one.
export function unwrapCall(request: Uint8Array): Uint8Array<ArrayBuffer> {
  return request[0] === callKind ? request.slice(callHeaderBytes) : new Uint8Array(request);
}
