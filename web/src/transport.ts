// The interface between a client and a store: request messages in, response messages out. Clients
// never import the host, so the same client works inline, over a port to another tab, or in a
// worker.

import type {
  AbortSignalLike,
  Durability,
  RestoreOptions,
  RestoreReport,
  SnapshotSource,
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
  // not by a promise, is a view that is valid until the store's next call: decode it with
  // decodeOnArrival().
  //
  // Throws or rejects with StoreError if the store cannot respond. A service error is a response
  // (client/response-decoder.ts turns it into a RestError). A store that delays its responses on
  // purpose rejects with AbortError if `signal` aborts during the delay; other stores ignore
  // `signal`.
  read(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // Whether point reads may be batched (client/point-read-batcher.ts): reads are answered
  // synchronously, and nothing counts or observes single reads. deferReads() then registers
  // `reads`, which runs before anything in the store changes.
  readonly batchesReads?: boolean;
  deferReads?(reads: () => void): void;

  // Runs a write message and returns its response message, with the lifetimes of read().
  // `durability` defaults to that of the store. Writes are applied in the order of the calls.
  // Throws or rejects with StoreError if the write could not be stored. Rejects with AbortError if
  // `signal` aborts while the write is still queued; the write then has no effect.
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array>;

  // Runs an HTTP request that reads (rest/http-message.ts) and returns the message of its response,
  // or an error message; otherwise like read(). HTTP requests that write go through write(), in
  // order with all other writes.
  handle(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // Returns the time of the store's clock, in milliseconds since 1970.
  now(): number;
}

export interface RestoreCall extends RestoreOptions {
  // Call number and client id (core/dispatch/dispatcher.h), if it may be retried.
  call?: Uint8Array | undefined;
}

// The operations of the store's own handle, which table clients do not use.
export interface Host extends Transport {
  readonly status: StoreStatus;
  flush(): Promise<void>;
  stats(): Promise<StoreStats>;
  verify(): Promise<VerifyReport>;
  compact(): Promise<void>;
  snapshot(): Promise<Uint8Array>;
  restore(source: SnapshotSource, options?: RestoreCall): Promise<RestoreReport>;
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void;
  close(): Promise<void>;
}
