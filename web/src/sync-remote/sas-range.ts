// The key range of a shared access signature. Its start and its end are inclusive.

import { isInRange, type Key, keyAfter, keyOf, partitionRange } from "../sync/keys.ts";

/** `sas`: the query of a URL. Without a range in it, all keys are inside. */
export function isInSasRange(key: Key, sas: string): boolean {
  const fields = new URLSearchParams(sas);
  const start = fields.get("spk");
  const end = fields.get("epk");
  const endRow = fields.get("erk");
  return isInRange(key, {
    from: start === null ? "" : keyOf(start, fields.get("srk") ?? ""),
    to: end === null ? undefined : endOf(end, endRow),
  });
}

const endOf = (partition: string, row: string | null): Key | undefined =>
  row === null ? partitionRange(partition).to : keyAfter(keyOf(partition, row));
