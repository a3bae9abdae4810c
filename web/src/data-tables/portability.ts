// The option `portable`: rejects what is stored here but means something else, or nothing, at the real service.

import { StoreError } from "../errors.ts";

// Plain whole numbers outside Int32 have no type on the wire: each service decides for itself.
export function assertPortable(entity: object): void {
  for (const [name, value] of Object.entries(entity)) {
    if (!Number.isInteger(value) || (value | 0) === value) continue;
    throw new StoreError(
      "NotPortable",
      `Property "${name}" is the plain number ${value}, which is no Int32.`,
      {
        hint: `Say what it is: edm.double(${value}), or the bigint ${BigInt(value)}n.`,
      },
    );
  }
}
