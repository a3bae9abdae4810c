// What must hold of a store after all, given what each of its users asked for and was told.

import type { Durability } from "../../../web/src/types.ts";

export interface Write {
  does: "insert" | "pass" | "delete" | "put" | "increment"; // "pass": an insert that is deleted right afterwards
  keys: string[]; // more than one: a group
  i: number; // which of its user's
  durability: Durability;
  // done, or refused without an effect, or not known; conflict: by the service's rules, without an effect
  outcome: "unanswered" | "done" | "refused" | "unknown" | "conflict";
}

export interface Told {
  readonly name: string;
  readonly writes: readonly Write[];
}

export type There = ReadonlyMap<string, { n: number; timestamp: string }>;

const mayBe = ({ outcome }: Write) => outcome === "unanswered" || outcome === "unknown";

/** What does not hold. Without `faults` nothing may be refused, and what is not answered is a prefix too. */
export function verdict(users: readonly Told[], there: There, faults: boolean): string[] {
  const wrong = users.flatMap(({ writes }) => [
    ...inserts(writes, there),
    ...passes(writes, there),
    ...puts(writes, there),
    ...(faults ? [] : withoutFaults(writes, there)),
  ]);
  return [...wrong, ...increments(users, there)];
}

function inserts(writes: readonly Write[], there: There): string[] {
  const wrong: string[] = [];
  let before = "";
  for (const { does, keys, durability, outcome } of writes) {
    if (does !== "insert") continue;
    const found = keys.filter((key) => there.has(key)).length;
    if (found > 0 && found < keys.length) wrong.push(`half a group: ${keys[0]}`);
    if (outcome === "done" && durability !== "deferred" && found === 0)
      wrong.push(`lost: ${keys[0]}`);
    if (outcome === "refused" && found > 0) wrong.push(`refused, and there: ${keys[0]}`);
    if (found === 0 || durability === "deferred") continue;
    for (const key of keys) {
      const { timestamp } = there.get(key) ?? { timestamp: before };
      if (timestamp < before) wrong.push(`not in order: ${key}`);
      before = timestamp;
    }
  }
  return wrong;
}

// An insert that is done again after its row was deleted brings it back.
function passes(writes: readonly Write[], there: There): string[] {
  const wrong: string[] = [];
  for (const { does, keys, durability, outcome } of writes) {
    if (does !== "delete" || durability === "deferred") continue;
    const [key = ""] = keys;
    const insert = writes.find((write) => write.does === "pass" && write.keys[0] === key);
    if (outcome === "done" && there.has(key)) wrong.push(`deleted, and there: ${key}`);
    if (outcome === "conflict" && insert?.outcome === "done") wrong.push(`inserted late: ${key}`);
    if (outcome === "refused" && insert?.outcome === "done" && !there.has(key))
      wrong.push(`not deleted, and gone: ${key}`);
  }
  return wrong;
}

// The last of the writes of one row is what is there.
function puts(writes: readonly Write[], there: There): string[] {
  const all = writes.filter(({ does, durability }) => does === "put" && durability !== "deferred");
  const deferred = writes.filter(
    (write) => write.does === "put" && write.durability === "deferred",
  );
  if (deferred.length > 0 || all.length === 0) return []; // one may be made again late (web/README.md)
  const found = there.get(all[0]?.keys[0] as string)?.n;
  const last = all.findLastIndex(({ outcome }) => outcome === "done");
  const allowed = all
    .slice(Math.max(last, 0))
    .filter((write) => mayBe(write) || write === all[last]);
  const nothing = last < 0 && found === undefined;
  if (nothing || allowed.some(({ i }) => i === found)) return [];
  return [`put ${all[0]?.keys[0]}: ${found}, allowed: ${allowed.map(({ i }) => i).join()}`];
}

function increments(users: readonly Told[], there: There): string[] {
  const all = users.flatMap(({ writes }) => writes.filter(({ does }) => does === "increment"));
  const wrong: string[] = [];
  for (const key of new Set(all.map(({ keys }) => keys[0] as string))) {
    const mine = all.filter(({ keys }) => keys[0] === key);
    const done = mine.filter(({ outcome }) => outcome === "done").length;
    const most = done + mine.filter(mayBe).length;
    const n = there.get(key)?.n ?? -1;
    if (n < done || n > most) wrong.push(`${key}: ${n}, not ${done} … ${most}`);
  }
  return wrong;
}

function withoutFaults(writes: readonly Write[], there: There): string[] {
  const wrong: string[] = [];
  let missing: string | undefined;
  for (const { does, keys, durability, outcome } of writes) {
    const [key = ""] = keys;
    if (outcome === "refused" || outcome === "unknown") wrong.push(`${does} ${key}: ${outcome}`);
    if (does !== "insert" || durability === "deferred") continue;
    if (!there.has(key)) missing ??= key;
    else if (missing !== undefined) wrong.push(`${key} is there, ${missing} before it is not`);
  }
  return wrong;
}
