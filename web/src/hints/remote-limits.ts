// Finds what in a request exceeds a limit of Cosmos DB, if the table is synced with it
// (core/store/remote_limits.h).

import { propertiesOf, sizeOf } from "./entity-rules.ts";
import type { FailedOperation, FailedRequest } from "./failed-request.ts";

export const rowKeyBytesMax = 255;
const requestBytesMax = 4 * 1024 * 1024; // of the service

/** Undefined: the key is not too long. */
export function bytesOfLongRowKey(key: unknown): number | undefined {
  const bytes = typeof key === "string" ? new TextEncoder().encode(key).length : 0;
  return bytes > rowKeyBytesMax ? bytes : undefined;
}

export function reservedNameIn(entity: object): string | undefined {
  const names = propertiesOf(entity).map(([name]) => name);
  return names.find((name) => /^(?:id|rid|etag|resourceid)$/i.test(name));
}

/** Whether the request is certainly not too large for the service. */
export function isWithinService({ bodyBytes, operations = [] }: FailedRequest): boolean {
  if (bodyBytes !== undefined) return bodyBytes <= requestBytesMax;
  return operations.reduce((sum, operation) => sum + bytesOf(operation), 0) <= requestBytesMax;
}

const otherBytesMax = 8 + 16; // of a property: without its name, its text or its bytes

/** At least what the store counts (core/model/entity.h). */
function bytesOf({ partitionKey, rowKey, entity = {} }: FailedOperation): number {
  return propertiesOf(entity).reduce(
    (sum, [name, value]) => sum + otherBytesMax + 2 * name.length + sizeOf(value),
    4 + 2 * (String(partitionKey).length + String(rowKey).length),
  );
}
