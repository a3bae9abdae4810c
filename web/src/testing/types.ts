// The public types of `entitable/testing`.

import type { Clock, OpenOptions, Store, TableEntity } from "../types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Entities by the table they are for, as `upsertEntity` takes them. */
export type Fixtures = Readonly<Record<string, readonly (TableEntity | TableEntity<object>)[]>>;

export interface MockOptions
  extends Pick<
    OpenOptions,
    "name" | "account" | "durability" | "deferredDelayMs" | "wasm" | "signal" | "onWarning"
  > {
  /** Where ids in responses come from: the same seed and the same calls give the same bytes. From 0 to 2^32 - 1; default 1. */
  seed?: number;
  /** What the store's clock shows at first (and then only when it is told to go on), or what makes it go. Default: 2026-01-01T00:00Z. */
  clock?: Date | string | Clock;
  /** What the store holds at first. */
  fixtures?: Fixtures;
}

/** A moment that a store can go back to. Until it is forgotten, what it alone holds takes memory. */
export interface Checkpoint {
  forget(): void;
  [Symbol.dispose](): void;
}

/**
 * A store in memory for tests. Forks and rollbacks take constant time, whatever the store holds. Same calls get the same responses, byte for
 * byte: in every fork, after every rollback, in every run with the same seed.
 */
export interface MockStore extends Store {
  readonly clock: VirtualClock;
  /**
   * Another store that begins with all that this one holds, clock and seed included, and from then on has nothing to do with it. To be
   * closed by itself. Throws StoreError NotSupported while a write is being applied, like the next two.
   */
  fork(): MockStore;
  checkpoint(): Checkpoint;
  /** To all that was then, clock and seed included; as often as one likes. Writes that still wait for their turn come after it. */
  rollback(checkpoint: Checkpoint): void;
  /** Inserts or replaces entities, and makes the tables that are missing. Rejects with StoreError ValidationFailed, naming the first that was refused. */
  seed(fixtures: Fixtures): Promise<void>;
  /** To what it was when it was opened or forked, once the writes begun before are done. */
  reset(): Promise<void>;
}
