// The owner's side of the connection to one client (another tab, or a worker's page). Runs the
// client's calls on the owner's host, in the order in which they arrive, and sends responses and
// events back.

import { SnapshotInterrupted, StoreError } from "../errors.ts";
import type { Host, OwnerHost } from "../transport.ts";
import type { StoreEvents } from "../types.ts";
import { callIdOf } from "../util/call-message.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { isBytes } from "../util/platform-objects.ts";
import { type Channel, ownBuffer } from "./channel.ts";
import { ListenerServer } from "./listener-server.ts";
import { forgottenError, mayBeForgotten } from "./lost-writes.ts";
import {
  allEvents,
  type CallResponse,
  errorFromWire,
  errorToWire,
  type FileChunk,
  forwardedEvents,
  type Recovered,
  type RemoteCall,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { repeatWrites } from "./repeat-writes.ts";

// What differs between an owner in a tab and an owner in a worker. When a tab stops being the
// owner, its clients send their calls to the next owner. The page of a worker has no other owner.
export interface ServerPolicy {
  events: readonly (keyof StoreEvents)[]; // the events that are forwarded to the client
  // Whether a call that failed with this error gets no response. The client then sends the call to
  // the next owner.
  leavesToNextOwner(error: unknown): boolean;
  reportsStored: boolean; // tells the client which deferred writes are stored
}

// The host of a worker does not report what is stored, and gets no "recover".
type ServedHost = Host &
  Partial<Pick<OwnerHost, "deferredPositions" | "lastCommit" | "knownCalls" | "repeatWrites">>;

export const tabServerPolicy: ServerPolicy = {
  events: forwardedEvents,
  leavesToNextOwner: isOwnershipError,
  reportsStored: true,
};
export const workerServerPolicy: ServerPolicy = {
  events: allEvents,
  leavesToNextOwner: () => false,
  reportsStored: false,
};

export class CallServer {
  readonly #host: ServedHost;
  readonly #owner: string;
  readonly #channel: Channel;
  readonly #policy: ServerPolicy;
  readonly #session: number;
  readonly #stopListening: (() => void)[];
  readonly #writeAborts = new Map<number, AbortController>();
  // The snapshots that the client reads, by the number of the call that began each.
  readonly #snapshots = new Map<number, AsyncGenerator<Uint8Array>>();
  // The restores that wait for a chunk of the client's file.
  readonly #pulls = new Map<number, { resolve(chunk: FileChunk): void; reject(e: Error): void }>();
  #responses: CallResponse[] = [];
  // The client's deferred writes that are not stored: their call numbers, and their positions among
  // the deferred writes of the host, by which they are ordered.
  #unstored: { number: number; position: number }[] = [];
  #stored = 0; // the call number of the last one that was stored
  #isPostScheduled = false;
  readonly #listener: ListenerServer;
  #closed = false;

  // `owner`: this owner's name in messages. `session`: calls of other sessions are ignored
  // (messages.ts). `client`: the id in the client's writes, unless those are calls of the host.
  constructor(
    host: ServedHost,
    owner: string,
    channel: Channel,
    policy = tabServerPolicy,
    session = 0,
    client?: Uint8Array,
  ) {
    this.#host = host;
    this.#owner = owner;
    this.#channel = channel;
    this.#policy = policy;
    this.#session = session;
    const { leavesToNextOwner } = policy;
    const onNews = () => this.#schedulePost();
    this.#listener = new ListenerServer({ host, client, leavesToNextOwner, onNews });
    this.#stopListening = policy.events.map((name) =>
      host.on(name, (event) => {
        const plain = "error" in event ? { ...event, error: errorToWire(event.error) } : event;
        this.#post({ from: owner, type: "event", name, event: plain, status: host.status });
      }),
    );
    if (policy.reportsStored)
      this.#stopListening.push(host.on("persisted", () => this.#reportStored()));
    const { status, lastCommit } = host;
    this.#post({ from: owner, type: "ready", session, status, lastCommit });
  }

  receive(message: ToOwner): void {
    if (!("session" in message) || message.session !== this.#session) return;
    if (message.type === "calls") {
      const { lastCommit } = this.#host;
      for (const call of message.calls) this.#handleCall(call, lastCommit);
      if (message.hasReadChanges) this.#listener.onRead();
    } else if (message.type === "chunk") this.#pulls.get(message.number)?.resolve(message);
    else this.#writeAborts.get(message.number)?.abort();
  }

  // Stops responding, ends snapshots and restores, and cancels writes that were not staged yet. The
  // client sends these calls again to the next owner; if one took effect here later, it could
  // overtake others.
  close(): void {
    this.#closed = true;
    this.#listener.end();
    for (const abort of this.#writeAborts.values()) abort.abort();
    for (const chunks of this.#snapshots.values()) chunks.return(undefined).catch(() => {});
    for (const { reject } of this.#pulls.values()) reject(sessionEndedError());
    for (const stopListening of this.#stopListening) stopListening();
  }

  // `lastCommit`: OwnerHost.lastCommit, before the call.
  #handleCall(call: RemoteCall, lastCommit: number | undefined): void {
    const { number, kind } = call;
    if (kind === "listen") {
      this.#listener.receive(call);
      return;
    }
    let unstored: { mayBeLost: true; appliedAfter: number | undefined } | undefined;
    const onDeferred = (position: number) => {
      unstored = { mayBeLost: true, appliedAfter: lastCommit };
      this.#unstored.push({ number, position });
    };
    const respond = (value: unknown) =>
      this.#queueResponse({
        number,
        value: isBytes(value) ? ownBuffer(value) : value,
        ...unstored,
      });
    const reject = (error: unknown) => {
      if (!this.#policy.leavesToNextOwner(error))
        this.#queueResponse({ number, error: errorToWire(error) });
    };
    try {
      const value = this.#dispatch(kind, call, onDeferred);
      if (value instanceof Promise) value.then(respond, reject);
      else respond(value.slice()); // a view (Transport.read)
    } catch (error) {
      reject(error);
    }
  }

  #dispatch(
    kind: Exclude<RemoteCall["kind"], "listen">,
    call: RemoteCall,
    onDeferred: (position: number) => void,
  ): Uint8Array | Promise<unknown> {
    const { request, mode, snapshot = 0 } = call;
    switch (kind) {
      case "read":
        return this.#host.read(request as Uint8Array);
      case "readHttp":
        return this.#host.readHttp(request as Uint8Array);
      case "write":
        return this.#write(call, onDeferred);
      case "recover":
        return this.#recover(call);
      case "flush":
        return this.#host.flush();
      case "stats":
        return this.#host.stats();
      case "verify":
        return this.#host.verify();
      case "compact":
        return this.#host.compact();
      case "snapshot":
        this.#snapshots.set(call.number, this.#host.snapshotChunks());
        return this.#nextSnapshotChunk(call.number);
      case "snapshotChunk":
        return this.#nextSnapshotChunk(snapshot);
      case "endSnapshot":
        return this.#endSnapshot(snapshot);
      case "restore": {
        const file = {
          chunks: () => this.#chunksFromClient(call.number),
          cancel: () => this.#pulls.get(call.number)?.reject(sessionEndedError()),
        };
        return this.#host.restore(file, { mode, call: request && callIdOf(request) });
      }
    }
  }

  // Resolves to the response of "snapshot" and "snapshotChunk" (messages.ts).
  async #nextSnapshotChunk(snapshot: number): Promise<Uint8Array | null | undefined> {
    try {
      const next = await this.#snapshots.get(snapshot)?.next();
      if (next?.done) this.#snapshots.delete(snapshot);
      return next?.done ? null : next?.value;
    } catch (error) {
      this.#snapshots.delete(snapshot);
      if (error instanceof SnapshotInterrupted) return undefined;
      throw error;
    }
  }

  async #endSnapshot(snapshot: number): Promise<void> {
    await this.#snapshots.get(snapshot)?.return(undefined);
    this.#snapshots.delete(snapshot);
  }

  // Yields the chunks of the file that the client restores. Requests each when it is needed.
  async *#chunksFromClient(number: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    try {
      for (;;) {
        if (this.#closed) throw sessionEndedError();
        const { bytes, error } = await new Promise<FileChunk>((resolve, reject) => {
          this.#pulls.set(number, { resolve, reject });
          this.#post({ from: this.#owner, type: "pull", session: this.#session, number });
        });
        if (error !== undefined) throw errorFromWire(error);
        if (bytes === undefined) return;
        yield bytes as Uint8Array<ArrayBuffer>;
      }
    } finally {
      this.#pulls.delete(number);
    }
  }

  #write(
    { number, request, durability }: RemoteCall,
    onDeferred: (position: number) => void,
  ): Uint8Array | Promise<Uint8Array> {
    const host: Pick<OwnerHost, "write"> = this.#host;
    const { signal } = this.#abortable(number);
    const origin = this.#policy.reportsStored ? onDeferred : undefined;
    const response = host.write(request as Uint8Array, durability, signal, origin);
    const isSynchronous = !(response instanceof Promise);
    if (isSynchronous) this.#writeAborts.delete(number);
    return isSynchronous ? response : response.finally(() => this.#writeAborts.delete(number));
  }

  // The calls that the store knows may be of an earlier session with this owner, and may then be
  // deferred and not stored yet.
  async #recover({
    number,
    request,
    unstored = [],
    leavesOut = false,
  }: RemoteCall): Promise<Recovered> {
    const host = this.#host as OwnerHost;
    const { signal } = this.#abortable(number);
    const known = await host.knownCalls(request as Uint8Array);
    const newest = Math.max(0, ...known.numbers);
    const missing = unstored.filter((write) => write.number > newest);
    const repeatable = missing.filter((write) => !mayBeForgotten(write, known));
    const { failed, error } = await repeatWrites(host, repeatable, { leavesOut, signal });
    for (const write of missing)
      if (mayBeForgotten(write, known))
        failed.push({ number: write.number, error: errorToWire(forgottenError()) });
    this.#writeAborts.delete(number);
    const { numbers, ...more } = known;
    const recovered = { known: numbers, ...more, failed };
    if (error !== undefined) {
      if (this.#policy.leavesToNextOwner(error)) throw error;
      return { ...recovered, error: errorToWire(error) };
    }
    const last = Math.max(newest, unstored.at(-1)?.number ?? 0);
    if (last > 0) this.#unstored.push({ number: last, position: host.deferredPositions.accepted });
    this.#reportStored();
    return recovered;
  }

  // Returns the controller by which the client, or close(), cancels this call.
  #abortable(number: number): AbortController {
    const abort = new AbortController();
    this.#writeAborts.set(number, abort);
    return abort;
  }

  #reportStored(): void {
    const { stored = 0 } = this.#host.deferredPositions ?? {};
    const count = this.#unstored.findIndex(({ position }) => position > stored);
    const last = this.#unstored.splice(0, count < 0 ? this.#unstored.length : count).at(-1);
    if (last === undefined) return;
    this.#stored = last.number;
    this.#schedulePost();
  }

  #queueResponse(response: CallResponse): void {
    this.#responses.push(response);
    this.#schedulePost();
  }

  // Sends the responses of a turn of the event loop as one message.
  #schedulePost(): void {
    if (this.#isPostScheduled) return;
    this.#isPostScheduled = true;
    inMicrotask(() => {
      this.#isPostScheduled = false;
      const responses = [...this.#responses.splice(0), ...this.#listener.takeNews()];
      const bytes = responses.flatMap((r) => {
        const value = "changes" in r ? r.changes : "value" in r ? r.value : undefined;
        return isBytes(value) ? [value] : [];
      });
      const { pendingBytes, lastPersistedAt } = this.#host.status;
      const progress = { pendingBytes, lastPersistedAt };
      const { lastCommit } = this.#host;
      const from = this.#owner;
      const stored = this.#stored;
      this.#post({ from, type: "responses", responses, stored, lastCommit, progress }, bytes);
    });
  }

  #post(message: ToClient, bytes?: readonly Uint8Array[]): void {
    if (!this.#closed) this.#channel.post(message, bytes);
  }
}

// Returns whether a call failed because this host is no longer the owner. The next owner can then
// run the call.
export function isOwnershipError(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  const { code, failure } = error as StoreError & { failure?: string };
  return code === "StoreClosed" || failure === "fenced";
}

function sessionEndedError(): StoreError {
  return new StoreError("StoreClosed", "The tab that restores a snapshot has another owner now.");
}
