// Checks the final content of a store against the writes of each user and their outcomes.

import type { Durability } from "../../../web/src/types.ts";

export interface Write {
  // A "temporary insert" is deleted immediately afterwards.
  kind: "insert" | "temporary insert" | "delete" | "put" | "increment";
  keys: string[]; // more than one: a transaction
  i: number; // the user's operation number
  durability: Durability;
  // unanswered: no response yet. done: succeeded. rejected: failed without an effect. unknown: may
  // have taken effect. conflict: rejected by the service's rules, without an effect.
  outcome: "unanswered" | "done" | "rejected" | "unknown" | "conflict";
}

export interface UserHistory {
  readonly name: string;
  readonly writes: readonly Write[];
}

export type StoredRows = ReadonlyMap<string, { n: number; timestamp: string }>;

const isUncertain = ({ outcome }: Write) => outcome === "unanswered" || outcome === "unknown";

/**
 * Returns the violations of the durability contract. Without `faults`, no write may be rejected,
 * and the writes without a response must form a prefix too.
 */
export function checkHistory(
  users: readonly UserHistory[],
  stored: StoredRows,
  faults: boolean,
): string[] {
  const violations = users.flatMap(({ writes }) => [
    ...checkInserts(writes, stored),
    ...checkTemporaryInserts(writes, stored),
    ...checkPuts(writes, stored),
    ...(faults ? [] : checkWithoutFaults(writes, stored)),
  ]);
  return [...violations, ...checkIncrements(users, stored)];
}

function checkInserts(writes: readonly Write[], stored: StoredRows): string[] {
  const violations: string[] = [];
  let before = "";
  for (const { kind, keys, durability, outcome } of writes) {
    if (kind !== "insert") continue;
    const found = keys.filter((key) => stored.has(key)).length;
    if (found > 0 && found < keys.length) violations.push(`half a group: ${keys[0]}`);
    if (outcome === "done" && durability !== "deferred" && found === 0)
      violations.push(`lost: ${keys[0]}`);
    if (outcome === "rejected" && found > 0) violations.push(`refused, and stored: ${keys[0]}`);
    if (found === 0 || durability === "deferred") continue;
    for (const key of keys) {
      const { timestamp } = stored.get(key) ?? { timestamp: before };
      if (timestamp < before) violations.push(`not in order: ${key}`);
      before = timestamp;
    }
  }
  return violations;
}

// A row that was deleted must not exist again, as it would after a late repetition of its insert.
function checkTemporaryInserts(writes: readonly Write[], stored: StoredRows): string[] {
  const violations: string[] = [];
  for (const { kind, keys, durability, outcome } of writes) {
    if (kind !== "delete" || durability === "deferred") continue;
    const [key = ""] = keys;
    const insert = writes.find(
      (write) => write.kind === "temporary insert" && write.keys[0] === key,
    );
    if (outcome === "done" && stored.has(key)) violations.push(`deleted, and stored: ${key}`);
    if (outcome === "conflict" && insert?.outcome === "done")
      violations.push(`inserted late: ${key}`);
    if (outcome === "rejected" && insert?.outcome === "done" && !stored.has(key))
      violations.push(`not deleted, and gone: ${key}`);
  }
  return violations;
}

// A row must have the content of the last write to it.
function checkPuts(writes: readonly Write[], stored: StoredRows): string[] {
  const all = writes.filter(({ kind, durability }) => kind === "put" && durability !== "deferred");
  const deferred = writes.filter(
    (write) => write.kind === "put" && write.durability === "deferred",
  );
  // A deferred write may be repeated late (web/README.md).
  if (deferred.length > 0 || all.length === 0) return [];
  const found = stored.get(all[0]?.keys[0] as string)?.n;
  const last = all.findLastIndex(({ outcome }) => outcome === "done");
  const allowed = all
    .slice(Math.max(last, 0))
    .filter((write) => isUncertain(write) || write === all[last]);
  const nothing = last < 0 && found === undefined;
  if (nothing || allowed.some(({ i }) => i === found)) return [];
  return [`put ${all[0]?.keys[0]}: ${found}, allowed: ${allowed.map(({ i }) => i).join()}`];
}

function checkIncrements(users: readonly UserHistory[], stored: StoredRows): string[] {
  const all = users.flatMap(({ writes }) => writes.filter(({ kind }) => kind === "increment"));
  const violations: string[] = [];
  for (const key of new Set(all.map(({ keys }) => keys[0] as string))) {
    const mine = all.filter(({ keys }) => keys[0] === key);
    const done = mine.filter(({ outcome }) => outcome === "done").length;
    const most = done + mine.filter(isUncertain).length;
    const n = stored.get(key)?.n ?? -1;
    if (n < done || n > most) violations.push(`${key}: ${n}, not ${done} … ${most}`);
  }
  return violations;
}

function checkWithoutFaults(writes: readonly Write[], stored: StoredRows): string[] {
  const violations: string[] = [];
  let missing: string | undefined;
  for (const { kind, keys, durability, outcome } of writes) {
    const [key = ""] = keys;
    if (outcome === "rejected" || outcome === "unknown")
      violations.push(`${kind} ${key}: ${outcome}`);
    if (kind !== "insert" || durability === "deferred") continue;
    if (!stored.has(key)) missing ??= key;
    else if (missing !== undefined)
      violations.push(`${key} is stored, ${missing} before it is not`);
  }
  return violations;
}
