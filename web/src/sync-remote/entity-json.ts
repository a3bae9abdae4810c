// Entities in the JSON of the Table service.

import { doubleText } from "../edm/edm.ts";
import type { RemoteRow } from "../sync/hidden-tables.ts";
import { type Key, keyOf, partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { Properties } from "../sync/properties.ts";
import type { ScannedRow } from "../sync/remote.ts";
import { ticksOfDateTime, type Value } from "../sync/value.ts";
import { addProperty } from "../transfer/json-entity.ts";
import { parseEdmType } from "../transfer/row-reader.ts";
import { timestampOfETag } from "./timestamp.ts";

// ---- Writing ---------------------------------------------------------------------------------

/** Every type is stated, so that the remote stores the same types. */
export function entityJson(key: Key, properties: Properties): string {
  const members = [
    `"PartitionKey":${JSON.stringify(partitionOf(key))}`,
    `"RowKey":${JSON.stringify(rowKeyOf(key))}`,
  ];
  for (const [name, { type, value }] of properties) {
    const text = typeof value === "number" ? doubleText(value) : String(value);
    addProperty(members, name, { type, value: text }, true);
  }
  return `{${members.join(",")}}`;
}

// ---- Reading ---------------------------------------------------------------------------------

export type JsonEntity = Readonly<Record<string, unknown>>;

// A number with an exponent, or with a fraction that is 0 or may be rounded to 0 or 1, after the
// quote that ends a member's name. A quote within a text has a backslash before it, and the first
// quote of a text has a colon or a space. Other fractions need no mark: below 2^31, a Double
// differs from the next by at most 2^-22, so only fractions that begin with six digits 0 or 9
// become whole; and inferredType() takes greater whole numbers as Doubles anyway.
const wholeDouble =
  /([^\\:\s]"\s*:\s*)(-?\d+(?:\.(?:0+|[09]{6}\d+)|(?:\.\d+)?[eE][-+]?\d+))(?=\s*[,}])/g;

/**
 * Parses JSON in which 3 is an Int32, and 3.0 a Double. A Double that may be a whole number becomes
 * an array of one number, because JSON.parse does not distinguish the two. Returns undefined if it
 * is no JSON.
 */
export function parseTypedJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(wholeDouble, "$1[$2]"));
  } catch {
    return undefined;
  }
}

/** Returns undefined if the remote did not send an entity with its keys and ETag. */
export function rowOf(entity: JsonEntity, keysOnly: boolean): ScannedRow | undefined {
  const { PartitionKey: partition, RowKey: rowKey, Timestamp, "odata.etag": etag } = entity;
  if (typeof partition !== "string" || typeof rowKey !== "string" || !isETag(etag))
    return undefined;
  const timestamp =
    typeof Timestamp === "string" ? ticksOfDateTime(Timestamp) : timestampOfETag(etag);
  const properties = keysOnly ? new Map<string, Value>() : propertiesOf(entity);
  if (timestamp === undefined || properties === undefined) return undefined;
  const row: RemoteRow = { properties, etag, timestamp };
  return { key: keyOf(partition, rowKey), row };
}

/** Printable ASCII: an ETag is sent as a header, also within a batch. */
export const isETag = (etag: unknown): etag is string =>
  typeof etag === "string" && /^[\x20-\x7e]+$/.test(etag);

const annotation = "@odata.type";
const systemNames = new Set(["PartitionKey", "RowKey", "Timestamp"]);

// The members that say of which type the members with these names are. Undefined: the member is no
// property. All entities of a page have about the same names.
const typeNames = new Map<string, string | undefined>();
const typeNamesMax = 10_000;

function typeNameOf(name: string): string | undefined {
  if (typeNames.has(name)) return typeNames.get(name);
  if (typeNames.size === typeNamesMax) typeNames.clear();
  const isProperty = !systemNames.has(name) && !name.includes("odata.");
  const typeName = isProperty ? name + annotation : undefined;
  typeNames.set(name, typeName);
  return typeName;
}

/** Returns undefined if a property has no type of the service. */
function propertiesOf(entity: JsonEntity): Properties | undefined {
  const properties = new Map<string, Value>();
  for (const name in entity) {
    const value = entity[name];
    const typeName = value === null ? undefined : typeNameOf(name);
    if (typeName === undefined) continue;
    const property = propertyOf(value, entity[typeName]);
    if (property === undefined) return undefined;
    properties.set(name, property);
  }
  return properties;
}

function propertyOf(value: unknown, stated: unknown): Value | undefined {
  const isMarked = Array.isArray(value) && typeof value[0] === "number";
  const plain: unknown = isMarked ? value[0] : value;
  if (typeof plain === "object") return undefined;
  const type = typeof stated === "string" ? parseEdmType(stated) : inferredType(value);
  switch (type) {
    case undefined:
      return undefined;
    case "Int32":
    case "Double":
      return { type, value: Number(plain) };
    case "Boolean":
      return { type, value: plain === true || plain === "true" };
    default:
      return { type, value: String(plain) };
  }
}

function inferredType(value: unknown) {
  if (typeof value === "string") return "String";
  if (typeof value === "boolean") return "Boolean";
  return typeof value === "number" && value === (value | 0) ? "Int32" : "Double";
}
