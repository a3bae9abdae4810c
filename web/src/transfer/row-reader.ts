// What readers of files make of them: rows, each with the line on which it begins.

import type { EdmTypes } from "../types.ts";

/** An entity whose properties all say their types, in the texts that the store reads. Without a prototype: any name is a property. */
export interface FileEntity {
  partitionKey: string;
  rowKey: string;
  [property: string]: string | { type: EdmTypes; value: string };
}

/** `units`: about how much of the file it takes. */
export type Row =
  | { line: number; units: number; entity: FileEntity }
  | { line: number; units: number; problem: string };

/** Takes a file in whatever pieces, and gives the same rows for all of them. */
export interface RowReader {
  /** The line that is being read. */
  readonly line: number;
  /** The file can't be read any further; the last row says why. */
  readonly broken: boolean;
  feed(text: string): Row[];
  /** There is no more. */
  end(): Row[];
}

/** Of a row's text: more than any entity takes, and little enough to hold. */
export const rowUnitsMax = 16 * 1024 * 1024;

export const tooLong = `The row is longer than ${rowUnitsMax} characters.`;

/** What is wrong with one row; those after it can be read. */
export class InvalidRowError extends Error {}

/** Without a prototype, so that "__proto__" is a name like any other. */
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

/** "Edm.Int64" or "Int64". */
export function edmTypeOf(text: string): EdmTypes | undefined {
  const name = text.startsWith("Edm.") ? text.slice(4) : text;
  return edmTypes.has(name) ? (name as EdmTypes) : undefined;
}

/** The service's names of the keys, and those of the official client. */
export const keyNames: ReadonlyMap<string, "partitionKey" | "rowKey"> = new Map([
  ["PartitionKey", "partitionKey"],
  ["RowKey", "rowKey"],
  ["partitionKey", "partitionKey"],
  ["rowKey", "rowKey"],
]);

/** What the store itself says of an entity, by either's names: never read from a file. In other letters, such as ETag, it is a property like all others. */
export function isSystemProperty(name: string): boolean {
  return /^(?:[Tt]imestamp|etag|odata\..*)$/.test(name);
}
