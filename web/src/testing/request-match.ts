// Tests whether a request matches a rule's conditions (RequestMatch).

import type { Operation, RequestDescription } from "../types.ts";
import type { RequestMatch } from "./types.ts";

export function matches(wanted: RequestMatch, request: RequestDescription): boolean {
  const rowKeys = [request.rowKey, ...(request.operations ?? []).map(({ rowKey }) => rowKey)];
  return (
    isAmong(wanted.on, request.operation) &&
    isTable(wanted.table, request.table) &&
    isText(wanted.partitionKey, request.partitionKey) &&
    (wanted.rowKey === undefined || rowKeys.some((rowKey) => isText(wanted.rowKey, rowKey)))
  );
}

function isAmong(wanted: RequestMatch["on"], operation: RequestDescription["operation"]): boolean {
  if (wanted === undefined || wanted === "*") return true;
  return typeof wanted === "string" ? wanted === operation : wanted.includes(operation);
}

function isTable(wanted: string | RegExp | undefined, table: string | undefined): boolean {
  if (typeof wanted !== "string") return isText(wanted, table);
  return wanted.toLowerCase() === table?.toLowerCase();
}

function isText(wanted: string | RegExp | undefined, text: string | undefined): boolean {
  if (wanted === undefined) return true;
  if (text === undefined) return false;
  // search() ignores lastIndex, which test() would use for a global expression.
  return typeof wanted === "string" ? wanted === text : text.search(wanted) >= 0;
}

export const operations: Readonly<Record<Operation | "*", true>> = {
  "*": true,
  get: true,
  query: true,
  explain: true,
  insert: true,
  update: true,
  merge: true,
  upsert: true,
  delete: true,
  batch: true,
  createTable: true,
  deleteTable: true,
  listTables: true,
  getTable: true,
  getAcl: true,
  setAcl: true,
  getProperties: true,
  setProperties: true,
  getStatistics: true,
  options: true,
  unknown: true,
};

// Returns whether the name is an operation, or "*", which means any operation.
export function isOperation(name: unknown): boolean {
  return typeof name === "string" && Object.hasOwn(operations, name);
}
