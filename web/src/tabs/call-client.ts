// Sends one client's calls to the owner in another tab or worker. A call is kept until an owner
// responds, and a deferred write until an owner has stored it. When the owner changes, these calls
// are sent again: first the deferred writes, with "recover" (messages.ts), then the calls without a
// response. The next owner may have read some of them from the log. It knows only the newest calls
// of a client. But the writes of one client are applied in the order of their numbers, so each
// write before a known one was applied, or had no effect.

import { AbortError, SnapshotInterrupted, StoreError } from "../errors.ts";
import type { UnstoredWrite } from "../host/deferred-writes.ts";
import type {
  ChangeListener,
  ChunkedFile,
  ListenerConnection,
  RestoreCallMode,
} from "../transport.ts";
import type { AbortSignalLike, Durability, RestoreReport } from "../types.ts";
import { nextRetryMs } from "../util/back-off.ts";
import { callIdOf, wrapInCall } from "../util/call-message.ts";
import { requestKind } from "../util/engine-message-kinds.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import { ownBuffer } from "./channel.ts";
import {
  causeOf,
  forgottenError,
  leftOutError,
  lostWritesError,
  mayBeForgotten,
  type RememberedCalls,
} from "./lost-writes.ts";
import {
  type CallResponse,
  type CallValue,
  type ContentCallKind,
  errorFromWire,
  errorToWire,
  type FailedWrite,
  type ListenerNews,
  type PlainCallKind,
  type Recovered,
  type RemoteCall,
  type ToOwner,
  type UnstoredCall,
  writesInFlightMax,
} from "./messages.ts";

// The connection to one owner, for one session. Each message carries the owner's name.
export interface OwnerSession {
  readonly owner: string;
  readonly session: number;
  readonly lastCommit: number | undefined; // OwnerHost.lastCommit when the session began
  post(message: ToOwner): void;
}

interface PendingCall extends RemoteCall {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  isSent: boolean; // to the current owner
  sendCount: number; // to any owner that may have applied it
  // Of a write: see UnstoredCall. Undefined: no owner that got the write can have applied it.
  appliedAfter: number | undefined;
  stopListening(): void; // stops listening to the call's AbortSignal
  file?: ChunkedFile | undefined; // of "restore"
  chunks?: AsyncGenerator<Uint8Array<ArrayBuffer>> | undefined; // of `file`, for the current owner
}

// A request of the listening client. It is not sent again to another owner: there, the client opens
// its watches again.
interface ListenRequest {
  readonly request: Uint8Array;
  readonly respond: (response: Uint8Array) => void;
  readonly fail: (error: Error) => void;
  isSent: boolean;
}

// After so many attempts that failed, the owner leaves out the writes that it cannot apply.
const recoverAttempts = 5;

const orderedKinds: ReadonlySet<RemoteCall["kind"]> = new Set([
  "write",
  "restore",
  "flush",
  "compact",
]);

export class CallClient {
  readonly #id: Uint8Array | undefined;
  readonly #onPersistError: (error: Error, retryInMs: number | undefined) => void;
  readonly #onReadsContinue: () => void;
  #next = 1;
  #lastCommit = 0; // the owner's newest commit as far as it is known
  #link: OwnerSession | undefined;
  #scheduled = false;
  // Calls of `orderedKinds` by call number: sent in that order, with a limit on how many are in
  // flight.
  #ordered = new Map<number, PendingCall>();
  #highest = 0; // the highest number that was ever added to #ordered
  #needsSort = false; // a call was added after one with a higher number
  readonly #unordered = new Map<number, PendingCall>(); // all other calls
  readonly #unstored = new Map<number, UnstoredCall>();
  #listener: ChangeListener | undefined;
  readonly #listening = new Map<number, ListenRequest>(); // without a response, by call number
  #resets = 0; // how many resets the listener has received in this session
  #hasReadChanges = false; // and has not told the owner yet
  #mustRecover = false; // no ordered call is sent before "recover" has succeeded
  #recovering: number | undefined; // the number of the "recover" call without a response
  #hasRecoverFailed = false; // in this session
  #failedRecovers = 0; // since "recover" succeeded last, in any session
  #retryMs = 0; // the delay after the last failure; 0: there was none
  #known: ReadonlySet<number> = new Set(); // the calls that the owner knew by then
  #storedUpTo = 0; // as the owner has reported in this session

