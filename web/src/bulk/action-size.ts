// Estimates how many bytes an action (one write of a bulk operation) adds to a transaction, which
// may have 4 MiB. The service counts the bytes of the request; a store counts the bytes of the
// entities. The estimate is never below either count, and is accurate enough to fill batches of
// large values.

import type { TransactionAction } from "../types.ts";

const operationBytes = 1536; // upper bound of the HTTP headers and the URL of one action
const propertyBytes = 64; // quotes, commas and the type
const exactFrom = 1024; // shorter texts are not encoded: their length gives an upper bound

export function estimateActionBytes([, entity]: TransactionAction): number {
  let bytes = operationBytes;
  for (const [name, value] of Object.entries(entity)) {
    bytes += propertyBytes + 6 * name.length + valueBytes(value);
    // Keys are also part of the action's URL.
    if (name === "partitionKey" || name === "rowKey") bytes += 9 * lengthOf(value);
  }
  return bytes;
}

function valueBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (ArrayBuffer.isView(value)) return Math.ceil(value.byteLength / 3) * 4;
  if (typeof value === "object" && value !== null && "value" in value) {
    return valueBytes(value.value);
  }
  return 0; // propertyBytes already counts the other types
}

// Returns the larger of the service's count (the text as JSON in UTF-8) and a store's count (2
// bytes per UTF-16 unit). For a short text, returns 6 bytes per unit, the longest JSON escape.
function textBytes(text: string): number {
  if (text.length < exactFrom) return 6 * text.length;
  return Math.max(new TextEncoder().encode(JSON.stringify(text)).length, 2 * text.length);
}

function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}
