// Chooses and folds the operations of the next push of a partition (PROTOCOL.md, Pushing 1 and 2).

import { baseProperties } from "./base.ts";
import { applyChange } from "./change.ts";
import { groupsOf } from "./groups.ts";
import type { Base, Member, OutboxOp } from "./hidden-tables.ts";
import type { Key } from "./keys.ts";
import { bytesOf, conditionOn, operationFor } from "./operation.ts";

export interface FreezeLimits {
  /** Of a batch, without a receipt: 100 for the Table service. */
  readonly operations: number;
  /** Of a batch: 4 MiB for the Table service, 2 MB for Cosmos DB. */
  readonly bytes: number;
}

/** So that the commit that settles a push stays small, however often a key was edited. */
const operationsMax = 2000;

export interface FreezeInput {
  readonly ops: Iterable<OutboxOp>; // of one partition, without parked ones
  readonly limits: FreezeLimits;
  readonly hasReceipts: boolean;
  readonly groupsMax: number;
  baseOf(key: Key): Base;
  /** Whether an ambiguous insert of the key may still arrive. */
  isSettling(key: Key): boolean;
}

export type Freeze =
  | { readonly kind: "nothing" }
  /** The first group is too large for a batch. */
  | { readonly kind: "tooLarge"; readonly group: number }
  /** A delete must wait until an earlier insert of the same key cannot arrive any more. */
  | { readonly kind: "settling" }
  /** All operations up to `upTo` cancel each other out. */
  | { readonly kind: "folded"; readonly upTo: number }
  | {
      readonly kind: "ready";
      readonly upTo: number;
      readonly groups: number;
      readonly members: readonly Member[];
      readonly idleKeys: readonly Key[];
      readonly hasReceipt: boolean;
    };

/**
 * Takes the longest prefix of whole groups that fits into one batch, and folds it to one operation
 * for each entity. A receipt takes one place of the batch; a group that needs this place is sent
 * alone, without a receipt.
 */
export function freeze(input: FreezeInput): Freeze {
  const { limits, hasReceipts, groupsMax } = input;
  const places = limits.operations - (hasReceipts ? 1 : 0);
  const fold = new Fold(input);
  for (const group of groupsOf(input.ops)) {
    if (fold.groups === 0) {
      const isAdded = fold.tryAdd(group, limits.operations);
      if (!isAdded) return { kind: "tooLarge", group: (group[0] as OutboxOp).group };
    } else if (
      fold.groups === groupsMax ||
      fold.operations + group.length > operationsMax ||
      !fold.tryAdd(group, places)
    )
      break;
  }
  if (fold.groups === 0) return { kind: "nothing" };
  return fold.result(hasReceipts && fold.keys <= places);
}

class Fold {
  readonly #input: FreezeInput;
  readonly #members = new Map<Key, Member>();
  /** Members that were absent, and are again: no condition can say so. */
  readonly #undone = new Set<Key>();
  readonly #bytes = new Map<Key, number>();
  #totalBytes = 0;
  readonly #keysOfGroups: Key[][] = [];
  #upTo = 0;
  operations = 0;

  constructor(input: FreezeInput) {
    this.#input = input;
  }

  get keys(): number {
    return this.#members.size;
  }
  get groups(): number {
    return this.#keysOfGroups.length;
  }

  /** Returns false, and adds nothing, if the batch would be too large or would leave one out. */
  tryAdd(group: readonly OutboxOp[], keysMax: number): boolean {
    const added = new Map<Key, Member>();
    for (const { key, change } of group) {
      const { base, intended } = added.get(key) ?? this.#members.get(key) ?? this.#start(key);
      added.set(key, { key, base, intended: applyChange(intended, change) });
    }
    const keys = this.keys + [...added.keys()].filter((key) => !this.#members.has(key)).length;
    const bytes = new Map([...added].map(([key, member]) => [key, bytesOfMember(member)]));
    let totalBytes = this.#totalBytes;
    for (const [key, more] of bytes) totalBytes += more - (this.#bytes.get(key) ?? 0);
    if (keys > keysMax || totalBytes > this.#input.limits.bytes) return false;
    if (this.groups > 0 && this.#leavesOut(added)) return false;
    for (const [key, member] of added) {
      this.#members.set(key, member);
      if (isUndone(member)) this.#undone.add(key);
      else this.#undone.delete(key);
    }
    for (const [key, more] of bytes) this.#bytes.set(key, more);
    this.#totalBytes = totalBytes;
    this.#upTo = (group.at(-1) as OutboxOp).number;
    this.operations += group.length;
    this.#keysOfGroups.push([...added.keys()]);
    return true;
  }

  #start(key: Key): Member {
    const base = this.#input.baseOf(key);
    return { key, base, intended: baseProperties(base) };
  }

  /**
   * Whether an entity would be left out of a batch that has others of its groups. Others may have
   * created it, so that only a part of what they wrote together would be overwritten.
   */
  #leavesOut(added: ReadonlyMap<Key, Member>): boolean {
    const undone = [...added.values()].filter(isUndone).map(({ key }) => key);
    if (this.#undone.size + undone.length === 0) return false;
    const members = new Map([...this.#members, ...added]);
    const keys = keysToSend(members, [...this.#keysOfGroups, [...added.keys()]]);
    return [...this.#undone, ...undone].some(
      (key) => keys.has(key) && isUndone(members.get(key) as Member),
    );
  }

  result(hasReceipt: boolean): Freeze {
    const all = [...this.#members.values()];
    const upTo = this.#upTo;
    const keys = keysToSend(this.#members, this.#keysOfGroups);
    if (keys.size === 0) return { kind: "folded", upTo };
    const isSent = (member: Member) =>
      hasDifference(member) || (keys.has(member.key) && member.base.kind === "row");
    const members = all.filter(isSent);
    const isWaiting = ({ key, intended }: Member) =>
      intended === undefined && this.#input.isSettling(key);
    if (members.some(isWaiting)) return { kind: "settling" };
    const idleKeys = all.filter((member) => !isSent(member)).map(({ key }) => key);
    return { kind: "ready", upTo, groups: this.groups, members, idleKeys, hasReceipt };
  }
}

const isUndone = ({ base, intended }: Member): boolean =>
  base.kind === "absent" && intended === undefined;

/** The entities that differ from their Bases, and all that were written together with them. */
function keysToSend(
  members: ReadonlyMap<Key, Member>,
  keysOfGroups: readonly (readonly Key[])[],
): Set<Key> {
  const keys = new Set([...members.values()].filter(hasDifference).map(({ key }) => key));
  for (let before = -1; before < keys.size; ) {
    before = keys.size;
    for (const group of keysOfGroups) {
      if (group.some((key) => keys.has(key))) for (const key of group) keys.add(key);
    }
  }
  return keys;
}

/** An outdated Base says nothing about the remote, so such an entity is never left out. */
const hasDifference = (member: Member): boolean =>
  member.base.kind === "outdated" || operationFor(member) !== undefined;

function bytesOfMember(member: Member): number {
  const { base } = member;
  const operation = base.kind === "outdated" ? undefined : operationFor(member);
  if (operation) return bytesOf(operation);
  return base.kind === "row" ? bytesOf(conditionOn(member.key, base)) : 0;
}
