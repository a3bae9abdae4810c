// One table that is synced: its session, and what waits.

import { loadedCode } from "../errors.ts";
import type { SyncHost } from "../host/sync-host.ts";
import { partitionOf } from "../sync/keys.ts";
import type { RowFilter } from "../sync/partition-log.ts";
import { plainReading } from "../sync/plain-reading.ts";
import { pendingPartitions } from "../sync/plan-push.ts";
import type { AccountFeed } from "../sync-remote/account-feed.ts";
import type { Http } from "../sync-remote/http.ts";
import type { AccountBudget } from "../sync-session/account-budget.ts";
import type { Activity } from "../sync-session/activity.ts";
import type { Clock } from "../sync-session/clock.ts";
import { TableSession } from "../sync-session/table-session.ts";
import { connector } from "./connect.ts";
import { coverageOf } from "./coverage.ts";
import type { Settings, TableSettings } from "./options.ts";
import { clientName, type OwnedTable, openTable, type StoreAccess } from "./owned-table.ts";
import { TableRecords } from "./records.ts";
import { resolver } from "./resolve.ts";
import type { SeedRange } from "./seed.ts";
import type { SyncCoverage } from "./types.ts";

/** What sync uses of its platform. */
export interface Environment {
  readonly clock: Clock;
  readonly activity: Activity;
}

export interface SyncedTable {
  readonly session: TableSession;
  readonly records: TableRecords;
  readonly coverage: () => Promise<SyncCoverage>;
}

export interface SyncedTableOptions {
  readonly store: StoreAccess;
  readonly host: SyncHost;
  readonly name: string;
  readonly settings: Settings;
  /** To the remote: all tables have the same credential. */
  readonly http: Http;
  /** All tables share one connection. As in ConnectOptions. */
  readonly feed: () => Promise<AccountFeed | undefined>;
  /** All tables share it. */
  readonly budget: AccountBudget;
  /** What a seed has of the table. */
  readonly seed: readonly SeedRange[] | undefined;
  readonly environment: Environment;
  readonly onChange: () => void;
}

/** Opens the table. The session has not started. */
export async function openSyncedTable(options: SyncedTableOptions): Promise<SyncedTable> {
  const { budget, environment, host, name, onChange, seed, settings, store } = options;
  const table = settings.tables.get(name) as TableSettings;
  const filtered = await filterOf(table, host, name);
  const owned = await openTable(store, host, name);
  if (seed) await (await import("./adopt-seed.ts")).adoptRanges(owned.store, seed);
  await changeFilter(owned, table, filtered);
  const keeps = keepsOf(table, filtered);
  const session = new TableSession({
    ...owned,
    ...environment,
    budget,
    connect: connectorOf(options, table, owned),
    settings: {
      policy:
        typeof table.conflict === "function" ? resolver(name, table.conflict) : table.conflict,
      hasReceipts: table.receipts,
      keeps,
      sendsFilter: false,
      consistent: table.consistent && (await consistentCode()).consistentReading(plainReading),
      direction: table.direction,
      partitions: table.partitions,
      poll: settings.poll,
      maxAgeMs: table.maxAgeMs,
      pausesIfUnauthorized: settings.pausesIfUnauthorized,
    },
    onChange,
  });
  const { clock } = environment;
  const coverage = () =>
    coverageOf({ table: name, store: owned.store, settings: table, now: clock.now().wallMs });
  return { session, records: new TableRecords(name, owned.store, keeps), coverage };
}

/** Throws StoreError ValidationFailed if the filter is invalid. Most tables have none. */
async function filterOf(
  { filter }: TableSettings,
  { engine }: SyncHost,
  name: string,
): Promise<RowFilter | undefined> {
  if (filter === undefined) return undefined;
  const { openFilter } = await filterCode();
  return openFilter(engine, name, filter);
}

async function changeFilter(
  { store }: OwnedTable,
  { filter = "" }: TableSettings,
  matches: RowFilter | undefined,
): Promise<void> {
  const before = await store.read((view) => view.get("client", "filter") ?? "");
  if (before !== filter) await (await filterCode()).changeFilter(store, filter, matches);
}

const filterCode = () => loadedCode(import("./table-filter.ts"));
const consistentCode = () => loadedCode(import("../sync/consistent-reading.ts"));

function keepsOf({ partitions }: TableSettings, matches: RowFilter | undefined): RowFilter {
  if (partitions === undefined) return matches ?? (() => true);
  const kept = new Set(partitions);
  return (key, properties) => kept.has(partitionOf(key)) && (matches?.(key, properties) ?? true);
}

function connectorOf(options: SyncedTableOptions, table: TableSettings, { store }: OwnedTable) {
  const { environment, feed, http, name } = options;
  return connector({
    http,
    feed,
    table: name,
    beacon: table.beacon,
    token: environment.clock.token,
    filter: table.filter,
    client: (service) => clientName(store, environment.clock.token, service),
    mayCreate: async () => {
      if (table.direction === "pull") return false;
      const pending = await store.read((view) => pendingPartitions(view, 1));
      return pending.length > 0;
    },
  });
}
