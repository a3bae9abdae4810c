// The steps of synced.ts, in a page or in Node: awaited writes of a table that is synced, and of
// one that is not.

import type { LocalHost } from "../../web/src/host/local-host.ts";
import { StoreHandle } from "../../web/src/store.ts";
import type { Durability } from "../../web/src/types.ts";

export const kinds = ["one row", "two rows in one commit", "one row, synced"] as const;
type Kind = (typeof kinds)[number];

export interface Row {
  readonly write: "insert" | "merge of one property";
  readonly durability: Durability;
  readonly microseconds: readonly number[]; // of one write, the median for each of `kinds`
}

// How many writes are measured together, because clocks of pages have a resolution of 100 µs.
const writesAtOnce = { strict: 5, relaxed: 5, deferred: 100 } as const;
const samples = 61; // of each kind, in turn
const warmUp = 10; // samples that do not count

const entity = (rowKey: string, i: number) => ({
  partitionKey: "p",
  rowKey,
  name: `name ${i % 997} of an entity`,
  city: `city ${i % 89}`,
  count: i % 1000,
  ratio: i / 3,
  active: i % 3 === 0,
});

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** Opens a store for each name. `now`: milliseconds. */
export async function measure(
  open: (name: string) => Promise<LocalHost>,
  now: () => number,
): Promise<Row[]> {
  const stores: [Kind, StoreHandle][] = [];
  for (const kind of kinds) {
    const host = await open(kind);
    const store = new StoreHandle(kind, host);
    await store.table("rows").createTable();
    if (kind === "one row, synced") await (await host.startSync()).setSynced("rows", "begin");
    stores.push([kind, store]);
  }
  const rows: Row[] = [];
  for (const durability of ["strict", "relaxed", "deferred"] as const) {
    for (const write of ["insert", "merge of one property"] as const) {
      const times: number[][] = kinds.map(() => []);
      for (let sample = 0; sample < warmUp + samples; ++sample) {
        for (const [at, [kind, store]] of stores.entries()) {
          const started = now();
          await writeSome(store, kind, write, durability, sample);
          const ms = (now() - started) / writesAtOnce[durability];
          if (sample >= warmUp) times[at]?.push(ms);
        }
      }
      rows.push({ write, durability, microseconds: times.map((all) => 1000 * median(all)) });
    }
  }
  for (const [, store] of stores) await store.close();
  return rows;
}

async function writeSome(
  store: StoreHandle,
  kind: Kind,
  write: Row["write"],
  durability: Durability,
  sample: number,
): Promise<void> {
  const table = store.table("rows", { durability });
  const count = writesAtOnce[durability];
  for (let i = sample * count; i < (sample + 1) * count; ++i) {
    const key = (row: number) => `${durability} ${row} ${String(i).padStart(9, "0")}`;
    const change = (row: number) =>
      write === "insert"
        ? entity(key(row), i)
        : { partitionKey: "p", rowKey: key(row), count: i + 1 };
    const action = write === "insert" ? "create" : "update";
    if (kind === "two rows in one commit")
      await table.submitTransaction([1, 2].map((row) => [action, change(row)] as const));
    else if (action === "create") await table.createEntity(change(1));
    else await table.updateEntity(change(1), "Merge");
  }
}
