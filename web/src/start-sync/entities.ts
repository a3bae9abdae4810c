// Entities as the application sees them in conflicts and lost writes.

import {
  base64,
  builtinKind,
  edmTypeNumbers,
  fromBase64,
  unsupportedValueError,
} from "../edm/edm.ts";
import { type Key, keyOf, partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { Properties } from "../sync/properties.ts";
import { ticksOfDateTime, type Value } from "../sync/value.ts";
import type { SyncEntity } from "./types.ts";

/** Undefined: the entity is absent. */
export function entityOf(key: Key, properties: Properties | undefined): SyncEntity | undefined {
  if (properties === undefined) return undefined;
  const values = [...properties].map(([name, value]) => [name, javaScriptValue(value)] as const);
  const keys = { partitionKey: partitionOf(key), rowKey: rowKeyOf(key) };
  return { ...Object.fromEntries(values), ...keys };
}

/** As the table's client returns values. */
function javaScriptValue({ type, value }: Value): unknown {
  switch (type) {
    case "Int64":
      return BigInt(value);
    case "Binary":
      return fromBase64(String(value));
    case "DateTime":
      return new Date(Number((ticksOfDateTime(String(value)) ?? 0n) / 10_000n));
    case "Guid":
      return { type, value };
    default:
      return value;
  }
}

/**
 * Returns the properties of an entity that the application has made from `known`, the versions that
 * it was shown. A value that equals the one that was shown keeps its type and its precision. Throws
 * TypeError if a value cannot be stored, or if the entity has other keys.
 */
export function propertiesOf(
  key: Key,
  entity: SyncEntity,
  known: readonly (Properties | undefined)[],
): Properties {
  const { partitionKey, rowKey, ...rest } = entity;
  if (keyOf(partitionKey, rowKey) !== key)
    throw new TypeError("A conflict must be resolved with an entity that has the same keys.");
  const properties = new Map<string, Value>();
  for (const [name, value] of Object.entries(rest)) {
    const shown = known.map((version) => version?.get(name)).filter((one) => one !== undefined);
    // A table's client adds these two, but an entity can also have properties of these names.
    const isOfClient = (name === "etag" || name === "timestamp") && shown.length === 0;
    if (isOfClient || value === undefined || value === null) continue;
    const same = shown.find((one) => isSame(value, javaScriptValue(one)));
    const stored = same ?? typedValue(value, shown);
    if (stored === undefined) throw unsupportedValueError(value, name, partitionKey, rowKey);
    properties.set(name, stored);
  }
  return properties;
}

function isSame(value: unknown, shown: unknown): boolean {
  if (Object.is(value, shown)) return true;
  const texts = [value, shown].map(comparable);
  return texts[0] !== undefined && texts[0] === texts[1];
}

/** Undefined: the value is compared by identity. */
function comparable(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const kind = builtinKind(value);
  if (kind === "date") return `date ${(value as Date).getTime()}`;
  if (kind === "bytes") return `bytes ${base64(value as Uint8Array)}`;
  const { type, value: text } = value as Partial<Value>;
  return `${type} ${text}`;
}

/** Undefined: the value has no type. A whole number stays a Double where it was shown as one. */
function typedValue(value: unknown, shown: readonly Value[]): Value | undefined {
  switch (typeof value) {
    case "string":
      return { type: "String", value };
    case "boolean":
      return { type: "Boolean", value };
    case "bigint":
      return { type: "Int64", value: String(value) };
    case "number": {
      const isInt32 = value === (value | 0) && !shown.some(({ type }) => type === "Double");
      return isInt32 ? { type: "Int32", value } : { type: "Double", value };
    }
    case "object":
      return typedObject(value as object);
    default:
      return undefined;
  }
}

function typedObject(value: object): Value | undefined {
  const kind = builtinKind(value);
  if (kind === "date") return { type: "DateTime", value: (value as Date).toISOString() };
  if (kind === "bytes") return { type: "Binary", value: base64(value as Uint8Array) };
  const { type, value: content } = value as { type?: unknown; value?: unknown };
  if (!Object.hasOwn(edmTypeNumbers, type as PropertyKey)) return undefined;
  return typedContent(type as Value["type"], content);
}

/** The store checks texts and ranges. Undefined: the content is never of this type. */
function typedContent(type: Value["type"], content: unknown): Value | undefined {
  if (typeof content === "string") {
    const isText = type !== "Boolean" && type !== "Int32" && type !== "Double";
    return isText ? { type, value: content } : undefined;
  }
  if (typeof content === "object" && content !== null) {
    const value = typedObject(content);
    return value?.type === type ? value : undefined;
  }
  if (typeof content === "boolean" && type === "Boolean") return { type, value: content };
  if (type === "Int64" && (typeof content === "bigint" || Number.isSafeInteger(content)))
    return { type, value: String(content) };
  const isNumber = typeof content === "number";
  if (isNumber && (type === "Double" || (type === "Int32" && content === (content | 0))))
    return { type, value: content };
  return undefined;
}