  // `id`: 16 random bytes, written into each write so that the store recognises a repeated write.
  // Without an id the owner never changes and no write is sent twice. Writes are then sent
  // unwrapped, and without a limit on how many are in flight. `onPersistError`: called when the
  // owner could not apply deferred writes again. They are sent again after `retryInMs`; undefined:
  // they are lost. `onReadsContinue`: called when `readsWait` may have become false, which only the
  // end of "recover" does.
  constructor(
    id?: Uint8Array,
    onPersistError: (error: Error, retryInMs: number | undefined) => void = () => {},
    onReadsContinue: () => void = () => {},
  ) {
    this.#id = id;
    this.#onPersistError = onPersistError;
    this.#onReadsContinue = onReadsContinue;
  }

  // Returns how many calls have no response yet, or are deferred writes that may not be stored.
  get pendingCount(): number {
    return this.#ordered.size + this.#unordered.size + this.#unstored.size;
  }

  // Returns whether a response of the owner is due.
  get isResponseDue(): boolean {
    return this.pendingCount > 0 || this.#listening.size > 0;
  }

  // Returns whether ordered calls wait for a response, or deferred writes may have to be sent
  // again. Later ordered calls must then go through this client too, to stay behind them.
  get hasPendingOrderedCalls(): boolean {
    return this.#ordered.size > 0 || this.#mustRepeat;
  }

