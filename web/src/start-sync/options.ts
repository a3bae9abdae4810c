// Checks the options of startSync() and adds the defaults.

import {
  isNamedKeyCredential,
  isSASCredential,
  isTokenCredential,
} from "../data-tables/credentials.ts";
import { StoreError } from "../errors.ts";
import { requireKnownOptions } from "../util/option-names.ts";
import type { SyncOptions, SyncRemote, SyncTableOptions } from "./types.ts";

export interface Settings {
  readonly remote: SyncRemote;
  readonly tables: ReadonlyMap<string, TableSettings>;
  readonly poll: { readonly minMs: number; readonly maxMs: number; readonly hiddenMs: number };
  readonly entitiesPerSecond: number;
  readonly transactionsPerDay: number;
  readonly seed: string | Blob | undefined;
  readonly pausesIfUnauthorized: boolean;
}

type OptionalSetting = "partitions" | "filter" | "beacon" | "consistent";
export type TableSettings = Required<Omit<SyncTableOptions, OptionalSetting>> &
  Pick<SyncTableOptions, OptionalSetting>;

const method = "startSync";
const leastMs = 100; // of times: a shorter one is meant in seconds

/** Throws StoreError ValidationFailed, with a hint that says what to write instead. */
export function settingsOf(options: SyncOptions): Settings {
  requireObject(
    "options",
    options,
    "startSync(store, { remote: { url }, tables: { people: {} } })",
  );
  const names = ["remote", "tables", "seed", "schedule", "budget", "onUnauthorized"];
  requireKnownOptions(method, options, names);
  const { budget = {}, onUnauthorized = "refresh", schedule = {}, seed, tables } = options;
  requireOneOf("onUnauthorized", onUnauthorized, ["refresh", "pause"]);
  requireObject("budget", budget, "budget: { entitiesPerSecond: 2000 }");
  requireKnownOptions(method, budget, ["entitiesPerSecond", "transactionsPerDay"], {}, "budget");
  const { entitiesPerSecond = 2000, transactionsPerDay = Number.POSITIVE_INFINITY } = budget;
  requireNumber("budget.entitiesPerSecond", entitiesPerSecond, 1);
  requireNumber("budget.transactionsPerDay", transactionsPerDay, 24);
  return {
    remote: remoteOf(options.remote),
    tables: tablesOf(tables),
    seed,
    poll: pollOf(schedule),
    entitiesPerSecond,
    transactionsPerDay,
    pausesIfUnauthorized: onUnauthorized === "pause",
  };
}

// ---- The remote ------------------------------------------------------------------------------

function remoteOf(remote: SyncRemote): SyncRemote {
  requireObject("remote", remote, 'remote: { url: "https://lamps.table.core.windows.net" }');
  requireKnownOptions(method, remote, ["url", "credential", "fetch", "version"], {}, "remote");
  const { credential, fetch: send, url, version } = remote;
  const protocol = typeof url === "string" && URL.canParse(url) ? new URL(url).protocol : "";
  if (!/^https?:$/.test(protocol)) {
    const hint = "Write the URL of an account, such as https://lamps.table.core.windows.net.";
    throw invalid(`remote.url must be a URL, not ${JSON.stringify(url)}.`, hint);
  }
  if (send !== undefined && typeof send !== "function")
    throw invalid("remote.fetch must be a function like fetch.", "Leave it out.");
  if (version !== undefined && !/^\d{4}-\d\d-\d\d$/.test(version))
    throw invalid("remote.version must be a version of the service.", 'Write "2019-02-02".');
  if (credential !== undefined) requireCredential(credential);
  return remote;
}

const developmentAccount = "devstoreaccount1";

function requireCredential(credential: NonNullable<SyncRemote["credential"]>): void {
  if (isNamedKeyCredential(credential)) {
    if (typeof document === "undefined" || credential.name === developmentAccount) return;
    const hint = "Use a shared access signature, or a function that fetches one from your server.";
    throw invalid("remote.credential is an account key, which a page would show everyone.", hint);
  }
  const isKnown = isSASCredential(credential) || isTokenCredential(credential);
  if (isKnown || typeof credential === "function") return;
  const hint =
    "Write { signature }, { name, key }, a token credential, or a function that returns one of them.";
  throw invalid("remote.credential is no credential.", hint);
}

// ---- Tables ----------------------------------------------------------------------------------

const tableName = /^[A-Za-z][A-Za-z0-9]{2,62}$/;
const example = "tables: { people: {} }";
const tableOptions = [
  "direction",
  "partitions",
  "filter",
  "conflict",
  "receipts",
  "maxAgeMs",
  "beacon",
  "consistent",
];

function tablesOf(tables: SyncOptions["tables"]): Map<string, TableSettings> {
  requireObject("tables", tables, example);
  const names = Object.keys(tables);
  if (names.length === 0) throw invalid("tables names no table.", `Write ${example}.`);
  requireDistinct(names);
  return new Map(names.map((name) => [name, tableOf(name, tables[name], names)]));
}

