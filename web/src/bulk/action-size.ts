// What an action takes of the 4 MiB that a transaction may have: never less than the service counts (bytes of the request) or a store
// does (bytes of the entities), and exact enough that large values fill a batch.

import type { TransactionAction } from "../types.ts";

const operationBytes = 1536; // headers of the part and of the request in it, address included
const propertyBytes = 64; // quotes, commas, its type
const exactFrom = 1024; // shorter texts are not worth counting

export function estimateActionBytes([, entity]: TransactionAction): number {
  let bytes = operationBytes;
  for (const [name, value] of Object.entries(entity)) {
    bytes += propertyBytes + 6 * name.length + valueBytes(value);
    if (name === "partitionKey" || name === "rowKey") bytes += 9 * lengthOf(value); // in the address
  }
  return bytes;
}

function valueBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (ArrayBuffer.isView(value)) return Math.ceil(value.byteLength / 3) * 4;
  if (typeof value === "object" && value !== null && "value" in value) {
    return valueBytes(value.value);
  }
  return 0; // the allowance of a property has room for the other types
}

// As JSON in UTF-8, or as the store counts: 2 bytes for each UTF-16 unit.
function textBytes(text: string): number {
  if (text.length < exactFrom) return 6 * text.length;
  return Math.max(new TextEncoder().encode(JSON.stringify(text)).length, 2 * text.length);
}

function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}
