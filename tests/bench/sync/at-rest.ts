// What sync stores for rows that are the remote's, and what it adds to reads.

import type { LocalHost } from "../../../web/src/host/local-host.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";
import { StoreHandle } from "../../../web/src/store.ts";
import { keyOf } from "../../../web/src/sync/keys.ts";
import { places, tableNumber } from "../../../web/src/sync-store/hidden-keys.ts";
import { OwnerStore } from "../../../web/src/sync-store/owner-store.ts";
import { createEngine } from "../../../web/src/wasm/engine.ts";
import { openHost } from "../../web/support/open-host.ts";
import type { Measured } from "./measured.ts";

const rows = 10_000;
const rounds = 101;
const table = "people";
const rowKey = (i: number) => String(i).padStart(9, "0");

export async function atRest(): Promise<Measured[]> {
  const opened = [await open(false), await open(true), await open(false)] as const;
  const [, synced] = opened;
  const hidden = await hiddenRows(synced.host);
  const stores = opened.map(({ store }) => store);
  const points = await compare(stores, (store, round) => readSome(store, round));
  const pages = await compare(stores, readPage);
  for (const store of stores) await store.close();
  const row = (what: string, target: string, value: string): Measured => ({
    what,
    target,
    values: { node: value },
  });
  return [
    row("rows of sync's own per clean row", "0", `${hidden / rows}`),
    row("a point read takes more, if synced", "≤ 1 %", percent(points[0])),
    row("a point read of another table that is not synced", "", percent(points[1])),
    row("a page takes more, if synced", "≤ 1 %", percent(pages[0])),
    row("a page of another table that is not synced", "", percent(pages[1])),
  ];
}

const percent = (ratio = Number.NaN) => `${(100 * (ratio - 1)).toFixed(1)} %`;

interface Opened {
  readonly host: LocalHost;
  readonly store: StoreHandle;
}

/**
 * A store with rows of a remote. If it is not synced, then not any more: all stores have the same
 * rows, because Timestamps and the order of writes affect reads, too.
 */
async function open(isSynced: boolean): Promise<Opened> {
  const host = await openHost({ engine: await createEngine(), storage: new MemoryStorage() });
  const store = new StoreHandle(table, host);
  await store.table(table).createTable();
  const sync = await host.startSync();
  await sync.setSynced(table, "begin");
  for (let first = 0; first < rows; first += 100)
    await new OwnerStore(sync, table).transact((draft) => putRows(draft, first));
  if (!isSynced) await sync.setSynced(table, "end");
  return { host, store };
}

const name = (i: number) => `name ${i % 997} of an entity`;

function putRows(draft: Parameters<Parameters<OwnerStore["transact"]>[0]>[0], first: number): void {
  for (let i = first; i < first + 100; ++i) {
    const properties = new Map([["name", { type: "String", value: name(i) } as const]]);
    const timestamp = 17_000_000_000_000_000n + BigInt(i) * 1000n;
    const date = new Date(Number(timestamp / 10_000n)).toISOString().slice(0, 19);
    const digits = String(timestamp % 10_000_000n)
      .padStart(7, "0")
      .replace(/0+$/, "");
    const etag = `W/"datetime'${date.replaceAll(":", "%3A")}${digits && `.${digits}`}Z'"`;
    draft.put("rows", keyOf("p", rowKey(i)), { properties, version: { etag, timestamp } });
  }
}

/** How many rows the hidden tables have. */
async function hiddenRows(host: LocalHost): Promise<number> {
  const store = new OwnerStore(await host.startSync(), table);
  const tables = ["bases", "outbox", ...Object.keys(places)] as const;
  let count = 0;
  for (const hidden of tables)
    count += await store.read((view) => [...view.entries(hidden as "bases", "")].length);
  const isApart = await store.read(
    (view) =>
      !("reader" in view) ||
      !(view as { reader: { isEmpty(n: number): boolean } }).reader.isEmpty(tableNumber.etags),
  );
  return count + (isApart ? rows : 0);
}

type Read = (store: StoreHandle, round: number) => Promise<void>;

async function readSome(store: StoreHandle, round: number): Promise<void> {
  for (let i = 0; i < 200; ++i)
    await store.table(table).getEntity("p", rowKey((round * 7919 + i * 31) % rows));
}

async function readPage(store: StoreHandle): Promise<void> {
  for await (const _ of store.table(table).listEntities().byPage({ maxPageSize: 1000 })) break;
}

/** Returns the times with the other stores, relative to that with the first one: the medians. */
async function compare(stores: readonly StoreHandle[], read: Read): Promise<number[]> {
  const ratios: number[][] = stores.slice(1).map(() => []);
  for (let round = 0; round < rounds; ++round) {
    const times: number[] = [];
    for (let turn = 0; turn < stores.length; ++turn) {
      const at = (round + turn) % stores.length;
      const began = performance.now();
      await read(stores[at] as StoreHandle, round);
      times[at] = performance.now() - began;
    }
    const [first = 0, ...others] = times;
    for (const [at, time] of others.entries()) ratios[at]?.push(time / first);
  }
  return ratios.map((all) => all.sort((a, b) => a - b)[rounds >> 1] as number);
}
