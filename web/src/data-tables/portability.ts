// The option `portable`: rejects values that the real service would interpret differently or
// reject.

import { StoreError } from "../errors.ts";

// Throws NotPortable for whole numbers outside Int32: requests do not state their type, and
// services interpret them differently.
export function assertPortableNumbers(entity: object): void {
  for (const [name, value] of Object.entries(entity)) {
    if (!Number.isInteger(value) || (value | 0) === value) continue;
    throw new StoreError(
      "NotPortable",
      `Property "${name}" is the plain number ${value}, which is not an Int32.`,
      {
        hint: `Give its type: edm.double(${value}), or the bigint ${BigInt(value)}n.`,
      },
    );
  }
}
