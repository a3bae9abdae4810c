// Estimates the bytes that an action uses of a transaction's 4 MiB limit. The estimate is never
// below the service's count (bytes of the request) or a store's (bytes of the entities), and
// accurate enough to fill batches of large values.

import type { TransactionAction } from "../types.ts";

const operationBytes = 1536; // headers of the part and of its request, including the address
const propertyBytes = 64; // quotes, commas and the type
const exactFrom = 1024; // shorter texts are estimated by their length

export function estimateActionBytes([, entity]: TransactionAction): number {
  let bytes = operationBytes;
  for (const [name, value] of Object.entries(entity)) {
    bytes += propertyBytes + 6 * name.length + valueBytes(value);
    // the key is repeated in the address
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
  return 0; // covered by the fixed allowance of a property
}

// The larger of the JSON in UTF-8 and the store's count of 2 bytes per UTF-16 unit.
function textBytes(text: string): number {
  if (text.length < exactFrom) return 6 * text.length;
  return Math.max(new TextEncoder().encode(JSON.stringify(text)).length, 2 * text.length);
}

function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}
