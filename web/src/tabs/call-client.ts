// The calls of one client that an owner elsewhere is to answer. They are kept until they are answered, whoever does it:
// when the owner changes, those that had been sent are sent again.

import { AbortError, StoreError } from "../errors.ts";
import type { AbortSignalLike, Durability, RestoreMode, RestoreReport } from "../types.ts";
import {
  type BlockCall,
  fromWire,
  type PlainCall,
  type RemoteCall,
  type Reply,
  type ToOwner,
  writesInFlightMax,
} from "./messages.ts";

// The way to one owner, whose name is in each message, for one session.
export interface Link {
  readonly owner: string;
  readonly session: number;
  post(message: ToOwner): void;
}

interface Call extends RemoteCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  sent: boolean; // to the present owner
  sendings: number; // to whatever owner
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
  #link: Link | undefined;
  #scheduled = false;
  // By number, which is their order.
  #ordered = new Map<number, Call>(); // writes and flushes: sent in order, a bounded number at a time
  #highest = 0; // number among them, ever
  #disordered = false; // one came late
  readonly #free = new Map<number, Call>(); // all others

  // `id`: 16 random bytes. Without it there is one owner for good, so no write is ever sent twice: writes then travel without a number
  // of the store's, and as many at a time as there are.
  constructor(id?: Uint8Array) {
    this.#id = id;
  }

  // How many calls have no answer yet.
  get open(): number {
    return this.#ordered.size + this.#free.size;
  }

  // Writes and what keeps its place among them have no answer yet: what is to come after them is asked of this client too.
  get waits(): boolean {
    return this.#ordered.size > 0;
  }

  // A call's place among all of this client: its number. Taken for one that may be made later, so that no other gets ahead of it.
  place(): number {
    return this.#next++;
  }

  // Rejects as the owner does, or with AbortError if `signal` aborts before the call had an effect.
  block(
    kind: BlockCall,
    block: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    number = this.place(),
  ): Promise<Uint8Array> {
    if (signal?.aborted) return Promise.reject(new AbortError());
    const id = kind === "write" ? this.#id : undefined;
    const bytes = id === undefined ? block.slice() : inCall(block, id, number);
    return this.#add({ number, kind, block: bytes, durability }, signal) as Promise<Uint8Array>;
  }

  // A deferred write that an owner acknowledged and could not store, whoever made it. One that was a call of this client's is that
  // call again.
  again(block: Uint8Array, place: number | undefined): Promise<Uint8Array> {
    const number = place ?? this.#numberOf(block) ?? this.place();
    return this.block("write", outOfCall(block), "deferred", undefined, number);
  }

  // A snapshot, for the owner's store.
  restore(
    file: Uint8Array,
    mode: RestoreMode | undefined,
    number = this.place(),
  ): Promise<RestoreReport> {
    const block = this.#id === undefined ? file : inCall(file, this.#id, number);
    return this.#add({ number, kind: "restore", block, mode }) as Promise<RestoreReport>;
  }

  plain(kind: PlainCall, number = this.place()): Promise<unknown> {
    return this.#add({ number, kind });
  }

  // There is an owner: what waits is sent, and what had been sent to another is sent again.
  connect(link: Link): void {
    this.disconnect();
    this.#link = link;
    this.#send();
  }

  disconnect(): void {
    this.#link = undefined;
    for (const call of this.#ordered.values()) call.sent = false;
    for (const call of this.#free.values()) call.sent = false;
  }

  answer(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const call = this.#ordered.get(reply.number) ?? this.#free.get(reply.number);
      if (call === undefined) continue;
      this.#forget(call);
      if ("error" in reply) call.reject(refusal(call, fromWire(reply.error)));
      else call.resolve(reply.value);
    }
    this.#schedule();
  }

  rejectAll(error: unknown): void {
    for (const call of [...this.#ordered.values(), ...this.#free.values()]) {
      this.#forget(call);
      call.reject(error);
    }
  }

  #add(call: RemoteCall, signal?: AbortSignalLike): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const added: Call = {
        ...call,
        resolve,
        reject,
        sent: false,
        sendings: 0,
        unlisten: () => {},
      };
      if (signal !== undefined) this.#listen(added, signal);
      if (orderedKinds.has(call.kind)) this.#order(added);
      else this.#free.set(call.number, added);
      this.#schedule();
    });
  }

  #order(call: Call): void {
    this.#ordered.set(call.number, call);
    if (call.number < this.#highest) this.#disordered = true;
    else this.#highest = call.number;
  }

  // A call that was sent is the owner's to abort: it knows whether it still can.
  #listen(call: Call, signal: AbortSignalLike): void {
    const onAbort = () => {
      if (call.sent) {
        const { owner: to, session } = this.#link as Link;
        this.#link?.post({ to, type: "cancel", session, number: call.number });
      } else {
        this.#forget(call);
        call.reject(new AbortError());
      }
    };
    signal.addEventListener("abort", onAbort);
    call.unlisten = () => signal.removeEventListener("abort", onAbort);
  }

  #numberOf(block: Uint8Array): number | undefined {
    const call = callOf(block);
    if (call === undefined || this.#id?.every((byte, i) => byte === call[8 + i]) !== true)
      return undefined;
    return Number(new DataView(call.buffer, call.byteOffset).getBigUint64(0, true));
  }

  #forget(call: Call): void {
    call.unlisten();
    this.#ordered.delete(call.number);
    this.#free.delete(call.number);
  }

  // What is called in one turn travels in one message.
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
    const send = (call: Call) => {
      call.sent = true;
      call.sendings += 1;
      const { number, kind, block, durability, mode } = call;
      calls.push({ number, kind, block, durability, mode });
    };
    if (this.#disordered) this.#ordered = new Map([...this.#ordered].sort(([a], [b]) => a - b));
    this.#disordered = false;
    const inFlightMax = this.#id === undefined ? Number.POSITIVE_INFINITY : writesInFlightMax;
    let inFlight = 0;
    for (const call of this.#ordered.values()) {
      if (++inFlight > inFlightMax) break;
      if (!call.sent) send(call);
    }
    for (const call of this.#free.values()) if (!call.sent) send(call);
    const { owner: to, session } = this.#link;
    if (calls.length > 0) this.#link.post({ to, type: "calls", session, calls });
  }
}

