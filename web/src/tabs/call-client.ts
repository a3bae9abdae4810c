// The calls of one client to an owner elsewhere. Calls are kept until an owner responds. When the
// owner changes, calls without a response are sent again.

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, Durability, RestoreMode, RestoreReport } from "../types.ts";
import {
  type CallResponse,
  errorFromWire,
  type MessageCall,
  type PlainCall,
  type RemoteCall,
  type ToOwner,
  writesInFlightMax,
} from "./messages.ts";

// The way to one owner, whose name is in each message, for one session.
export interface OwnerLink {
  readonly owner: string;
  readonly session: number;
  post(message: ToOwner): void;
}

interface PendingCall extends RemoteCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  isSent: boolean; // to the present owner
  sendCount: number; // to whatever owner
  unlisten(): void; // stops listening to its signal
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
  #link: OwnerLink | undefined;
  #scheduled = false;
  // By number, which is their order.
  // writes and flushes: sent in order, a bounded number at a time
  #ordered = new Map<number, PendingCall>();
  #highest = 0; // number among them, ever
  #needsSort = false; // one came late
  readonly #unordered = new Map<number, PendingCall>(); // all others

  // `id`: 16 random bytes. Without it there is one owner for good, so no write is ever sent twice:
  // writes then travel without a number of the store's, and as many at a time as there are.
  constructor(id?: Uint8Array) {
    this.#id = id;
  }

  // How many calls have no response yet.
  get pendingCount(): number {
    return this.#ordered.size + this.#unordered.size;
  }

  // Writes and what keeps its place among them have no answer yet: what is to come after them is
  // asked of this client too.
  get hasOrderedCalls(): boolean {
    return this.#ordered.size > 0;
  }

  // A call's place among all of this client: its number. Taken for one that may be made later, so
  // that no other gets ahead of it.
  nextCallNumber(): number {
    return this.#next++;
  }

  // Rejects as the owner does, or with AbortError if `signal` aborts before the call had an effect.
  request(
    kind: MessageCall,
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    number = this.nextCallNumber(),
  ): Promise<Uint8Array> {
    if (signal?.aborted) return Promise.reject(new AbortError());
    const id = kind === "write" ? this.#id : undefined;
    const bytes = id === undefined ? request.slice() : wrapInCall(request, id, number);
    return this.#add({ number, kind, request: bytes, durability }, signal) as Promise<Uint8Array>;
  }

  // A deferred write that an owner acknowledged and could not store, whoever made it. One that was
  // a call of this client's is that call again.
  resend(request: Uint8Array, callNumber: number | undefined): Promise<Uint8Array> {
    const number = callNumber ?? this.#ownCallNumber(request) ?? this.nextCallNumber();
    return this.request("write", unwrapCall(request), "deferred", undefined, number);
  }

  // A snapshot, for the owner's store.
  restore(
    file: Uint8Array,
    mode: RestoreMode | undefined,
    number = this.nextCallNumber(),
  ): Promise<RestoreReport> {
    const request = this.#id === undefined ? file : wrapInCall(file, this.#id, number);
    return this.#add({ number, kind: "restore", request, mode }) as Promise<RestoreReport>;
  }

  requestPlain(kind: PlainCall, number = this.nextCallNumber()): Promise<unknown> {
    return this.#add({ number, kind });
  }

  // There is an owner: what waits is sent, and what had been sent to another is sent again.
  connect(link: OwnerLink): void {
    this.disconnect();
    this.#link = link;
    this.#send();
  }

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

  // A call that was sent is the owner's to abort: it knows whether it still can.
  #listen(call: PendingCall, signal: AbortSignalLike): void {
    const onAbort = () => {
      if (call.isSent) {
        const { owner: to, session } = this.#link as OwnerLink;
        this.#link?.post({ to, type: "cancel", session, number: call.number });
      } else {
        this.#removeCall(call);
        call.reject(new AbortError());
      }
    };
    signal.addEventListener("abort", onAbort);
    call.unlisten = () => signal.removeEventListener("abort", onAbort);
  }

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

  // Calls made in the same turn of the event loop travel in one message.
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

// That a write could not be stored tells nothing of one that was sent before: it may have been, by
// an owner who could not say so.
function errorAfterResend({ kind, sendCount }: PendingCall, error: Error): Error {
  const writes = kind === "write" || kind === "restore";
  const ofStorage = error instanceof StoreError || error instanceof AbortError;
  if (!writes || !ofStorage || sendCount < 2) return error;
  const message = `The store got another owner, who could not find out whether this was stored: ${error.message}`;
  const hint = "It is there whole or not at all, which shows when it is read.";
  return new StoreError("ConnectionLost", message, { cause: error, hint });
}

// ---- Calls, as core/dispatch/dispatcher.h has them ----------------------------------------------

const callKind = 32;
const callVersion = 1;
const callHeadBytes = 32;

function wrapInCall(request: Uint8Array, client: Uint8Array, number: number): Uint8Array {
  const bytes = new Uint8Array(callHeadBytes + request.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, callKind);
  view.setUint8(1, callVersion);
  view.setBigUint64(8, BigInt(number), true);
  bytes.set(client, 16);
  bytes.set(request, callHeadBytes);
  return bytes;
}

// Who calls, as the engine remembers it: number and client.
export function callIdOf(request: Uint8Array): Uint8Array | undefined {
  return request[0] === callKind ? request.subarray(8, callHeadBytes) : undefined;
}

// The block itself, whether it is in a call or not.
export function unwrapCall(request: Uint8Array): Uint8Array<ArrayBuffer> {
  return request[0] === callKind ? request.slice(callHeadBytes) : new Uint8Array(request);
}
