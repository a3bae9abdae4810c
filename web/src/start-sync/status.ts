// The status as frozen snapshots.

import type { Suspects } from "../sync/context.ts";
import type { SessionStatus } from "../sync-session/table-session.ts";
import { isError } from "../util/platform-objects.ts";
import { keysOf } from "./records.ts";
import type { SuspectDeletes, SyncError, SyncPhase, SyncStatus, TableSyncStatus } from "./types.ts";

export function tableStatus(table: string, status: SessionStatus): TableSyncStatus {
  return {
    phase: status.phase,
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
    case "tableMissing":
      return {
        code: "TableNotFound",
        message: `The remote has no table ${table}.`,
        hint: "It is created with the first local write, if the credential allows that.",
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

// The phase of several tables is the first that one of them has.
const phases: readonly SyncPhase[] = [
  "paused",
  "connecting",
  "downloading",
  "syncing",
  "idle",
  "stopped",
];

export function sumOf(tables: Readonly<Record<string, TableSyncStatus>>): SyncStatus {
  const all = Object.values(tables);
  const sum = (of: (status: TableSyncStatus) => number) =>
    all.reduce((total, status) => total + of(status), 0);
  const pulled = all.map(({ lastPulledAt }) => lastPulledAt);
  return {
    phase: phases.find((phase) => all.some((status) => status.phase === phase)) ?? "stopped",
    online: onlineOf(all),
    pending: sum(({ pending }) => pending),
    inFlight: sum(({ inFlight }) => inFlight),
    parked: sum(({ parked }) => parked),
    lost: sum(({ lost }) => lost),
    outcomeUnknown: sum(({ outcomeUnknown }) => outcomeUnknown),
    missesRepaired: sum(({ missesRepaired }) => missesRepaired),
    following: all.every(({ following }) => following),
    lastPulledAt: pulled.reduce((a, b) => (a && b && (a < b ? a : b)) || undefined),
    suspects: all.flatMap(({ suspects }) => suspects),
    error: all.find(({ error }) => error !== undefined)?.error,
    tables,
  };
}

function onlineOf(all: readonly TableSyncStatus[]): boolean | undefined {
  if (all.some(({ online }) => online === false)) return false;
  return all.some(({ online }) => online === undefined) ? undefined : true;
}

/** Keeps the last snapshot as long as nothing has changed. */
export class StatusSnapshots {
  readonly #read: () => SyncStatus;
  #last: SyncStatus | undefined;
  #text = "";

  constructor(read: () => SyncStatus) {
    this.#read = read;
  }

  get current(): SyncStatus {
    const status = this.#read();
    const text = JSON.stringify(status, comparedValue);
    if (this.#last === undefined || text !== this.#text) {
      this.#last = deepFreeze(status);
      this.#text = text;
    }
    return this.#last;
  }
}

/** The id of suspects tells their keys. */
function comparedValue(name: string, value: unknown): unknown {
  if (name === "keys") return undefined;
  return value === undefined ? null : value;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
