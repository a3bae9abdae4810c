// Values that only sync reads, as bytes in properties of hidden rows (VALUES.md).

import { isPlatformObject } from "../util/platform-objects.ts";

// A Binary property has at most 64 KiB, and a row at most 1 MiB.
const propertyBytesMax = 65_536;
const propertiesPerRow = 8;

/** Of what VALUES.md describes. */
const version = 1;

const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { fatal: true });

/** The Binary properties of a row, by name. */
export type BinaryProperties = ReadonlyMap<string, Uint8Array>;

/** The properties of the rows that hold the value. */
export function encodeValue(value: unknown): BinaryProperties[] {
  const bytes = utf8.encode(JSON.stringify([version, value], replace));
  const rows: BinaryProperties[] = [];
  for (let at = 0; at < bytes.length || rows.length === 0; ) {
    const row = new Map<string, Uint8Array>();
    for (let i = 0; i < propertiesPerRow && at < bytes.length; ++i) {
      const chunk = bytes.subarray(at, at + propertyBytesMax);
      row.set(`V${i}`, chunk);
      at += chunk.length;
    }
    rows.push(row);
  }
  return rows;
}

/** Returns undefined if the rows do not hold a value, or one of a later version. */
export function decodeValue(rows: readonly BinaryProperties[]): unknown {
  const chunks = rows.flatMap(chunksOf);
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  try {
    const [written, value] = JSON.parse(text.decode(all), revive) as unknown[];
    return written === version ? value : undefined;
  } catch {
    return undefined;
  }
}

/** In the order of their names: the store may return properties in any order. */
function chunksOf(row: BinaryProperties): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let i = 0; i < propertiesPerRow; ++i) {
    const chunk = row.get(`V${i}`);
    if (chunk) chunks.push(chunk);
  }
  return chunks;
}

// JSON has neither maps, sets nor bigints, and no -0, NaN and infinities. Values of properties have
// these as numbers of Edm type Double.
function replace(_: string, value: unknown): unknown {
  if (isPlatformObject(value, "Map")) return { $map: [...(value as Map<unknown, unknown>)] };
  if (isPlatformObject(value, "Set")) return { $set: [...(value as Set<unknown>)] };
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { $number: Object.is(value, -0) ? "-0" : String(value) };
  return value;
}

function revive(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const tagged = value as Record<string, unknown>;
  if ("$map" in tagged) return new Map(tagged["$map"] as [unknown, unknown][]);
  if ("$set" in tagged) return new Set(tagged["$set"] as unknown[]);
  if ("$bigint" in tagged) return BigInt(tagged["$bigint"] as string);
  if ("$number" in tagged) return Number(tagged["$number"]);
  return value;
}
