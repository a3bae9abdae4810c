// Explains why a filter matched no row: a property is misspelled, or is compared with a value of
// another type. Only looks at a sample of the table, so it may find nothing.

import { fold } from "../hints/entity-rules.ts";
import { comparisonOperators, filterTokens } from "../hints/filter-tokens.ts";
import { quoted, shortened, visibleCharacter } from "../hints/text.ts";
import type { Transport } from "../transport.ts";
import type { EdmTypes, StoreWarning } from "../types.ts";

const sampleRows = 100;
const comparisonsMax = 1000; // checked per listener; later ones are not, to bound memory and time
const emptyBodyBytesMax = 2048; // of a response without rows
const nameUnitsMax = 255; // no property has a longer name

// The keys of the comparisons that were checked, by listener: forks of a mock store share theirs.
const checked = new WeakMap<OnWarning, Set<string>>();

type OnWarning = (warning: StoreWarning) => void;

// Reads the first rows of a table, without type conversion. `next` is undefined if there are no
// more.
export type ReadRows = (
  transport: Transport,
  table: string,
  top: number,
) => Promise<{ rows: readonly object[]; next?: unknown }>;

interface Sample {
  // Types of each property of the rows, by the name in filters.
  types: ReadonlyMap<string, ReadonlySet<EdmTypes>>;
  isWhole: boolean; // whether the table has no other rows
}

interface Comparison {
  key: string; // all but the literal's value
  property: string;
  operator: string;
  literal: string;
  type: EdmTypes | undefined; // of the literal
}

/** Checks a filter that matched no row; each comparison once, whatever value it compares with. */
export async function checkFilter(
  transport: Transport,
  table: string,
  filter: string,
  onWarning: OnWarning,
  readRows: ReadRows,
): Promise<void> {
  const known = checked.get(onWarning) ?? new Set();
  checked.set(onWarning, known);
  const comparisons = comparisonsIn(filter, table).filter(({ key }) => !known.has(key));
  if (comparisons.length === 0 || known.size >= comparisonsMax) return;
  for (const { key } of comparisons) known.add(key);
  const sample = sampleFrom(await readRows(transport.unobserved ?? transport, table, sampleRows));
  if (sample.types.size === 0) for (const { key } of comparisons) known.delete(key);
  const reasons = new Set(comparisons.map((comparison) => mismatchOf(comparison, sample)));
  reasons.delete(undefined);
  if (reasons.size === 0) return;
  const why = [...reasons].join(" Also, ");
  const message = `The filter ${shortened(filter)} matches no row of ${quoted(table)}: ${why}`;
  onWarning({ code: "FilterCannotMatch", message: message.replace(/\p{Cc}/gu, visibleCharacter) });
}

/** Checks the filter of an HTTP request, if its response has no row. */
export async function checkHttpFilter(
  transport: Transport,
  url: string,
  { headers, body }: { headers: readonly (readonly [string, string])[]; body: Uint8Array },
  onWarning: OnWarning,
  readRows: ReadRows,
): Promise<void> {
  if (body.length > emptyBodyBytesMax) return;
  const { pathname, searchParams } = new URL(url);
  const [, table] = /\/(\w+)(?:\(\))?$/.exec(pathname) ?? [];
  const filter = searchParams.get("$filter");
  if (table === undefined || table === "Tables" || filter === null) return;
  if (searchParams.has("NextPartitionKey")) return; // earlier pages may have rows
  const isPartial = headers.some(([name]) => /^x-ms-continuation-/i.test(name));
  if (isPartial || !new TextDecoder().decode(body).endsWith('"value":[]}')) return;
  await checkFilter(transport, table, filter, onWarning, readRows);
}

function sampleFrom({ rows, next }: Awaited<ReturnType<ReadRows>>): Sample {
  const types = new Map<string, Set<EdmTypes>>(rows.length === 0 ? [] : systemTypes());
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const { type } = Object(value) as { type?: EdmTypes };
      if (type === undefined) continue; // a key, the timestamp or the ETag
      types.set(name, (types.get(name) ?? new Set()).add(type));
    }
  }
  return { types, isWhole: next === undefined };
}

function systemTypes(): [string, Set<EdmTypes>][] {
  return [
    ["PartitionKey", new Set(["String"])],
    ["RowKey", new Set(["String"])],
    ["Timestamp", new Set(["DateTime"])],
  ];
}

