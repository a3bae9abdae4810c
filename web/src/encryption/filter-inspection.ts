// Finds property names and compared keys in a $filter, without parsing it fully.

const stringLiterals = /[\p{L}\p{N}_]*'(?:[^']|'')*'/gu; // with prefixes such as datetime
const identifiers = /[\p{L}\p{N}\p{M}\p{Pc}\p{Cf}]+/gu;
const filterKeywords: ReadonlySet<string> = new Set(
  "and or not eq ne gt ge lt le true false null NaN INF Infinity PartitionKey RowKey Timestamp".split(
    " ",
  ),
);

/** Returns the properties that the filter may use, except keys and timestamp. */
export function propertyNamesIn(filter: string): ReadonlySet<string> {
  const found: readonly string[] = filter.replace(stringLiterals, " ").match(identifiers) ?? [];
  return new Set(found.filter((word) => !filterKeywords.has(word) && !/^\p{N}/u.test(word)));
}

/**
 * Returns the values that the filter compares with a key by `eq`, anywhere in the filter. Returns
 * [""] if there are none.
 */
export function comparedKeys(filter: string, key: "PartitionKey" | "RowKey"): readonly string[] {
  const text = "'((?:[^']|'')*)'";
  const equal = new RegExp(
    `(?<![\\p{L}\\p{N}_'])${key}\\s+eq\\s*${text}|${text}\\s*eq\\s+${key}(?![\\p{L}\\p{N}_])`,
    "gu",
  );
  const found = [...filter.matchAll(equal)].map(([, after, before]) => after ?? before ?? "");
  return found.length === 0 ? [""] : found.map((one) => one.replaceAll("''", "'"));
}
