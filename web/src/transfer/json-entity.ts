// Converts entities to and from JSON. Writes the service's form:
//   { "PartitionKey": …, "n@odata.type": "Edm.Int64", "n": "7" }
// Reads that form and the official client's:
//   { "partitionKey": …, "n": { "type": "Int64", "value": "7" } }

import type { EdmTypes } from "../types.ts";
import { type Json, type JsonObject, NumberText } from "./json-text.ts";
import {
  type FileEntity,
  InvalidRowError,
  isGeneratedProperty,
  keyNames,
  newEntity,
  parseEdmType,
} from "./row-reader.ts";

const annotation = "@odata.type";

// ---- Reading ---------------------------------------------------------------------------------

/** Converts JSON to an entity. Properties that are null are left out. Throws InvalidRowError. */
export function entityFromJson(json: JsonObject): FileEntity {
  const entity = newEntity(
    keyOf(json, "PartitionKey", "partitionKey"),
    keyOf(json, "RowKey", "rowKey"),
  );
  for (const [name, value] of json) {
    if (name.endsWith(annotation)) checkAnnotation(json, name);
    else if (!isGeneratedProperty(name) && !name.includes("@odata.") && !keyNames.has(name)) {
      const property = propertyOf(name, value, json.get(name + annotation));
      if (property !== undefined) entity[name] = property;
    }
  }
  return entity;
}

function keyOf(json: JsonObject, name: string, clientName: string): string {
  const key = json.get(name);
  const other = json.get(clientName);
  if (key !== undefined && other !== undefined) {
    throw new InvalidRowError(`${name} and ${clientName} are the same key.`);
  }
  const value = key ?? other;
  if (typeof value !== "string") throw new InvalidRowError(`${name} is missing or not a string.`);
  return value;
}

function checkAnnotation(json: JsonObject, name: string): void {
  const property = name.slice(0, -annotation.length);
  if (!json.has(property)) throw new InvalidRowError(`${name} has no matching property.`);
}

type Property = { type: EdmTypes; value: string };

function propertyOf(name: string, value: Json, type: Json | undefined): Property | undefined {
  if (value === null) return undefined;
  if (type !== undefined) return { type: typeOf(name, type), value: textOf(name, value) };
  if (value instanceof Map) {
    const pair = value.get("value");
    if (pair === undefined || pair === null || value.size !== 2 || !value.has("type")) {
      throw new InvalidRowError(`${name} is an object, but not a pair of type and value.`);
    }
    return { type: typeOf(name, value.get("type")), value: textOf(name, pair) };
  }
  if (value instanceof NumberText) return { type: numberType(value.text), value: value.text };
  return { type: typeof value === "string" ? "String" : "Boolean", value: String(value) };
}

function typeOf(name: string, type: Json | undefined): EdmTypes {
  const edm = typeof type === "string" ? parseEdmType(type) : undefined;
  if (edm === undefined) throw new InvalidRowError(`${name} has an unknown type.`);
  return edm;
}

function textOf(name: string, value: Json): string {
  if (value instanceof NumberText) return value.text;
  if (value === null || value instanceof Map)
    throw new InvalidRowError(`${name} has a type but no value.`);
  return String(value);
}

// Returns the type of a number without a type annotation, as the service infers it. One difference:
// the service rejects whole numbers outside Int32, whereas here they are Doubles, as in our
// clients.
function numberType(text: string): "Int32" | "Double" {
  const whole = /^-?\d+$/.test(text) && Number(text) === (Number(text) | 0);
  return whole ? "Int32" : "Double";
}

// ---- Writing ---------------------------------------------------------------------------------

/**
 * A property as read with disableTypeConversion. null: the property is selected, but the entity
 * does not have it.
 */
export type TypedProperty = { type: EdmTypes; value: string } | null;

const systemNames: Readonly<Record<string, string>> = {
  partitionKey: "PartitionKey",
  rowKey: "RowKey",
  timestamp: "Timestamp",
};

/**
 * Formats an entity as JSON. `typed`: adds type annotations, so that reading restores every type.
 */
export function entityToJson(entity: Readonly<Record<string, unknown>>, typed: boolean): string {
  const members: string[] = [];
  for (const name in entity) {
    if (name === "etag") continue;
    const value = entity[name];
    if (typeof value === "string") {
      const system = systemNames[name] as string;
      if (typed && name === "timestamp") members.push(`"${system}${annotation}":"Edm.DateTime"`);
      members.push(`"${system}":${JSON.stringify(value)}`);
    } else if (value !== null) {
      addProperty(members, name, value as NonNullable<TypedProperty>, typed);
    }
  }
  return `{${members.join(",")}}`;
}

/** Adds a property, and its type if `typed` and if the value does not imply it. */
export function addProperty(
  members: string[],
  name: string,
  { type, value }: NonNullable<TypedProperty>,
  typed: boolean,
): void {
  if (typed && !isInferred(type, value)) {
    members.push(`${JSON.stringify(name + annotation)}:"Edm.${type}"`);
  }
  const bare = type === "Int32" || type === "Boolean" || (type === "Double" && isFiniteText(value));
  members.push(`${JSON.stringify(name)}:${bare ? bareText(type, value) : JSON.stringify(value)}`);
}

function isFiniteText(text: string): boolean {
  return Number.isFinite(Number(text));
}

// Formats a value without quotes. A Double always has a decimal point or an exponent, as in the
// service's responses. A typed export also annotates the type of a Double such as 3.0, because
// JSON.parse does not distinguish 3.0 from 3.
function bareText(type: EdmTypes, text: string): string {
  return type === "Double" && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function isInferred(type: EdmTypes, text: string): boolean {
  switch (type) {
    case "String":
    case "Boolean":
    case "Int32":
      return true;
    case "Double":
      return /^-?\d+\.\d+$/.test(text) || /^-?\d+(\.\d+)?e-\d+$/.test(text);
    default:
      return false;
  }
}
