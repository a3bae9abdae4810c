// What a $filter says without being read in full: which names it has, and which keys it asks for.

const stringLiterals = /[\p{L}\p{N}_]*'(?:[^']|'')*'/gu; // with what says their type
const identifiers = /[\p{L}\p{N}\p{M}\p{Pc}\p{Cf}]+/gu;
const filterKeywords: ReadonlySet<string> = new Set(
  "and or not eq ne gt ge lt le true false null NaN INF Infinity PartitionKey RowKey Timestamp".split(
    " ",
  ),
);

/** The properties that it may look into; keys and timestamp apart. */
export function propertyNamesIn(filter: string): ReadonlySet<string> {
  const found: readonly string[] = filter.replace(stringLiterals, " ").match(identifiers) ?? [];
  return new Set(found.filter((word) => !filterKeywords.has(word) && !/^\p{N}/u.test(word)));
}

/** The texts that it compares a key with for equality, in any of its parts; one empty text if there are none. */
export function comparedKeys(filter: string, key: "PartitionKey" | "RowKey"): readonly string[] {
  const text = "'((?:[^']|'')*)'";
  const equal = new RegExp(
    `(?<![\\p{L}\\p{N}_'])${key}\\s+eq\\s*${text}|${text}\\s*eq\\s+${key}(?![\\p{L}\\p{N}_])`,
    "gu",
  );
  const found = [...filter.matchAll(equal)].map(([, after, before]) => after ?? before ?? "");
  return found.length === 0 ? [""] : found.map((one) => one.replaceAll("''", "'"));
}
