// Checks the final content of a store against the writes of each user and their outcomes.

import type { Durability } from "../../../web/src/types.ts";

export interface Write {
  // A "temporary insert" is deleted immediately afterwards. An "update" depends on the ETag of the
  // insert of the same key, and changes the row's `n` to `updatedN` of this write.
  kind: "insert" | "temporary insert" | "delete" | "put" | "increment" | "update";
  keys: string[]; // more than one: a transaction
  i: number; // the user's operation number
  durability: Durability;
  // unanswered: no response yet. done: succeeded. rejected: failed without an effect. unknown: may
  // have taken effect. conflict: rejected by the service's rules, without an effect.
  outcome: "unanswered" | "done" | "rejected" | "unknown" | "conflict";
  isFlushed?: boolean; // a flush() after the write has resolved
}

export interface UserHistory {
  readonly name: string;
  readonly writes: readonly Write[];
  // The user's tab has closed its store without an error, so all its writes must be stored.
  readonly isClosed: boolean;
  readonly reportedLost: number; // how many acknowledged writes the tab has reported as lost
}

export type StoredRows = ReadonlyMap<string, { n: number; timestamp: string }>;

export const updatedN = ({ i }: Pick<Write, "i">) => i + 1000;

const isUncertain = ({ outcome }: Write) => outcome === "unanswered" || outcome === "unknown";

// Whether the write must be stored. A deferred write may be lost with its tab.
const isDurable = ({ outcome, durability, isFlushed }: Write, isClosed: boolean) =>
  outcome === "done" && (durability !== "deferred" || isFlushed === true || isClosed);

/**
 * Returns the violations of the durability contract. Without `faults`, no write may be rejected,
 * and the writes without a response must form a prefix too.
 */
export function checkHistory(
  users: readonly UserHistory[],
  stored: StoredRows,
  faults: boolean,
): string[] {
  const violations = users.flatMap(({ writes, isClosed, reportedLost }) => [
    ...checkInserts(writes, stored, isClosed),
    ...checkOrder(writes, stored),
    ...checkPrefix(writes, stored),
    ...checkTemporaryInserts(writes, stored),
    ...checkPuts(writes, stored, isClosed),
    ...checkUpdates(writes, stored, isClosed, reportedLost),
    ...(faults ? [] : checkWithoutFaults(writes, stored)),
  ]);
  return [...violations, ...checkIncrements(users, stored)];
}

function checkInserts(writes: readonly Write[], stored: StoredRows, isClosed: boolean): string[] {
  const violations: string[] = [];
  for (const write of writes) {
    const { kind, keys, outcome } = write;
    if (kind !== "insert") continue;
    const found = keys.filter((key) => stored.has(key)).length;
    if (found > 0 && found < keys.length) violations.push(`half a group: ${keys[0]}`);
    if (isDurable(write, isClosed) && found === 0) violations.push(`lost: ${keys[0]}`);
    if (outcome === "rejected" && found > 0) violations.push(`refused, and stored: ${keys[0]}`);
  }
  return violations;
}

// Returns what the rows show about a write: it is stored, or missing, or undefined if they show
// neither.
function stateOf(
  { kind, keys: [key = ""], i }: Write,
  stored: StoredRows,
): "stored" | "missing" | undefined {
  const n = stored.get(key)?.n;
  switch (kind) {
    case "insert":
      return n === undefined ? "missing" : "stored";
    case "temporary insert":
      return n === undefined ? undefined : "stored"; // it may be deleted again
    case "delete":
      return n === undefined ? undefined : "missing"; // the row may never have been inserted
    case "put":
      if (n === undefined || n < i) return "missing"; // `i` grows from put to put
      return n === i ? "stored" : undefined;
    case "update":
      return n === updatedN({ i }) ? "stored" : undefined; // may fail if its insert was repeated
    case "increment":
      return undefined; // other users change the row too
  }
}

const describe = ({ kind, keys: [key], i }: Write) =>
  kind === "insert" ? `${key}` : `${kind} ${i} of ${key}`;

// The stored writes of a tab have timestamps in the order of the calls.
function checkOrder(writes: readonly Write[], stored: StoredRows): string[] {
  const violations: string[] = [];
  let before = "";
  let last = ""; // describes the write with this timestamp
  for (const write of writes) {
    if (stateOf(write, stored) !== "stored") continue;
    for (const key of write.keys) {
      const { timestamp } = stored.get(key) ?? { timestamp: before };
      const details = `(${write.durability}, ${write.outcome}, ${timestamp})`;
      const description = `${describe({ ...write, keys: [key] })} ${details}`;
      if (timestamp < before) violations.push(`not in order: ${last}, ${description}`);
      before = timestamp;
      last = description;
    }
  }
  return violations;
}

// The stored writes of a tab are a prefix of its acknowledged writes: if a write is missing, so are
// all later ones.
function checkPrefix(writes: readonly Write[], stored: StoredRows): string[] {
  let missing: string | undefined;
  for (const write of writes) {
    if (write.outcome === "rejected") continue;
    const state = stateOf(write, stored);
    if (state === "missing") {
      if (write.outcome === "done") missing ??= describe(write);
    } else if (state === "stored" && missing !== undefined) {
      return [`not a prefix: ${describe(write)} is stored, ${missing} before it is not`];
    }
  }
  return [];
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

// A row must have the content of the last write to it. Of deferred writes that were lost, later
// ones are lost too.
function checkPuts(writes: readonly Write[], stored: StoredRows, isClosed: boolean): string[] {
  const all = writes.filter(({ kind }) => kind === "put");
  if (all.length === 0) return [];
  const found = stored.get(all[0]?.keys[0] as string)?.n;
  const last = all.findLastIndex((write) => isDurable(write, isClosed));
  const allowed = all
    .slice(Math.max(last, 0))
    .filter((write) => isUncertain(write) || write.outcome === "done");
  const nothing = last < 0 && found === undefined;
  if (nothing || allowed.some(({ i }) => i === found)) return [];
  return [`put ${all[0]?.keys[0]}: ${found}, allowed: ${allowed.map(({ i }) => i).join()}`];
}

// An update fails if its insert was repeated and has a new ETag. The tab must report that.
function checkUpdates(
  writes: readonly Write[],
  stored: StoredRows,
  isClosed: boolean,
  reportedLost: number,
): string[] {
  const violations: string[] = [];
  const lost: string[] = [];
  for (const write of writes) {
    if (write.kind !== "update") continue;
    const [key = ""] = write.keys;
    const isStored = stored.get(key)?.n === updatedN(write);
    if (isDurable(write, isClosed) && !isStored) lost.push(key);
    if (isStored && ["rejected", "conflict"].includes(write.outcome))
      violations.push(`refused, and stored: update of ${key}`);
  }
  if (lost.length > reportedLost)
    violations.push(`lost: updates of ${lost.join()}; ${reportedLost} reported`);
  return violations;
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
