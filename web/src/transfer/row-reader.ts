// The interface of file readers and what they share. Readers return rows, each with the line on
// which it begins.

import type { EdmTypes } from "../types.ts";

/**
 * An entity as read from a file. Each property has its type, and its value as text. The object has
 * no prototype, so that any name can be a property.
 */
export interface FileEntity {
  partitionKey: string;
  rowKey: string;
  [property: string]: string | { type: EdmTypes; value: string };
}

/**
 * A row of a file: an entity, or the problem that makes it invalid. `units`: its approximate length
 * in the file, in UTF-16 units.
 */
export type Row =
  | { line: number; units: number; entity: FileEntity }
  | { line: number; units: number; problem: string };

/** Reads a file whose text arrives in chunks. How the text is divided does not matter. */
export interface RowReader {
  /** The line that is being read, from 1. */
  readonly line: number;
  /** Whether the rest of the file cannot be read. The last row then has the problem. */
  readonly hasFailed: boolean;
  /** Returns the rows that are complete with this text. */
  feed(text: string): Row[];
  /** Must be called at the end of the file. Returns the remaining rows. */
  end(): Row[];
}

/**
 * The length of the longest row, in UTF-16 units. No entity needs as much, and it fits in memory.
 */
export const rowUnitsMax = 16 * 1024 * 1024;

export const tooLong = `The row is longer than ${rowUnitsMax} characters.`;

/** Thrown if one row is invalid. Later rows can still be read. */
export class InvalidRowError extends Error {}

/** Creates an entity without a prototype, so that "__proto__" is an ordinary property name. */
export function newEntity(partitionKey: string, rowKey: string): FileEntity {
  const entity: FileEntity = Object.create(null);
  entity.partitionKey = partitionKey;
  entity.rowKey = rowKey;
  return entity;
}

const edmTypes: ReadonlySet<string> = new Set([
  "Binary",
  "Boolean",
  "DateTime",
  "Double",
  "Guid",
  "Int32",
  "Int64",
  "String",
] satisfies EdmTypes[]);

/**
 * Parses a type name, such as "Edm.Int64" or "Int64". Returns undefined if there is no such type.
 */
export function parseEdmType(text: string): EdmTypes | undefined {
  const name = text.startsWith("Edm.") ? text.slice(4) : text;
  return edmTypes.has(name) ? (name as EdmTypes) : undefined;
}

/** The client's names of the keys, by the service's and the client's names. */
export const keyNames: ReadonlyMap<string, "partitionKey" | "rowKey"> = new Map([
  ["PartitionKey", "partitionKey"],
  ["RowKey", "rowKey"],
  ["partitionKey", "partitionKey"],
  ["rowKey", "rowKey"],
]);

/**
 * Returns whether a property is set by the store itself, given the service's or the client's
 * spelling of its name. Such properties are never read from a file. Names in other spellings, such
 * as ETag, are ordinary properties.
 */
export function isGeneratedProperty(name: string): boolean {
  return /^(?:[Tt]imestamp|etag|odata\..*)$/.test(name);
}
