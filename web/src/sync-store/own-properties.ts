// The properties that say what a row of `bases`, `etags` or `outbox` means (core/store/outbox.h).
// The row also has properties of an entity, unless these have one of the same names, or are too
// many or too large for one row.

import type { Properties } from "../sync/properties.ts";
import type { Value } from "../sync/value.ts";

export const ownName = {
  kind: "_Kind",
  etag: "_Etag",
  key: "_Key",
  group: "_Group",
  resent: "_Resent",
} as const;

const ownNames: ReadonlySet<string> = new Set(Object.values(ownName));

// An entity has at most 252 properties, and 1 MiB. `bytesMax`: Outbox::row_bytes_max.
const besideMax = 252 - ownNames.size;
export const bytesMax = 512 * 1024;

/** Returns the row's properties of the entity. */
export function withoutOwn(properties: Properties): Properties {
  const others = new Map(properties);
  for (const name of ownNames) others.delete(name);
  return others;
}

/** Returns how many of the properties, from the first on, fit into the row beside its own. */
export function countBesideOwn(properties: Properties): number {
  let count = 0;
  let bytes = 0;
  for (const [name, value] of properties) {
    if (bytes >= bytesMax || count === besideMax || ownNames.has(name)) break;
    bytes += sizeOf(value);
    ++count;
  }
  return count;
}

const fixedSizes = { DateTime: 8, Int64: 8, Double: 8, Guid: 16, Int32: 4, Boolean: 1 } as const;

/** As value_size() in core/model/entity.h. */
export function sizeOf({ type, value }: Value): number {
  if (type === "String") return 4 + 2 * String(value).length;
  if (type !== "Binary") return fixedSizes[type];
  const base64 = String(value);
  return 4 + (base64.length / 4) * 3 - (/=*$/.exec(base64)?.[0].length ?? 0);
}