// That a write could not be stored tells nothing of one that was sent before: it may have been, by an owner who could not say so.
function refusal({ kind, sendings }: Call, error: Error): Error {
  const writes = kind === "write" || kind === "restore";
  const ofStorage = error instanceof StoreError || error instanceof AbortError;
  if (!writes || !ofStorage || sendings < 2) return error;
  const message = `The store got another owner, who could not find out whether this was stored: ${error.message}`;
  const hint = "It is there whole or not at all, which shows when it is read.";
  return new StoreError("ConnectionLost", message, { cause: error, hint });
}

// ---- Calls, as core/doors/group.h has them ----------------------------------------------------------------------------

const callKind = 32;
const callVersion = 1;
const callHeadBytes = 32;

function inCall(block: Uint8Array, client: Uint8Array, number: number): Uint8Array {
  const bytes = new Uint8Array(callHeadBytes + block.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, callKind);
  view.setUint8(1, callVersion);
  view.setBigUint64(8, BigInt(number), true);
  bytes.set(client, 16);
  bytes.set(block, callHeadBytes);
  return bytes;
}

// Who calls, as the engine remembers it: number and client.
export function callOf(block: Uint8Array): Uint8Array | undefined {
  return block[0] === callKind ? block.subarray(8, callHeadBytes) : undefined;
}

// The block itself, whether it is in a call or not.
export function outOfCall(block: Uint8Array): Uint8Array<ArrayBuffer> {
  return block[0] === callKind ? block.slice(callHeadBytes) : new Uint8Array(block);
}
