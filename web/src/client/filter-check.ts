// Explains why a filter matched no row: a property is misspelled, or is compared with a value of
// another type. Only looks at a sample of the table, so it may find nothing.

import { fold } from "../hints/entity-rules.ts";
import { comparisonOperators, type FilterToken, filterTokens } from "../hints/filter-tokens.ts";
import { quoted, shortened } from "../hints/text.ts";
import { mapResponse, type Transport } from "../transport.ts";
import type { EdmTypes, StoreWarning } from "../types.ts";
import { RequestEncoder, ResponseDecoder } from "./rpc-codec.ts";

const sampleRows = 100;
const filtersMax = 1000; // checked per store; later ones are not, to bound memory and time

const checked = new WeakMap<Transport, Set<string>>();

// Types of each property of the sampled rows, by the name in filters.
type Types = ReadonlyMap<string, ReadonlySet<EdmTypes>>;

interface Comparison {
  property: string;
  operator: string;
  literal: string;
}

/** Checks a filter that matched no row; each filter once per store. */
export async function checkFilter(
  transport: Transport,
  table: string,
  filter: string | undefined,
  onWarning: ((warning: StoreWarning) => void) | undefined,
): Promise<void> {
  if (filter === undefined || onWarning === undefined) return;
  const known = checked.get(transport) ?? new Set();
  checked.set(transport, known);
  const key = `${table}\n${filter}`;
  if (known.has(key) || known.size >= filtersMax) return;
  known.add(key);
  const reason = mismatchOf(filter, await sampledTypes(transport.unobserved ?? transport, table));
  if (reason === undefined) return;
  const message = `The filter ${shortened(filter)} matches no row of ${quoted(table)}: ${reason}`;
  onWarning({ code: "FilterCannotMatch", message });
}

/** Checks the filter of an HTTP request, if its response has no row. */
export async function checkHttpFilter(
  transport: Transport,
  url: string,
  { headers, body }: { headers: readonly (readonly [string, string])[]; body: Uint8Array },
  onWarning: ((warning: StoreWarning) => void) | undefined,
): Promise<void> {
  const { pathname, searchParams } = new URL(url);
  const [, table] = /\/(\w+)(?:\(\))?$/.exec(pathname) ?? [];
  const filter = searchParams.get("$filter");
  if (table === undefined || table === "Tables" || filter === null) return;
  const isPartial = headers.some(([name]) => /^x-ms-continuation-/i.test(name));
  if (isPartial || !new TextDecoder().decode(body).endsWith('"value":[]}')) return;
  await checkFilter(transport, table, filter, onWarning);
}

async function sampledTypes(transport: Transport, table: string): Promise<Types> {
  const response = new RequestEncoder().query(table, { top: sampleRows }, (request) =>
    transport.read(request),
  );
  const { rows } = await mapResponse(response, (message) =>
    new ResponseDecoder().page(message, { disableTypeConversion: true }),
  );
  const types = new Map<string, Set<EdmTypes>>(rows.length === 0 ? [] : systemTypes());
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      const { type } = Object(value) as { type?: EdmTypes };
      if (type === undefined) continue; // a key, the timestamp or the ETag
      types.set(name, (types.get(name) ?? new Set()).add(type));
    }
  }
  return types;
}

function systemTypes(): [string, Set<EdmTypes>][] {
  return [
    ["PartitionKey", new Set(["String"])],
    ["RowKey", new Set(["String"])],
    ["Timestamp", new Set(["DateTime"])],
  ];
}

function mismatchOf(filter: string, types: Types): string | undefined {
  for (const comparison of comparisonsIn(filterTokens(filter))) {
    const { property, operator, literal } = comparison;
    const found = types.get(property);
    if (found === undefined) {
      const other = [...types.keys()].find((name) => fold(name) === fold(property));
      if (other !== undefined) return `its rows have the property ${other}, and not ${property}.`;
      continue;
    }
    const type = typeOfLiteral(literal);
    if (type === undefined || isTrueForOtherTypes(operator)) continue;
    if ([...found].some((stored) => isComparable(stored, type))) continue;
    const [stored] = found as Set<EdmTypes>;
    if (stored === undefined) continue;
    return `${property} is of type ${stored}, and ${shortened(literal)} of type ${type}. Write ${stored} as ${examples[stored]}.`;
  }
  return undefined;
}

// Returns the comparisons of a property with a literal.
function comparisonsIn(tokens: readonly FilterToken[]): Comparison[] {
  return tokens.flatMap(({ kind, text: operator }, i) => {
    const [left, right] = [tokens[i - 1], tokens[i + 1]];
    if (kind !== "word" || !comparisonOperators.has(operator)) return [];
    if (left?.kind === "word" && right?.kind === "literal")
      return [{ property: left.text, operator, literal: right.text }];
    if (left?.kind === "literal" && right?.kind === "word")
      return [
        { property: right.text, operator: mirrored[operator] ?? operator, literal: left.text },
      ];
    return [];
  });
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
