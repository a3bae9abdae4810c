// A user who sometimes undoes a write, so that a value is written again.

import type { Key } from "../../web/src/sync/keys.ts";
import type { Properties } from "../../web/src/sync/properties.ts";
import type { Value } from "../../web/src/sync/value.ts";
import type { Client } from "./client.ts";
import type { Scheduler } from "./scheduler.ts";

/** What a write makes of a row. */
export type Edit = (row?: Properties) => Properties | undefined;

/** Undoes what a user wrote last to the rows 0 and 1 of a partition, both together. */
export class Undo {
  readonly #client: Client;
  readonly #scheduler: Scheduler;
  #keys: readonly Key[] = [];
  #before: Value | undefined;
  #after: Value | undefined;

  constructor(client: Client, scheduler: Scheduler) {
    this.#client = client;
    this.#scheduler = scheduler;
  }

  /** The value that both rows have. A client can have read them at two moments. */
  #pairOf(keys: readonly Key[]): Value | undefined {
    const { view } = this.#client.store;
    const rows = keys.map((key) => view.get("rows", key)?.properties.get("pair"));
    return rows[0]?.value === rows[1]?.value ? rows[0] : undefined;
  }

  write(id: number, edits: ReadonlyMap<Key, Edit>): void {
    const keys = [...edits.keys()];
    const isPair = keys.length === 2 && keys.every((key) => /[01]$/.test(key));
    const before = isPair ? this.#pairOf(keys) : undefined;
    this.#client.store.write(id, edits);
    if (!isPair) return;
    this.#keys = keys;
    this.#before = before;
    this.#after = this.#pairOf(keys);
  }

  /** Undefined: there is nothing to undo, or the user does not want to. */
  edits(): Map<Key, Edit> | undefined {
    const before = this.#before;
    if (before === undefined || this.#pairOf(this.#keys)?.value !== this.#after?.value) return;
    if (this.#scheduler.chance(0.5)) return;
    this.#before = undefined;
    const undo: Edit = (row) => new Map([...(row ?? []), ["pair", before]]);
    return new Map(this.#keys.map((key) => [key, undo]));
  }
}
