// The status as frozen snapshots.

import type { StoreError } from "../errors.ts";
import type { Suspects } from "../sync/context.ts";
import type { SessionStatus } from "../sync-session/table-session.ts";
import { isolatedListener } from "../util/isolated-listener.ts";
import { isError } from "../util/platform-objects.ts";
import { keysOf } from "./records.ts";
import type {
  SuspectDeletes,
  SyncError,
  SyncPhase,
  SyncProgress,
  SyncStatus,
  TableSyncStatus,
} from "./types.ts";

export function tableStatus(table: string, status: SessionStatus): TableSyncStatus {
  return {
    phase: status.phase,
    progress: status.progress,
    online: status.isOnline,
    pending: status.pending,
    inFlight: status.inFlight,
    parked: status.parked,
    lost: status.lost,
    outcomeUnknown: status.unknownOutcomes,
    missesRepaired: status.missesRepaired,
    following: status.isFollowing,
    lastPulledAt: status.pulledAt === undefined ? undefined : new Date(status.pulledAt),
    suspects: suspectsOf(table, status.suspects),
    error: errorOf(table, status),
  };
}

// There may be many keys, so they are converted once.
const converted = new WeakMap<readonly Suspects[], readonly SuspectDeletes[]>();

function suspectsOf(table: string, suspects: readonly Suspects[]): readonly SuspectDeletes[] {
  const known = converted.get(suspects);
  if (known) return known;
  const made = suspects.map(({ id, keys }) => ({ id, table, keys: keys.map(keysOf) }));
  converted.set(suspects, made);
  return made;
}

function errorOf(table: string, { error, storeError }: SessionStatus): SyncError | undefined {
  if (storeError !== undefined) {
    const message = isError(storeError) ? storeError.message : String(storeError);
    const hint = "Sync tries again. See the event persist-error of the store.";
    return { code: "StoreFailed", message, hint };
  }
  switch (error) {
    case undefined:
      return undefined;
    case "unauthorized":
      return {
        code: "Unauthorized",
        message: `The remote rejects the credential for the table ${table}.`,
        hint: "It needs the rights to query, add, update and delete, and must not have expired.",
      };
    case "noCredential":
      return {
        code: "NoCredential",
        message: `There is no credential for the table ${table} now.`,
        hint: "Sync calls the function again if it has rejected. Otherwise it waits: limit its time.",
      };
    case "tableMissing":
      return {
        code: "TableNotFound",
        message: `The remote has no table ${table}.`,
        hint: "Create it there. The first local write does so if the credential allows it.",
      };
    case "tokensHidden":
      return {
        code: "HeadersHidden",
        message: "The remote's CORS rules hide the headers that continue a query.",
        hint: "Expose x-ms-continuation-NextPartitionKey and x-ms-continuation-NextRowKey.",
      };
    case "remoteClock":
      return {
        code: "RemoteClock",
        message: "The remote's time is more than a day ahead of this machine's clock.",
        hint: "Set the clock of this machine.",
      };
  }
}

/** Before anything is known. */
export const unknownStatus = (phase: SyncPhase): TableSyncStatus => ({
  phase,
  progress: undefined,
  online: undefined,
  pending: 0,
  inFlight: 0,
  parked: 0,
  lost: 0,
  outcomeUnknown: 0,
  missesRepaired: 0,
  following: false,
  lastPulledAt: undefined,
  suspects: [],
  error: undefined,
});

/** Of a table that cannot be synced now. */
export function failedStatus(table: string, error: unknown): TableSyncStatus {
  const { message, hint } = error as Partial<StoreError>;
  return {
    ...unknownStatus("stopped"),
    error: {
      code: "StoreFailed",
      message: `The table ${table} cannot be synced: ${message ?? error}`,
      hint: hint || "Sync tries again.",
    },
  };
}

// The phase of several tables is the first that one of them has.
const phases: readonly SyncPhase[] = [
  "paused",
  "connecting",
  "downloading",
  "syncing",
  "idle",
  "stopped",
];

type Counted = "pending" | "inFlight" | "parked" | "lost" | "outcomeUnknown" | "missesRepaired";

export function sumOf(tables: Readonly<Record<string, TableSyncStatus>>): SyncStatus {
  const all = Object.values(tables);
  const sum = (name: Counted) => all.reduce((total, status) => total + status[name], 0);
  const pulled = all.map(({ lastPulledAt }) => lastPulledAt);
  return {
    phase: phases.find((phase) => all.some((status) => status.phase === phase)) ?? "stopped",
    progress: sumOfProgress(all.flatMap(({ progress }) => progress ?? [])),
    online: onlineOf(all),
    pending: sum("pending"),
    inFlight: sum("inFlight"),
    parked: sum("parked"),
    lost: sum("lost"),
    outcomeUnknown: sum("outcomeUnknown"),
    missesRepaired: sum("missesRepaired"),
    following: all.length > 0 && all.every(({ following }) => following),
    lastPulledAt: pulled.some((at) => at === undefined)
      ? undefined
      : pulled.reduce((a, b) => (a && b && a < b ? a : b), undefined),
    suspects: all.flatMap(({ suspects }) => suspects),
    error: all.find(({ error }) => error !== undefined)?.error,
    tables,
  };
}

