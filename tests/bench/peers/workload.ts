// What every database stores and is asked for; the same on every machine. A partition has 1,000
// entities, in the order of their keys. At 100,000 entities there are 100 partitions, and a
// partition or a range has the same size at any number of entities.

// Not an interface, because only a type alias is assignable to index signatures.
export type Entity = {
  partitionKey: string;
  rowKey: string;
  name: string; // name, city and note have 10-40 characters
  city: string; // one of 50
  note: string;
  count: number; // 0-999
  rank: number; // 0-999,999
  ratio: number; // never a whole number
  active: boolean;
  when: Date;
  big: bigint; // beyond the safe integers
  bytes: Uint8Array; // 16
  version: number; // increases with each conditional write
};

export interface Key {
  partitionKey: string;
  rowKey: string;
}

// A range within a partition: `from` is inclusive, `to` is exclusive.
export interface Range {
  partitionKey: string;
  from: string;
  to: string;
}

// Means `count ge … and city eq …`. Matches one in a hundred entities, if the city exists. No
// database has an index over these two properties.
export interface Filter {
  city: string;
  count: number;
}

export const partitionRows = 1000;
export const rangeRows = 100;
export const groupRows = 100;
const cities = 50;

export const partitionKey = (partition: number) => `p${String(partition).padStart(5, "0")}`;
export const rowKey = (i: number) => String(i).padStart(9, "0");

export const keyOf = (i: number): Key => ({
  partitionKey: partitionKey(Math.floor(i / partitionRows)),
  rowKey: rowKey(i),
});

export function rangeAt(i: number): Range {
  const partition = Math.floor(i / partitionRows);
  const first = Math.min(i, (partition + 1) * partitionRows - rangeRows);
  return {
    partitionKey: partitionKey(partition),
    from: rowKey(first),
    to: rowKey(first + rangeRows),
  };
}

// The indexes of the entities that are checked.
export const samples = (entities: number) =>
  Array.from({ length: 20 }, (_, k) => random(k, 77) % entities);

export const filterFor = (i: number): Filter => ({ city: cityName(i % cities), count: 500 });
export const filterForNothing: Filter = { city: "a city that is nowhere", count: 500 };
export const matches = ({ city, count }: Filter) => {
  return (entity: { city: string; count: number }) => entity.count >= count && entity.city === city;
};

export function entityAt(i: number): Entity {
  return {
    ...keyOf(i),
    name: text(random(i, 1)),
    city: cityName(random(i, 2) % cities),
    note: text(random(i, 3)),
    count: random(i, 4) % 1000,
    rank: random(i, 5) % 1_000_000,
    ratio: (random(i, 6) % 1_000_000) + 0.123,
    active: (random(i, 7) & 1) === 1,
    when: new Date(1_600_000_000_000 + random(i, 8)),
    big: (BigInt(random(i, 9)) << 28n) + BigInt(i),
    bytes: bytes(i),
    version: 0,
  };
}

// Generates new entities, in a separate partition after all others.
export function newEntities(first: number, count: number): Entity[] {
  return Array.from({ length: count }, (_, k) => ({
    ...entityAt(first + k),
    partitionKey: "z",
    rowKey: rowKey(first + k),
  }));
}

// Returns this many bytes of entities, as a store might encode them: text, and eight bytes for each
// number.
export function packed(first: number, size: number): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(size);
  let at = 0;
  const put = (bytes: Uint8Array) => {
    result.set(bytes.subarray(0, size - at), at);
    at += Math.min(bytes.length, size - at);
  };
  for (let i = first; at < size; ++i) {
    const { partitionKey, rowKey, name, city, note, when, big, bytes, ...e } = entityAt(i);
    put(new TextEncoder().encode(partitionKey + rowKey + name + city + note));
    put(new Uint8Array(Float64Array.of(e.count, e.rank, e.ratio, when.getTime()).buffer));
    put(new Uint8Array(BigInt64Array.of(big).buffer));
    put(bytes);
  }
  return result;
}

// ---- What is random -----------------------------------------------------------------------------

// Returns 32 pseudo-random bits that depend only on two numbers.
export function random(i: number, salt: number): number {
  let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
  return (x ^ (x >>> 15)) >>> 0;
}

export function shuffled<T>(values: readonly T[], seed: number): T[] {
  const result = [...values];
  for (let i = result.length - 1; i > 0; --i) {
    const j = random(i, seed) % (i + 1);
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

const letters = Uint8Array.from({ length: 4096 }, (_, i) =>
  i % 7 === 6 ? 0x20 : 0x61 + (random(i, 0) % 26),
);

// Returns 10-40 letters. Each text is a string of its own and not a slice of a common string. It is
// created in V8's heap, like strings of JSON.parse and of source code. Strings from a TextDecoder
// lie outside that heap, and reading them takes three times as long.
function text(seed: number): string {
  const start = seed % (letters.length - 40);
  return String.fromCharCode(...letters.subarray(start, start + 10 + ((seed >>> 16) % 31)));
}

const cityName = (city: number) => text(random(city, 99));

function bytes(i: number): Uint8Array {
  const result = new Uint8Array(16);
  for (let k = 0; k < 16; ++k) result[k] = random(i, 16 + k);
  return result;
}

// ---- Are two results equal? ---------------------------------------------------------------------

// A digest of a set of entities. Their order does not matter.
export interface Digest {
  count: number;
  sum: number;
}

export function digest(entities: Iterable<Entity>): Digest {
  const result = { count: 0, sum: 0 };
  for (const entity of entities) add(result, entity);
  return result;
}

export function add(to: Digest, entity: Entity): void {
  to.count += 1;
  to.sum += hash(canonical(entity)); // sums of 32-bit hashes stay exact for millions of entities
}

// Throws if a value has not its original type: dates, 64-bit numbers and bytes must be returned as
// such.
function canonical(e: Entity): string {
  if (!(e.when instanceof Date) || typeof e.big !== "bigint" || !(e.bytes instanceof Uint8Array)) {
    throw new Error(
      `wrong result: values came back as others: ${typeof e.when}, ${typeof e.big}, ${e.bytes}`,
    );
  }
  const scalars = [e.name, e.city, e.note, e.count, e.rank, e.ratio, e.active === true, e.version];
  const rest = [e.when.getTime(), e.big, Array.from(e.bytes).join()];
  return [e.partitionKey, e.rowKey, ...scalars, ...rest].join("|");
}

function hash(value: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < value.length; ++i) h = Math.imul(h ^ value.charCodeAt(i), 0x01000193);
  return h >>> 0;
}
