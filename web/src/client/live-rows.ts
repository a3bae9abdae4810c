// The rows of a live query, in the order of their keys, and the changes that are applied to them.
// An array that was given out is never changed: the next change copies it first.

import type { LiveDelta } from "../types.ts";
import type { DeltaRow, Row, RowKey } from "./changes-decoder.ts";

type Entity = object;
type Delta = LiveDelta<Entity>;
type Change = Delta["inserted"][number];

// What has changed, while it is being collected.
export interface MutableDelta extends Delta {
  readonly inserted: Change[];
  readonly updated: Delta["updated"][number][];
  readonly deleted: Change[];
}

export function newDelta(sequence: bigint): MutableDelta {
  return { sequence, inserted: [], updated: [], deleted: [] };
}

// Above this number of inserted and deleted rows, all rows are merged with the changes at once:
// each insertion into an array moves the elements behind it.
const splicesMax = 32;

export class LiveRows {
  readonly #toEntity: ((row: Row) => Entity) | undefined;
  readonly #isComparable: boolean;
  #entities: Entity[] = [];
  // The keys of the entities; the same array as #entities if entities are rows, with their keys.
  #keys: RowKey[];
  #isGivenOut = false;

  // `toEntity`: what the user sees of a row. undefined: the row itself. `isComparable`: whether it
  // can be told if two entities are equal, because they are rows or parts of rows.
  constructor(toEntity: ((row: Row) => Entity) | undefined, isComparable: boolean) {
    this.#toEntity = toEntity;
    this.#isComparable = isComparable;
    this.#keys = toEntity === undefined ? (this.#entities as RowKey[]) : [];
  }

