// Which requests are meant.

import type { RequestDescription } from "../types.ts";
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
  return typeof wanted === "string" ? wanted === text : text.search(wanted) >= 0; // whatever its lastIndex
}
