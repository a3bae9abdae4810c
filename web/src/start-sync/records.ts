// What waits for the remote or for the application, and what the application decides about it.

import type { Draft } from "../sync/draft.ts";
import { type Entry, entriesInSteps } from "../sync/entries-in-steps.ts";
import type { HiddenTables, OutboxOp } from "../sync/hidden-tables.ts";
import { type Key, partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { RowFilter } from "../sync/partition-log.ts";
import { discardParked, retryParked } from "../sync/plan-push.ts";
import { restoreLost } from "../sync/restore.ts";
import type { SyncStore } from "../sync/store.ts";
import { entityOf } from "./entities.ts";
import type { LostWrite, ParkedWrites, SyncWrite } from "./types.ts";

type Waiting = "outbox" | "parked" | "lost";

const rowsPerStep = 100; // bounds the time of one turn of the event loop

export class TableRecords {
  readonly #table: string;
  readonly #store: SyncStore;
  readonly #keeps: RowFilter;

  constructor(table: string, store: SyncStore, keeps: RowFilter) {
    this.#table = table;
    this.#store = store;
    this.#keeps = keeps;
  }

  async *pending(): AsyncGenerator<SyncWrite> {
    for await (const [, op] of this.#entries("outbox")) yield writeOf(this.#table, op);
  }

  async *parked(): AsyncGenerator<ParkedWrites> {
    for await (const [key, { reason, ops }] of this.#entries("parked")) {
      const writes = ops.map((op) => writeOf(this.#table, op));
      yield { id: idOf("parked", this.#table, key), table: this.#table, reason, writes };
    }
  }

  async *lost(): AsyncGenerator<LostWrite> {
    for await (const [key, lost] of this.#entries("lost")) {
      const { op, base, local, remote, isRemoteKnown, outcome } = lost;
      yield {
        ...writeOf(this.#table, op),
        id: idOf("lost", this.#table, key),
        base: entityOf(op.key, base),
        local: entityOf(op.key, local),
        remote: entityOf(op.key, remote),
        isRemoteKnown: isRemoteKnown ?? remote !== undefined,
        outcome,
      };
    }
  }

  /** Yields what is there when it is read, which other commits may change meanwhile. */
  async *#entries<N extends Waiting>(table: N): AsyncGenerator<Entry<N>> {
    for await (const entries of entriesInSteps(this.#store, table, rowsPerStep)) yield* entries;
  }

  retry(key: string): Promise<void> {
    return this.#store.transact((draft) => {
      const parked = draft.get("parked", key);
      if (parked) retryParked(draft, partitionOf(key), parked.group, this.#keeps);
    });
  }

  discard(kind: "parked" | "lost", key: string): Promise<void> {
    return this.#store.transact((draft) => {
      const found = draft.get(kind, key);
      if (found === undefined) return;
      if (kind === "lost") draft.delete("lost", key);
      else this.#discardParked(draft, key);
    });
  }

  #discardParked(draft: Draft, key: string): void {
    const { group } = draft.get("parked", key) as HiddenTables["parked"];
    discardParked(draft, partitionOf(key), group, this.#keeps);
  }

  restore(key: string): Promise<void> {
    return this.#store.transact((draft) => restoreLost(draft, key));
  }
}

function writeOf(table: string, { key, change }: OutboxOp): SyncWrite {
  return { table, ...keysOf(key), kind: change.kind };
}

export const keysOf = (key: Key) => ({ partitionKey: partitionOf(key), rowKey: rowKeyOf(key) });

// ---- Ids -------------------------------------------------------------------------------------

export interface RecordId {
  readonly kind: "parked" | "lost";
  readonly table: string;
  readonly key: string;
}

const idOf = (kind: RecordId["kind"], table: string, key: string): string =>
  [kind, table, ...key.split("\0").map(escaped)].join("/");

// Only what separates the parts: a PartitionKey may have text that encodeURIComponent() refuses.
const escaped = (text: string): string => text.replaceAll("%", "%25").replaceAll("/", "%2F");
const unescaped = (text: string): string => text.replaceAll("%2F", "/").replaceAll("%25", "%");

/** Returns undefined if it is no id. */
export function parseId(id: string): RecordId | undefined {
  const [, kind, table, partition = "", number] =
    /^(parked|lost)\/(\w+)\/([^/]*)\/(\d+)$/.exec(id) ?? [];
  if (kind === undefined || table === undefined) return undefined;
  const key = `${unescaped(partition)}\0${number}`;
  return { kind: kind as RecordId["kind"], table, key };
}
