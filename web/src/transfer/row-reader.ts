// The rows that file readers return, each with the line on which it begins, and what the readers
// share.

import type { EdmTypes } from "../types.ts";

/**
 * An entity whose properties all have a type, with values as the store parses them. It has no
 * prototype, so that any name can be a property.
 */
export interface FileEntity {
  partitionKey: string;
  rowKey: string;
  [property: string]: string | { type: EdmTypes; value: string };
}

/** `units`: the approximate length of the row in the file, in UTF-16 units. */
export type Row =
  | { line: number; units: number; entity: FileEntity }
  | { line: number; units: number; problem: string };

/** Reads a file that arrives in chunks. The rows do not depend on how it is divided. */
export interface RowReader {
  /** The line that is being read, from 1. */
  readonly line: number;
  /** Whether the rest of the file cannot be read; the last row has the reason. */
  readonly broken: boolean;
  /** Returns the rows that the text completes. */
  feed(text: string): Row[];
  /** Returns the remaining rows, at the end of the file. */
  end(): Row[];
}

/** The longest row, in UTF-16 units: more than any entity needs, but small enough for memory. */
export const rowUnitsMax = 16 * 1024 * 1024;

export const tooLong = `The row is longer than ${rowUnitsMax} characters.`;

/** One row is invalid; later rows can still be read. */
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

/** Parses a type name, such as "Edm.Int64" or "Int64"; undefined: not a type. */
export function edmTypeOf(text: string): EdmTypes | undefined {
  const name = text.startsWith("Edm.") ? text.slice(4) : text;
  return edmTypes.has(name) ? (name as EdmTypes) : undefined;
}

/** The names of the keys, the service's and the official client's. */
export const keyNames: ReadonlyMap<string, "partitionKey" | "rowKey"> = new Map([
  ["PartitionKey", "partitionKey"],
  ["RowKey", "rowKey"],
  ["partitionKey", "partitionKey"],
  ["rowKey", "rowKey"],
]);

/**
 * Returns whether a name is a property that the store itself sets, in the service's or the client's
 * spelling. Such properties are never read from a file. Other spellings, such as ETag, are ordinary
 * properties.
 */
export function isSystemProperty(name: string): boolean {
  return /^(?:[Tt]imestamp|etag|odata\..*)$/.test(name);
}
