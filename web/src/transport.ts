// What a client knows about the store: blocks in, blocks out. Clients never import the host, so the same client works
// inline, over a port to another tab, or in a worker.

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
  // A read block in, its reply out. Neither lives long: the block dies when the call returns, and whoever keeps it copies it; and a
  // reply that comes at once, without a promise, is a view that dies with the next call: decode it in the same turn. Throws or rejects
  // with StoreError if the store can't answer; a refusal by the service's rules is a reply (client/block.ts turns it into a RestError).
  // A store that makes its callers wait on purpose rejects with AbortError if `signal` aborts meanwhile; the others don't look at it.
  read(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // Whether reads may be made together (client/point-reads.ts): they are answered at once, and nobody counts them or is told of
  // each. Then deferReads() has `reads` called before anything in the store changes.
  readonly batchesReads?: boolean;
  deferReads?(reads: () => void): void;

  // A block that writes in, its reply out, as read(); as durable as asked for (`durability` absent: the store's default). Writes are
  // applied in the order of the calls. Throws or rejects with StoreError if the write could not be stored, and with
  // AbortError if `signal` aborts while it still waits in the queue: then it has no effect.
  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Uint8Array | Promise<Uint8Array>;

  // The block of an HTTP request that reads (rest/block.ts) in, that of its response out, or an error block; otherwise
  // like read(). The block of one that writes goes through write(), among all other writes.
  handle(request: Uint8Array, signal?: AbortSignalLike): Uint8Array | Promise<Uint8Array>;

  // The store's clock, in milliseconds since 1970.
  now(): number;
}

export interface RestoreCall extends RestoreOptions {
  call?: Uint8Array | undefined; // number and client (core/dispatch/dispatcher.h) of one that may be sent again
}

// What the store's own handle asks of its host, besides.
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