  // Whether deferred writes may have to be sent again, so that the owner may not have them.
  get #mustRepeat(): boolean {
    return this.#mustRecover && this.#unstored.size > 0;
  }

  // The size of the deferred writes that the owner may not have.
  get bytesToRepeat(): number {
    let bytes = 0;
    if (this.#mustRepeat)
      for (const { request } of this.#unstored.values()) bytes += request.length;
    return bytes;
  }

  // Whether reads must wait, so that they see this client's acknowledged writes. They are then sent
  // after "recover". While the owner cannot apply the writes, reads do not wait.
  get readsWait(): boolean {
    return this.#mustRepeat && !this.#hasRecoverFailed;
  }

  // Reserves the next call number. Ordered calls are sent in the order of their numbers, so a call
  // that may be made later keeps its place.
  reserveCallNumber(): number {
    return this.#next++;
  }

  // Sends one request message and resolves to the response message. Rejects with the owner's error,
  // or with AbortError if `signal` aborts before the call had an effect. `request` is copied.
  request(
    kind: ContentCallKind,
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
    for (const { request, callNumber: number, appliedAfter } of writes) {
      if (this.#unstored.has(number)) continue;
      const bytes =
        callIdOf(request) !== undefined ? request.slice() : wrapInCall(request, id, number);
      this.#unstored.set(number, { number, request: bytes, appliedAfter });
    }
  }

  // Lets the owner restore a snapshot file, whose chunks the owner requests (sendChunk()).
  restore(
    file: ChunkedFile,
    mode: RestoreCallMode | undefined,
    number = this.reserveCallNumber(),
  ): Promise<RestoreReport> {
    const request =
      this.#id === undefined ? undefined : wrapInCall(new Uint8Array(0), this.#id, number);
    const call = { number, kind: "restore", request, mode, file } as const;
    return this.#add(call) as Promise<RestoreReport>;
  }

  // Sends the next chunk of a restore's file. If the file cannot be read, rejects the call. The
  // owner gets an error for a call that has ended, so that it does not wait for the chunk.
  async sendChunk({ session, number }: { session: number; number: number }): Promise<void> {
    const link = this.#link;
    const call = this.#ordered.get(number);
    if (link === undefined || link.session !== session) return;
    const message = { to: link.owner, type: "chunk", session, number } as const;
    if (call?.file === undefined) {
      link.post({ ...message, error: errorToWire(new AbortError()) });
      return;
    }
    call.chunks ??= call.file.chunks();
    const { chunks } = call;
    try {
      const { done, value } = await chunks.next();
      if (this.#link !== link || call.chunks !== chunks) return; // it is read again for a new owner
      link.post({ ...message, bytes: done ? undefined : ownBuffer(value) });
    } catch (error) {
      if (this.#link !== link || call.chunks !== chunks) return;
      link.post({ ...message, error: errorToWire(error) });
      this.#removeCall(call);
      call.reject(error);
    }
  }

  // Yields a snapshot of the owner's store, as Host.snapshotChunks().
  async *snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const snapshot = this.reserveCallNumber();
    let isWithReader = false;
    try {
      for (let kind: "snapshot" | "snapshotChunk" = "snapshot"; ; kind = "snapshotChunk") {
        const number = kind === "snapshot" ? snapshot : this.reserveCallNumber();
        const chunk = await this.#add({ number, kind, snapshot });
        if (chunk === null) return;
        if (chunk === undefined) throw new SnapshotInterrupted();
        isWithReader = true;
        yield chunk as Uint8Array<ArrayBuffer>;
        isWithReader = false;
      }
    } finally {
      // The reader has cancelled.
      if (isWithReader) {
        const number = this.reserveCallNumber();
        this.#add({ number, kind: "endSnapshot", snapshot }).catch(() => {});
      }
    }
  }

  // Connects the listening client to the owner, and to each later owner (Transport.listen).
  listen(listener: ChangeListener): ListenerConnection {
    this.#listener = listener;
    return {
      send: (request, respond, fail) => {
        if (this.#link === undefined) return; // onReset() follows
        const added = { request: request.slice(), respond, fail, isSent: false };
        this.#listening.set(this.reserveCallNumber(), added);
        this.#schedule();
      },
      close: () => this.#stopListening(listener),
    };
  }

  #stopListening(listener: ChangeListener): void {
    if (this.#listener !== listener) return;
    this.#listener = undefined;
    this.#listening.clear();
    const request = Uint8Array.of(requestKind.closeListeners);
    const close = { number: this.reserveCallNumber(), kind: "listen", request } as const;
    const { owner: to = "", session = 0 } = this.#link ?? {};
    this.#link?.post({ to, type: "calls", session, calls: [{ ...close, resets: this.#resets }] });
  }

  callWithoutContent(kind: PlainCallKind, number = this.reserveCallNumber()): Promise<unknown> {
    return this.#add({ number, kind });
  }

  // Connects to an owner and sends all calls without a response, including those that were sent to
  // an earlier owner, and the deferred writes that an earlier owner may not have stored.
  connect(link: OwnerSession): void {
    this.disconnect();
    this.#link = link;
    this.#lastCommit = link.lastCommit ?? 0;
    this.#limitAppliedAfter(this.#lastCommit);
    this.#send();
    this.#listener?.onReset();
  }

  // Stops sending. Calls without a response wait for the next connect().
  disconnect(): void {
    this.#link = undefined;
    this.#recovering = undefined;
    this.#hasRecoverFailed = false;
    this.#known = new Set();
    this.#storedUpTo = 0;
    this.#mustRecover = this.#id !== undefined;
    this.#listening.clear();
    this.#resets = 0;
    this.#hasReadChanges = false;
    for (const call of this.#ordered.values()) call.isSent = false;
    for (const call of this.#unordered.values()) call.isSent = false;
  }

  // `stored`, `lastCommit`: see messages.ts.
  settleCalls(responses: readonly CallResponse[], stored = 0, lastCommit = 0): void {
    this.#lastCommit = Math.max(this.#lastCommit, lastCommit);
    let hasChanges = false; // that the listener was told
    for (const response of responses) {
      if (!("number" in response)) {
        hasChanges ||= "changes" in response;
        this.#hasReadChanges ||= hasChanges;
        this.#callListener(() => this.#tellListener(response));
        continue;
      }
      if (this.#settleListening(response)) continue;
      if (response.number === this.#recovering) {
        this.#onRecoverEnded(response);
        this.#onReadsContinue();
      }
      const call = this.#ordered.get(response.number) ?? this.#unordered.get(response.number);
      if (call === undefined) continue;
      this.#removeCall(call);
      if ("error" in response) {
        call.reject(errorAfterResend(call, errorFromWire(response.error)));
      } else {
        this.#keepIfUnstored(call, response);
        call.resolve(response.value);
      }
    }
    this.#onStored(stored);
    this.#schedule();
    if (hasChanges) this.#callListener(() => this.#listener?.onChangesEnd());
  }

  // Ends listening if the listener throws. The responses to calls behind its news must be settled.
  #callListener(call: () => void): void {
    try {
      call();
    } catch (error) {
      const listener = this.#listener;
      if (listener === undefined) return;
      this.#stopListening(listener);
      listener.onClosed(toError(error));
    }
  }

  #tellListener(news: ListenerNews): void {
    if ("changes" in news) {
      this.#listener?.onChanges(news.changes);
    } else if ("reset" in news) {
      this.#resets += 1;
      this.#listening.clear();
      this.#listener?.onReset();
    } else {
      this.#endListening(errorFromWire(news.closed));
    }
  }

  // Returns whether the response is one to the listening client.
  #settleListening(response: Exclude<CallResponse, ListenerNews>): boolean {
    const request = this.#listening.get(response.number);
    if (request === undefined) return false;
    this.#listening.delete(response.number);
    if ("error" in response) request.fail(errorFromWire(response.error));
    else request.respond(response.value as Uint8Array);
    return true;
  }

  #endListening(error: Error): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#listening.clear();
    listener?.onClosed(error);
  }

  // Reports the deferred writes that would have to be sent again, because they will not be.
  reportLost(cause: Error): void {
    const count = this.#mustRepeat ? this.#unstored.size : 0;
    if (count > 0) this.#onPersistError(lostWritesError(count, cause), undefined);
  }

  rejectAll(error: unknown): void {
    this.#endListening(toError(error));
    this.#unstored.clear();
    for (const call of [...this.#ordered.values(), ...this.#unordered.values()]) {
      this.#removeCall(call);
      call.reject(error);
    }
  }

  // ---- Deferred writes, and the calls that the owner knows --------------------------------------

  // A deferred write of an earlier session with the same owner may also be unstored.
  #keepIfUnstored(call: PendingCall, response: CallValue): void {
    const { number, request, durability } = call;
    const isKnown = durability === "deferred" && this.#known.has(number);
    if (request === undefined || number <= this.#storedUpTo) return;
    if (!isKnown && !response.mayBeLost) return;
    const applied = isKnown ? call : response;
    const { appliedAfter = call.appliedAfter ?? 0 } = applied;
    this.#unstored.set(number, { number, request, appliedAfter });
  }

  // The next owner may not have the newest commits of the earlier one. A call that it gets may then
  // be applied by a commit with a smaller number.
  #limitAppliedAfter(lastCommit: number): void {
    for (const call of this.#ordered.values())
      if (call.appliedAfter !== undefined)
        call.appliedAfter = Math.min(call.appliedAfter, lastCommit);
    for (const [number, write] of this.#unstored)
      if (write.appliedAfter > lastCommit)
        this.#unstored.set(number, { ...write, appliedAfter: lastCommit });
  }

  #onStored(number: number): void {
    if (number <= this.#storedUpTo || this.#mustRecover) return;
    this.#storedUpTo = number;
    for (const unstored of this.#unstored.keys())
      if (unstored <= number) this.#unstored.delete(unstored);
  }

  // Returns the call to send before all ordered calls; undefined if none is needed, or if it has no
  // response yet.
  #recover(): RemoteCall | undefined {
    if (this.#recovering !== undefined) return undefined;
    const unstored = [...this.#unstored.values()].sort((a, b) => a.number - b.number);
    const hasWrites = [...this.#ordered.values()].some(({ kind }) => isWrite(kind));
    this.#mustRecover = unstored.length > 0 || hasWrites;
    if (!this.#mustRecover) return undefined;
    this.#recovering = this.reserveCallNumber();
    const leavesOut = this.#failedRecovers >= recoverAttempts;
    return { number: this.#recovering, kind: "recover", request: this.#id, unstored, leavesOut };
  }

  #onRecoverEnded(response: Exclude<CallResponse, ListenerNews>): void {
    if ("error" in response) {
      this.#onRecoverFailed(errorFromWire(response.error));
      return;
    }
    const { known, droppedThrough, isFinal, failed, error } = response.value as Recovered;
    this.#dropLost({ numbers: known, droppedThrough }, failed);
    if (error !== undefined) {
      this.#onRecoverFailed(errorFromWire(error));
      return;
    }
    this.#recovering = undefined;
    this.#mustRecover = false;
    this.#failedRecovers = this.#retryMs = 0;
    this.#known = new Set(known);
    this.#rejectForgotten({ numbers: known, droppedThrough });
    this.#rejectOvertaken(known);
    if (isFinal) this.#forgetSending();
  }

  // Drops the deferred writes that had no effect, and reports them. Among them are those that an
  // earlier attempt left out, if its response was lost.
  #dropLost(known: RememberedCalls, failed: readonly FailedWrite[]): void {
    const causes = failed.map((write) => [write.number, () => causeOf(write)] as const);
    const { numbers } = known;
    const { first, last } = knownRange(numbers);
    for (const write of this.#unstored.values()) {
      const { number } = write;
      if (number < first || number >= last || numbers.includes(number)) continue;
      causes.push([number, mayBeForgotten(write, known) ? forgottenError : leftOutError]);
    }
    const lost = causes.filter(([number]) => this.#unstored.delete(number));
    const cause = lost[0]?.[1]();
    if (cause !== undefined) this.#onPersistError(lostWritesError(lost.length, cause), undefined);
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
    this.#failedRecovers += 1;
    this.#retryMs = nextRetryMs(this.#retryMs);
    if (this.#unstored.size > 0) this.#onPersistError(error, this.#retryMs);
    const failed = this.#recovering;
    const timer = setTimeout(() => {
      if (this.#recovering !== failed) return;
      this.#recovering = undefined;
      this.#schedule();
    }, this.#retryMs);
    (timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
  }

  // Rejects writes that an earlier owner may have applied, if the store may have forgotten them. If
  // they were sent again, they could be applied twice.
  #rejectForgotten(known: RememberedCalls): void {
    for (const call of [...this.#ordered.values()]) {
      const { number, appliedAfter } = call;
      if (!isWrite(call.kind) || appliedAfter === undefined) continue;
      if (!mayBeForgotten({ number, appliedAfter }, known)) continue;
      this.#removeCall(call);
      call.reject(unknownOutcomeError(forgottenError()));
    }
  }

  // Rejects writes without a response that are not known although a later call is. Such a write had
  // no effect: an earlier owner rejected it, and the response was lost. If it were sent again, it
  // would be applied after later calls. If the store may have forgotten the write, its outcome is
  // unknown. Restores are sent again, because they do not run in the order of their numbers.
  #rejectOvertaken(known: readonly number[]): void {
    const { first, last } = knownRange(known);
    for (const call of [...this.#ordered.values()]) {
      if (call.kind !== "write" || call.number > last || this.#known.has(call.number)) continue;
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

  // The writes that are not known had no effect, and no earlier owner can apply them any more. They
  // are therefore as if they had not been sent. So are restores that replace the content, unless
  // the store may have forgotten them. A restore that merges is never known.
  #forgetSending(): void {
    const knowsRestores = this.#known.size < writesInFlightMax;
    for (const call of this.#ordered.values()) {
      const isKnowable = call.kind === "restore" && call.mode !== "merge" && knowsRestores;
      if (!(call.kind === "write" || isKnowable) || this.#known.has(call.number)) continue;
      call.sendCount = 0;
      call.appliedAfter = undefined;
    }
  }

  #add(call: RemoteCall & Pick<PendingCall, "file">, signal?: AbortSignalLike): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const added: PendingCall = {
        ...call,
        resolve,
        reject,
        isSent: false,
        sendCount: 0,
        appliedAfter: undefined,
        stopListening: () => {},
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
  // from the owner, which knows whether the call had an effect already. If the call was sent to an
  // earlier owner only, its outcome is unknown.
  #listen(call: PendingCall, signal: AbortSignalLike): void {
    const onAbort = () => {
      if (call.isSent) {
        const { owner: to, session } = this.#link as OwnerSession;
        this.#link?.post({ to, type: "cancel", session, number: call.number });
      } else {
        this.#removeCall(call);
        call.sendCount += 1;
        call.reject(errorAfterResend(call, new AbortError()));
      }
    };
    signal.addEventListener("abort", onAbort);
    call.stopListening = () => signal.removeEventListener("abort", onAbort);
  }

  #removeCall(call: PendingCall): void {
    call.stopListening();
    call.file?.cancel();
    call.chunks?.return(undefined).catch(() => {});
    this.#ordered.delete(call.number);
    this.#unordered.delete(call.number);
  }

  // Sends calls that were made in the same turn of the event loop as one message.
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    inMicrotask(() => {
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
      call.appliedAfter ??= this.#lastCommit;
      call.chunks?.return(undefined).catch(() => {});
      call.chunks = undefined;
      const { number, kind, request, durability, mode, snapshot } = call;
      calls.push({ number, kind, request, durability, mode, snapshot });
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
    if (!this.readsWait) for (const call of this.#unordered.values()) if (!call.isSent) send(call);
    for (const [number, listen] of this.readsWait ? [] : this.#listening) {
      if (listen.isSent) continue;
      listen.isSent = true;
      calls.push({ number, kind: "listen", request: listen.request, resets: this.#resets });
    }
    const { owner: to, session } = this.#link;
    const hasReadChanges = this.#hasReadChanges || undefined;
    this.#hasReadChanges = false;
    if (calls.length > 0 || hasReadChanges)
      this.#link.post({ to, type: "calls", session, calls, hasReadChanges });
  }
}

// Returns the range of numbers in which every call that is not among the known calls had no effect.
// The store may have forgotten the calls before `first`, if it knows as many as it remembers.
function knownRange(known: readonly number[]): { first: number; last: number } {
  const first = known.length < writesInFlightMax ? 0 : Math.min(...known);
  return { first, last: Math.max(0, ...known) };
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