/** Of tables that are downloaded at once. */
function sumOfProgress(all: readonly SyncProgress[]): SyncProgress | undefined {
  if (all.length < 2) return all[0];
  const sum = (of: (progress: SyncProgress) => number) =>
    all.reduce((total, progress) => total + of(progress), 0);
  const ranges = sum((progress) => progress.ranges);
  return {
    rows: sum(({ rows }) => rows),
    bytes: sum(({ bytes }) => bytes),
    ranges,
    rangesDone: sum(({ rangesDone }) => rangesDone),
    fraction: all.some(({ fraction }) => fraction === undefined)
      ? undefined
      : sum((progress) => (progress.fraction ?? 0) * progress.ranges) / ranges,
    rowsPerSecond: sum(({ rowsPerSecond }) => rowsPerSecond),
    remainingMs: all
      .map(({ remainingMs }) => remainingMs)
      .reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b))),
  };
}

function onlineOf(all: readonly TableSyncStatus[]): boolean | undefined {
  if (all.length === 0) return undefined;
  if (all.some(({ online }) => online === false)) return false;
  return all.some(({ online }) => online === undefined) ? undefined : true;
}

// ---- Changes ---------------------------------------------------------------------------------

/** By table. Undefined: the table is not synced any more. */
export type StatusChanges = Readonly<Record<string, Partial<TableSyncStatus> | undefined>>;

/** Returns what a thread or a tab that has `before` needs to have `after`. */
export function changesOf(before: SyncStatus | undefined, after: SyncStatus): StatusChanges {
  const names = new Set([...Object.keys(before?.tables ?? {}), ...Object.keys(after.tables)]);
  const changes: Record<string, Partial<TableSyncStatus> | undefined> = {};
  for (const name of names) {
    const [old, table] = [before?.tables[name], after.tables[name]];
    const changed = table && changedFields(old, table);
    if (changed === undefined || Object.keys(changed).length > 0) changes[name] = changed;
  }
  return changes;
}

export function withChanges(before: SyncStatus | undefined, changes: StatusChanges): SyncStatus {
  const tables: Record<string, TableSyncStatus> = { ...before?.tables };
  for (const [name, changed] of Object.entries(changes)) {
    if (changed === undefined) delete tables[name];
    else tables[name] = { ...tables[name], ...changed } as TableSyncStatus;
  }
  return sumOf(tables);
}

function changedFields(before: object | undefined, after: object): Partial<TableSyncStatus> {
  const old = (before ?? {}) as Record<string, unknown>;
  const isChanged = ([name, value]: [string, unknown]) =>
    !(name in old) || !isSameField(old[name], value);
  return Object.fromEntries(Object.entries(after).filter(isChanged));
}

/** Lists are compared by identity, because they may be long. */
function isSameField(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Array.isArray(a) || Array.isArray(b)) return isEmptyList(a) && isEmptyList(b);
  if ("getTime" in a) return "getTime" in b && Number(a) === Number(b);
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) =>
    Object.is((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
  );
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const isEmptyList = (list: object): boolean => Array.isArray(list) && list.length === 0;

/** Those who listen to a status. They are called only if it has changed. */
export class StatusListeners {
  readonly #status: () => SyncStatus;
  readonly #listeners = new Set<(status: SyncStatus) => void>();
  #told: SyncStatus | undefined;

  constructor(status: () => SyncStatus) {
    this.#status = status;
  }

  get areThere(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns a function that ends this. */
  add(listener: (status: SyncStatus) => void): () => void {
    const isolated = isolatedListener(listener);
    if (!this.areThere) this.#told = this.#status();
    this.#listeners.add(isolated);
    return () => this.#listeners.delete(isolated);
  }

  tell(): void {
    const status = this.#status();
    if (status === this.#told) return;
    this.#told = status;
    for (const listener of [...this.#listeners]) listener(status);
  }
}

/** Keeps the last snapshot as long as nothing has changed. */
export class StatusSnapshots {
  readonly #read: () => SyncStatus;
  #last: SyncStatus | undefined;

  constructor(read: () => SyncStatus) {
    this.#read = read;
  }

  get current(): SyncStatus {
    const status = this.#read();
    const isSame = Object.keys(changesOf(this.#last, status)).length === 0;
    if (this.#last === undefined || !isSame) this.#last = deepFreeze(status);
    return this.#last;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
