// The interface between a client and a store: request messages in, response messages out. Clients
// do not import the host (the code that runs an engine). The same client therefore works in the
// store's own thread, over a channel to another tab, and over a port to a worker.

import type {
  AbortSignalLike,
  Durability,
  RestoreMode,
  RestoreReport,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "./types.ts";

export interface Transport {
  // Runs a read message and returns its response message.
  //
  // Lifetimes: the request is valid until the call returns (client/request-encoder.ts); an
  // implementation that needs the request longer copies it. A response that is returned directly,
  // not by a promise, is a view of memory that the next call of the store overwrites: use it within
  // mapResponse(), before any await.
  //
  // Throws or rejects with StoreError if the store cannot respond. An error of the service is a
  // response; client/response-decoder.ts turns it into a RestError. If a mock store delays its
  // responses, it rejects with AbortError when `signal` aborts during the delay. Other stores
  // ignore `signal`.
  read(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // Whether point reads may be batched (client/point-read-batcher.ts). This is so if reads are
  // answered synchronously, and no code counts or observes single reads. runBeforeNextChange()
  // registers `reads`, a function that the store calls before anything in it changes.
  readonly allowsReadBatching?: boolean;
  runBeforeNextChange?(reads: () => void): void;

  // The store without what observes or disturbs its requests, for reads of this package itself: a
  // mock store neither counts nor fails them. Absent: this transport.
  readonly unobserved?: Transport;

  // Runs a write message and returns its response message; lifetimes are those of read().
  // `durability` defaults to the store's. Writes are applied in the order of the calls. Throws or
  // rejects with StoreError if the write could not be stored. Rejects with AbortError if `signal`
  // aborts while the write waits in the queue; the write then has no effect.
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array>;

  // Runs an HTTP request message that reads (rest/http-message.ts) and returns the response
  // message: an HTTP response or an RPC error. In all else like read(). HTTP requests that write go
  // through write(), in order with all other writes.
  readHttp(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // Returns the time of the store's clock, in milliseconds since 1970.
  now(): number;

  // Connects a client that listens: one that has live queries or reads the change feed. Throws
  // StoreError if the store is closed. At most one connection is open at a time, except to a
  // LocalHost. `client`: the id in the calls of the client's writes (OwnerHost); absent: those of
  // this transport.
  listen(listener: ChangeListener, client?: Uint8Array): ListenerConnection;

  // For durable readers of the change feed: the locks of all tabs that share the store, and its
  // name. Absent: only this thread uses the store.
  readonly readerLocks?: { locks: LockManager; store: string } | undefined;
}

// What a listening client learns. The functions must not throw.
export interface ChangeListener {
  // `changes`: a response message (core/rpc/LAYOUT.md), a view like the response of read(). The
  // function must not call the store.
  onChanges(changes: Uint8Array): void;
  // Follows one or more calls of onChanges(). The function may call the store, and tell users.
  onChangesEnd(): void;
  // The client's watches and feeds are gone, and requests that were sent before get no response:
  // the store may have another owner. The client must open its watches again.
  onReset(): void;
  // The store is closed. Nothing else follows.
  onClosed(error: Error): void;
}

export interface ListenerConnection {
  // Sends a request about watches and feeds; its lifetime is that of a request of read(). `respond`
  // gets the response, which is a view, in order with the calls of onChanges(); it may be called
  // before this function returns. `fail` gets the error if there is no response. Never throws.
  send(
    request: Uint8Array,
    respond: (response: Uint8Array) => void,
    fail: (error: Error) => void,
  ): void;
  // Closes all watches and feeds. The listener is not called any more.
  close(): void;
}

// Passes the response to `use` as soon as it is there, and returns the result of `use`. REQUIRES:
// `use` copies what it needs before it calls the store.
export function mapResponse<R>(
  response: Uint8Array | Promise<Uint8Array>,
  use: (response: Uint8Array) => R | Promise<never>,
): R | Promise<R> {
  return response instanceof Promise ? response.then(use) : use(response);
}

// A file that is read in chunks of at most 256 KB.
export interface ChunkedFile {
  // Reads the file from its beginning. A stream can be read only once (util/chunks.ts).
  chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  // Ends the reading that began last: a pending next() of its chunks() rejects, and a stream is
  // cancelled. The generator's return() would wait for a source that is silent. Does nothing if
  // that reading has ended or did not begin.
  cancel(): void;
}

// Restores only these tables, if the store has no tables. From the same moment on, they are synced
// with a remote, which has had their rows.
export interface RestoreAsSynced {
  readonly synced: readonly string[];
}

export type RestoreCallMode = RestoreMode | RestoreAsSynced;

export interface RestoreCallOptions {
  mode?: RestoreCallMode | undefined;
  // The id of a call that may be sent twice: call number and client id
  // (core/dispatch/dispatcher.h).
  call?: Uint8Array | undefined;
}

// What the owner of a shared store knows of a write. Of a write of its own tab: the call number. Of
// another tab's write: a function that is called before the response if the write is acknowledged
// before it is stored. It gets the write's position (OwnerHost.deferredPositions).
export type WriteOrigin = number | ((position: number) => void);

// A store's host, with the operations that only the store's own handle uses.
export interface Host extends Transport {
  readonly status: StoreStatus;
  flush(): Promise<void>;
  stats(): Promise<StoreStats>;
  verify(): Promise<VerifyReport>;
  compact(): Promise<void>;
  // Yields the snapshot file of the store's content at the time of the first call of next(). Fails
  // with SnapshotInterrupted if the store gets another owner.
  snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  restore(file: ChunkedFile, options?: RestoreCallOptions): Promise<RestoreReport>;
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void;
  // Resolves to what entitable/sync uses of the engine (host/sync-host.ts), or of the worker that
  // has it (WorkerSync). Rejects with NotSupported if another tab has the engine. Absent: the store
  // has no such code.
  startSync?(): Promise<object>;
  close(): Promise<void>;
}

// A worker that can sync its store: loads the script at the URL, and passes it the port.
export interface WorkerSync {
  connect(url: string, port: MessagePort): void;
}

// The host of the tab that owns a store: also tells which writes of other tabs are stored.
export interface OwnerHost extends Host {
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
    origin?: WriteOrigin,
  ): Uint8Array | Promise<Uint8Array>;

  // The positions, among all deferred writes, of the newest that was accepted and of the newest
  // that is stored. Writes are stored in the order of their positions. The event "persisted"
  // follows each change of `stored`.
  readonly deferredPositions: { accepted: number; stored: number };

  // The number of the newest published commit. Every call that comes later is applied by a later
  // one, unless the owner changes: the next owner may not have the newest commits, and uses their
  // numbers again.
  readonly lastCommit: number;

  // Resolves to what the store knows of the calls of `client`. The calls before this one have then
  // ended, or are deferred.
  knownCalls(client: Uint8Array): Promise<KnownCalls>;

  // Applies deferred writes again that an earlier owner acknowledged and may not have stored. The
  // requests are calls. May apply only the first of them, to bound the memory that this takes.
  // Resolves to the responses of those that it applied, at least one. Rejects if none was applied;
  // with AbortError if `signal` aborts while they are queued.
  repeatWrites(requests: readonly Uint8Array[], signal?: AbortSignalLike): Promise<RepeatedWrites>;
}

export interface KnownCalls {
  // The numbers of the client's newest calls that the store has applied, in the order in which they
  // were applied (Store::known_calls).
  readonly numbers: readonly number[];
  // The store may have forgotten the client if it applied the client's last call by this commit or
  // an earlier one (Store::calls_dropped_through).
  readonly droppedThrough: number;
  // Whether no earlier owner can apply calls any more.
  readonly isFinal: boolean;
}

export interface RepeatedWrites {
  responses: readonly Uint8Array[]; // one per request that was applied, in order
  failed: readonly boolean[]; // true: the response is an error
}