/** A store has no two tables whose names differ only in case. */
function requireDistinct(names: readonly string[]): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    const other = seen.get(foldedName(name));
    if (other !== undefined)
      throw invalid(`tables has ${other} and ${name}, which are one table.`, "Leave one out.");
    seen.set(foldedName(name), name);
  }
}

/** Names of tables are equal without regard to case. */
export const foldedName = (table: string): string => table.toLowerCase();

function tableOf(
  name: string,
  options: SyncTableOptions | undefined,
  synced: readonly string[],
): TableSettings {
  if (!tableName.test(name)) {
    const hint = "A table's name is a letter, then 2 to 62 letters and digits.";
    throw invalid(`tables has the name ${JSON.stringify(name)}, which no table can have.`, hint);
  }
  const parent = `tables.${name}`;
  requireObject(parent, options, example);
  requireKnownOptions(method, options, tableOptions, {}, parent);
  const { conflict = "remote", direction = "both", partitions, receipts = false } = options;
  const { beacon, consistent, filter, maxAgeMs = 3_600_000 } = options;
  requireOneOf(`${parent}.direction`, direction, ["both", "pull", "push"]);
  if (typeof conflict !== "function")
    requireOneOf(`${parent}.conflict`, conflict, ["remote", "merge", "local"], " or a function");
  if (typeof receipts !== "boolean")
    throw invalid(`${parent}.receipts must be true or false.`, `Write receipts: ${!!receipts}.`);
  requireNumber(`${parent}.maxAgeMs`, maxAgeMs, leastMs);
  if (beacon !== undefined) requireBeacon(parent, beacon, synced);
  if (consistent !== undefined)
    requireOneOf(`${parent}.consistent`, consistent, ["partition"], " or leave it out");
  if (filter !== undefined && typeof filter !== "string")
    throw invalid(`${parent}.filter must be a text.`, "Write it as in listEntities().");
  return {
    ...{ conflict, direction, receipts, maxAgeMs },
    ...(partitions !== undefined && { partitions: partitionsOf(parent, partitions) }),
    ...(filter && { filter }),
    ...(beacon && { beacon }),
    ...(consistent && { consistent }),
  };
}

function requireBeacon(parent: string, beacon: string, synced: readonly string[]): void {
  const isName = typeof beacon === "string" && tableName.test(beacon);
  const isSynced = isName && synced.some((name) => foldedName(name) === foldedName(beacon));
  if (isName && !isSynced) return;
  const hint = 'Name another table of the remote, such as beacon: "beacons".';
  throw invalid(`${parent}.beacon must be the name of a table that is not synced.`, hint);
}

function partitionsOf(parent: string, partitions: readonly string[]): readonly string[] {
  const isList = Array.isArray(partitions) && partitions.every((key) => typeof key === "string");
  if (isList && partitions.length > 0) return [...partitions];
  const hint = 'Write partitions: ["lamps"], or leave it out to sync all.';
  throw invalid(`${parent}.partitions must be a list of PartitionKeys.`, hint);
}

// ---- Times and numbers -----------------------------------------------------------------------

function pollOf(schedule: NonNullable<SyncOptions["schedule"]>): Settings["poll"] {
  requireObject("schedule", schedule, "schedule: { minMs: 15000 }");
  requireKnownOptions(method, schedule, ["minMs", "maxMs", "hiddenMs"], {}, "schedule");
  const { minMs = 15_000, maxMs = Math.max(300_000, minMs) } = schedule;
  const { hiddenMs = Math.max(900_000, minMs) } = schedule;
  requireNumber("schedule.minMs", minMs, leastMs);
  requireNumber("schedule.maxMs", maxMs, minMs, "schedule.minMs");
  requireNumber("schedule.hiddenMs", hiddenMs, minMs, "schedule.minMs");
  return { minMs, maxMs, hiddenMs };
}

function requireNumber(option: string, value: unknown, least: number, name = ""): void {
  if (typeof value === "number" && value >= least) return;
  const hint = option.endsWith("Ms") ? "It is a time in milliseconds." : "Leave it out.";
  const limit = name === "" ? `${least}` : `${name}, which is ${least}`;
  throw invalid(`${option} must be a number of at least ${limit}, not ${String(value)}.`, hint);
}

function requireObject(option: string, value: unknown, correct: string): asserts value is object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw invalid(`${option} must be an object.`, `Write ${correct}.`);
}

/** Throws StoreError ValidationFailed. `others`: what else is allowed, in words. */
export function requireOneOf(
  option: string,
  value: unknown,
  allowed: readonly string[],
  others = "",
): void {
  if (allowed.includes(value as string)) return;
  const hint = `Use ${allowed.map((one) => JSON.stringify(one)).join(", ")}${others}.`;
  throw invalid(`${option} must not be ${JSON.stringify(value)}.`, hint);
}

export function invalid(message: string, hint: string): StoreError {
  return new StoreError("ValidationFailed", message, { hint });
}