function mismatchOf(comparison: Comparison, { types, isWhole }: Sample): string | undefined {
  const { property, operator, literal, type } = comparison;
  const found = types.get(property);
  if (found === undefined) {
    const other = similarName(property, [...types.keys()]);
    const rows = isWhole ? "its rows" : "its first rows";
    return other && `${rows} have the property ${other}, and not ${property}.`;
  }
  const [forbidden] = isKey(property) ? (/[/\\#?]/.exec(literal) ?? []) : [];
  if (forbidden !== undefined && operator === "eq")
    return `no key contains ${forbidden}. Keys that escapeKey() made are compared with escapeKey(text).`;
  if (type === undefined || isTrueForOtherTypes(operator)) return undefined;
  if ([...found].some((stored) => isComparable(stored, type))) return undefined;
  // JavaScript's numbers become Int32 or Double by their value, so that later rows may differ.
  if (!isWhole && [...found].some((stored) => isNumeric(stored) && isNumeric(type)))
    return undefined;
  const [stored] = found as Set<EdmTypes>;
  if (stored === undefined) return undefined;
  const place = isWhole ? "" : "in its first rows, ";
  const [, number] = isNumeric(stored) ? (/^'(-?\d+)'$/.exec(literal) ?? []) : [];
  const advice =
    number === undefined ? `Write ${stored} as ${examples[stored]}` : `Write ${number}`;
  return `${place}${property} is of type ${stored}, and ${shortened(literal)} of type ${type}. ${advice}.`;
}

const isKey = (property: string) => property === "PartitionKey" || property === "RowKey";

// Returns the name that differs only in case and separators; otherwise the only one that differs in
// one letter, or in two neighbouring ones that are swapped.
function similarName(property: string, names: readonly string[]): string | undefined {
  const folded = fold(property);
  const same = names.find((name) => fold(name) === folded);
  if (same !== undefined || folded.length < 4 || /\d/.test(folded)) return same; // tag1, tag2
  const close = names.filter((name) => isMisspelled(folded, fold(name)));
  return close.length === 1 ? close[0] : undefined;
}

// Whether one letter is missing, added or different, or two neighbouring ones are swapped.
function isMisspelled(a: string, b: string): boolean {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  if (restA.slice(1) === restB || restA === restB.slice(1)) return true;
  if (restA.slice(1) === restB.slice(1)) return true;
  const swapped = `${restA[1] ?? ""}${restA[0] ?? ""}${restA.slice(2)}`;
  return swapped === restB;
}

// Returns the comparisons of a property with a literal. Returns none if `not` occurs, because one
// that is false may then be what makes the filter true.
function comparisonsIn(filter: string, table: string): Comparison[] {
  const tokens = filterTokens(filter);
  if (tokens.some(({ kind, text }) => kind === "word" && text === "not")) return [];
  return tokens.flatMap(({ kind, text: operator }, i) => {
    const [left, right] = [tokens[i - 1], tokens[i + 1]];
    if (kind !== "word" || !comparisonOperators.has(operator)) return [];
    if (left?.kind === "word" && right?.kind === "literal")
      return comparison(table, left.text, operator, right.text);
    if (left?.kind === "literal" && right?.kind === "word")
      return comparison(table, right.text, mirrored[operator] ?? operator, left.text);
    return [];
  });
}

function comparison(
  table: string,
  property: string,
  operator: string,
  literal: string,
): Comparison[] {
  if (property.length > nameUnitsMax) return [];
  const type = typeOfLiteral(literal);
  return [{ key: `${table}\n${property} ${operator} ${type}`, property, operator, literal, type }];
}

const mirrored: Readonly<Record<string, string>> = { gt: "lt", ge: "le", lt: "gt", le: "ge" };

// A value of another type is less than any literal (core/filter/GRAMMAR.md).
function isTrueForOtherTypes(operator: string): boolean {
  return operator === "ne" || operator === "lt" || operator === "le";
}

function isComparable(stored: EdmTypes, literal: EdmTypes): boolean {
  if (stored === literal) return true;
  if (stored === "Int64") return literal === "Int32";
  return stored === "Double" && (literal === "Int32" || literal === "Int64");
}

function isNumeric(type: EdmTypes): boolean {
  return type === "Int32" || type === "Int64" || type === "Double";
}

const quotedTypes: Readonly<Record<string, EdmTypes>> = {
  "": "String",
  datetime: "DateTime",
  guid: "Guid",
  X: "Binary",
  x: "Binary",
  binary: "Binary",
};

function typeOfLiteral(literal: string): EdmTypes | undefined {
  const [, prefix] = /^(\w*)'/.exec(literal) ?? [];
  if (prefix !== undefined) return quotedTypes[prefix];
  if (literal === "true" || literal === "false") return "Boolean";
  if (/^-?\d+[Ll]$/.test(literal)) return "Int64";
  return /^-?\d+$/.test(literal) ? "Int32" : "Double";
}

const examples: Readonly<Record<EdmTypes, string>> = {
  String: "'text'",
  Binary: "X'0a1b'",
  Boolean: "true",
  DateTime: "datetime'2008-07-10T00:00:00Z'",
  Double: "1.5",
  Guid: "guid'a455c695-df98-5678-aaaa-81d3367e5a34'",
  Int32: "31",
  Int64: "31L",
};