  // Returns the same rows; changes of one do not affect the other.
  copy(): LiveRows {
    const copy = new LiveRows(this.#toEntity, this.#isComparable);
    copy.#entities = this.#entities;
    copy.#keys = this.#keys;
    copy.#isGivenOut = this.#isGivenOut = true;
    return copy;
  }

  get size(): number {
    return this.#entities.length;
  }

  // Returns the entities. The array will not change.
  giveOut(): readonly Entity[] {
    this.#isGivenOut = true;
    return this.#entities;
  }

  // Adds rows after the last row. Takes ownership of the array.
  append(rows: Row[]): void {
    const toEntity = this.#toEntity;
    const entities = toEntity === undefined ? rows : rows.map((row) => toEntity(row));
    this.#append(entities, this.#hasOwnKeys ? rows.map(keyOf) : undefined);
  }

  // Returns what apply() will show of the rows. undefined: the row is removed. If a row cannot be
  // converted, this throws.
  convert(rows: readonly DeltaRow[]): (Entity | undefined)[] {
    const toEntity = this.#toEntity;
    return rows.map(({ row }) => (row === undefined ? undefined : (toEntity?.(row) ?? row)));
  }

  // Applies changes, in the order of their keys. Adds what they did to `delta`, if there is one.
  // Takes ownership of `entities`, which are convert(rows). If they are not given and a row cannot
  // be converted, nothing has changed.
  apply(
    rows: readonly DeltaRow[],
    delta?: MutableDelta,
    entities: (Entity | undefined)[] = this.convert(rows),
  ): void {
    if (this.#areInsertedAtEnd(rows)) {
      this.#insertAtEnd(rows, entities as Entity[], delta);
      return;
    }
    const updates = rows.map(({ key }, i) => ({ key, entity: entities[i], at: this.#find(key) }));
    this.#ownArrays();
    const moves = updates.filter(({ entity, at }) => (entity === undefined) === at >= 0).length;
    if (moves > splicesMax) this.#merge(updates, delta);
    else this.#splice(updates, delta);
  }

  // Puts the rows in place of those of `old`, but keeps each entity that has not changed. Returns
  // whether anything is different, and adds what is to `delta`. If nothing is, the array stays the
  // same, too.
  replace(old: LiveRows, delta?: MutableDelta): boolean {
    if (old.size === 0 && this.size > 0 && delta === undefined) return true;
    this.#ownArrays();
    let isDifferent = old.#keys.length !== this.#keys.length;
    let from = 0;
    const deleteUpTo = (isBefore: (key: RowKey) => boolean) => {
      for (; from < old.#keys.length && isBefore(old.#keys[from] as RowKey); ++from)
        delta?.deleted.push({ index: from, entity: old.#entities[from] as Entity });
    };
    for (let at = 0; at < this.#keys.length; ++at) {
      const key = this.#keys[at] as RowKey;
      deleteUpTo((other) => compareKeys(other, key) < 0);
      const entity = this.#entities[at] as Entity;
      const wasThere = from < old.#keys.length && compareKeys(old.#keys[from] as RowKey, key) === 0;
      const previous = wasThere ? (old.#entities[from++] as Entity) : undefined;
      if (previous === undefined) {
        delta?.inserted.push({ index: at, entity });
      } else if (this.#isComparable && isEqual(previous, entity)) {
        this.#entities[at] = previous;
        continue;
      } else {
        delta?.updated.push({ index: at, entity, previous });
      }
      isDifferent = true;
    }
    deleteUpTo(() => true);
    if (isDifferent) return true;
    this.#entities = old.#entities;
    this.#keys = old.#keys;
    this.#isGivenOut = true;
    return false;
  }

  // ---- Private ----------------------------------------------------------------------------------

  #ownArrays(): void {
    if (!this.#isGivenOut) return;
    this.#isGivenOut = false;
    const areSame = (this.#keys as unknown) === this.#entities;
    this.#entities = [...this.#entities]; // slice() of a frozen array takes far longer
    this.#keys = areSame ? (this.#entities as RowKey[]) : [...this.#keys];
  }

  get #hasOwnKeys(): boolean {
    return (this.#keys as unknown) !== this.#entities;
  }

  #push(key: RowKey, entity: Entity): void {
    if (this.#hasOwnKeys) this.#keys.push(keyOf(key));
    this.#entities.push(entity);
  }

  // Whether all these rows are inserted after the last row.
  #areInsertedAtEnd(rows: readonly DeltaRow[]): boolean {
    const first = rows[0];
    const last = this.#keys[this.#keys.length - 1];
    if (first === undefined || (last !== undefined && compareKeys(last, first.key) >= 0))
      return false;
    return rows.every(({ row }) => row !== undefined);
  }

  #insertAtEnd(
    rows: readonly DeltaRow[],
    entities: Entity[],
    delta: MutableDelta | undefined,
  ): void {
    let index = this.size;
    if (delta !== undefined)
      for (const entity of entities) delta.inserted.push({ index: index++, entity });
    this.#append(entities, this.#hasOwnKeys ? rows.map(({ key }) => keyOf(key)) : undefined);
  }

  // Takes ownership of the arrays. `keys`: only if there are own ones.
  #append(entities: Entity[], keys: RowKey[] | undefined): void {
    if (this.#isGivenOut || this.size === 0) {
      this.#isGivenOut = false;
      this.#entities = joined(this.#entities, entities);
      this.#keys = keys === undefined ? (this.#entities as RowKey[]) : joined(this.#keys, keys);
    } else {
      for (const entity of entities) this.#entities.push(entity);
      if (keys !== undefined) for (const key of keys) this.#keys.push(key);
    }
  }

  // Returns the position of the key; if it is not there, -1 - the position where it would be.
  #find(key: RowKey): number {
    const keys = this.#keys;
    let low = 0;
    let high = keys.length;
    // Rows are often inserted after the last row.
    if (high > 0 && compareKeys(keys[high - 1] as RowKey, key) < 0) return -1 - high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compareKeys(keys[middle] as RowKey, key);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1 - low;
  }

  // Replaces, inserts and deletes in place. `shift`: by how much earlier insertions and deletions
  // have moved the rows behind them.
  #splice(updates: readonly Update[], delta: MutableDelta | undefined): void {
    let shift = 0;
    for (const { key, entity, at } of updates) {
      const index = positionOf({ at }) + shift;
      const previous = at < 0 ? undefined : (this.#entities[index] as Entity);
      if (entity === undefined) {
        if (previous === undefined) continue;
        delta?.deleted.push({ index: at, entity: previous });
        this.#entities.splice(index, 1);
        if (this.#hasOwnKeys) this.#keys.splice(index, 1);
        shift -= 1;
      } else if (previous === undefined) {
        delta?.inserted.push({ index, entity });
        if (this.#hasOwnKeys) this.#keys.splice(index, 0, keyOf(key));
        this.#entities.splice(index, 0, entity);
        shift += 1;
      } else {
        delta?.updated.push({ index, entity, previous });
        this.#entities[index] = entity;
      }
    }
  }

  // Merges the rows from the first change on with the changes.
  #merge(updates: readonly Update[], delta: MutableDelta | undefined): void {
    const first = positionOf(updates[0] as Update);
    const entities = this.#entities.slice(first);
    const keys = this.#hasOwnKeys ? this.#keys.slice(first) : (entities as RowKey[]);
    this.#entities.length = first;
    this.#keys.length = first;
    let from = 0;
    const copyUpTo = (end: number) => {
      for (; from < end; ++from) this.#push(keys[from] as RowKey, entities[from] as Entity);
    };
    for (const { key, entity, at } of updates) {
      copyUpTo(positionOf({ at }) - first);
      const index = this.#entities.length;
      const previous = at < 0 ? undefined : (entities[from++] as Entity);
      if (entity === undefined) {
        if (previous !== undefined) delta?.deleted.push({ index: at, entity: previous });
        continue;
      }
      if (previous === undefined) delta?.inserted.push({ index, entity });
      else delta?.updated.push({ index, entity, previous });
      this.#push(key, entity);
    }
    copyUpTo(entities.length);
  }
}

// concat() copies the elements once, whereas push() copies them again to get space for more. Of a
// frozen array, concat() takes far longer than spreading.
function joined<T>(elements: T[], added: T[]): T[] {
  if (elements.length === 0) return added;
  return (Object.isExtensible(elements) ? elements : [...elements]).concat(added);
}

// Returns where the row is, or would be.
const positionOf = ({ at }: Pick<Update, "at">) => (at < 0 ? -1 - at : at);

interface Update {
  readonly key: RowKey;
  readonly entity: Entity | undefined; // undefined: the row is removed
  readonly at: number; // LiveRows.#find() before the first change
}

function keyOf({ partitionKey, rowKey }: RowKey): RowKey {
  return { partitionKey, rowKey };
}

// The order of the store: by UTF-16 units.
function compareKeys(a: RowKey, b: RowKey): number {
  if (a.partitionKey !== b.partitionKey) return a.partitionKey < b.partitionKey ? -1 : 1;
  return a.rowKey === b.rowKey ? 0 : a.rowKey < b.rowKey ? -1 : 1;
}

// Returns whether two rows, or two values in rows, are equal. Rows consist of primitive values,
// dates, bytes, and pairs of a value and its type.
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  const names = Object.keys(a);
  if (names.length === 0) return Number(a) === Number(b); // dates
  if (names.length !== Object.keys(b).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(b, name) &&
      isEqual((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
  );
}
