// Hints for errors of a $filter (core/filter/GRAMMAR.md): what was expected, or what to write in
// place of a part that the service does not support.

import { prefixRange } from "../keys/range.ts";
import {
  comparisonOperators,
  type FilterToken,
  filterTokens,
  infixOperators,
} from "./filter-tokens.ts";
import { quoted, shortened, visibleCharacter } from "./text.ts";

const operand = "A property, a value or ( was expected";
const operator = "An operator (eq, ne, gt, ge, lt, le, and, or) or the end was expected";
const literalPrefixes: ReadonlySet<string> = new Set(["datetime", "guid", "binary"]);
const literalWords = ["true", "false", "NaN", "INF"];
const doubleQuotes = "Write a quote within a string twice: 'O''Brien'.";

// Operators of other languages, and what to write instead.
const otherOperators: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/^={1,3}/, "eq"],
  [/^(?:!==?|<>)/, "ne"],
  [/^>=/, "ge"],
  [/^<=/, "le"],
  [/^>/, "gt"],
  [/^</, "lt"],
  [/^&&?/, "and"],
  [/^\|\|?/, "or"],
  [/^!/, "not"],
];

// ---- Syntax errors ----------------------------------------------------------------------------

/** `position`: that of the message, just after the token that is not allowed. */
export function syntaxErrorHint(filter: string, position: number): string {
  const tokens = filterTokens(filter);
  const at = tokens.findIndex(({ to }) => to === position);
  const found = tokens[at];
  if (found === undefined) return endHint(tokens);
  if (isUnclosed(found))
    return `The string ${shortened(found.text)} is not closed. ${doubleQuotes}`;
  const before = tokens.slice(0, at);
  const previous = before.at(-1);
  if (previous !== undefined && lacksBlank(previous, found)) return blankHint(previous, found);
  const wantsOperand = expectsOperand(before, found);
  const isAllowed = wantsOperand ? canBeOperand(found) : canFollowOperand(found, before);
  if (isAllowed && at === tokens.length - 1) return endHint(tokens);
  const place = previous === undefined ? "" : ` after ${shortened(previous.text)}`;
  const expected = `${wantsOperand ? operand : operator}${place}, not ${described(found)}.`;
  return [expected, ...advice(filter, found, before, wantsOperand)].join(" ");
}

function endHint(tokens: readonly FilterToken[]): string {
  const last = tokens.at(-1);
  if (last === undefined || !expectsOperand(tokens)) return "A ) was expected at the end.";
  return `${operand} at the end, after ${shortened(last.text)}.`;
}

function blankHint(previous: FilterToken, found: FilterToken): string {
  const blank = `A blank was expected between ${shortened(previous.text)} and ${shortened(found.text)}.`;
  if (/^\d{4}$/.test(previous.text) && /^-\d\d/.test(found.text))
    return `${blank} Write a date as datetime'2020-01-31T00:00:00Z'.`;
  const prefix = previous.text.toLowerCase();
  if (found.text.startsWith("'") && literalPrefixes.has(prefix))
    return `${blank} Write ${prefix} in lower case.`;
  const isQuote = previous.text.endsWith("'") && !isOperator(found.text);
  return isQuote ? `${blank} ${doubleQuotes}` : blank;
}

// `wantsOperand`: whether an operand was expected in place of `found`.
function* advice(
  filter: string,
  found: FilterToken,
  before: readonly FilterToken[],
  wantsOperand: boolean,
): Generator<string> {
  const rest = filter.slice(found.from);
  const lower = found.text.toLowerCase();
  const [previous, beforePrevious] = [before.at(-1), before.at(-2)];
  const other = otherOperators.find(([pattern]) => pattern.test(rest));
  if (other !== undefined) yield `Write ${other[1]} for ${other[0].exec(rest)?.[0]}.`;
  else if (rest.startsWith('"')) yield "Write a string in single quotes: 'text'.";
  else if (isOperator(lower) && lower !== found.text) yield `Write ${lower} in lower case.`;
  else if (isComparison(found)) yield "Join comparisons with and.";
  else if (!wantsOperand && /^(?:%[\dA-F]{2}|\+\w)/i.test(rest))
    yield "Give the filter as it is, not encoded for a URL.";
  else if (previous !== undefined && isInfix(previous) && expectsOperand(before.slice(0, -1)))
    yield `Here, ${previous.text} is taken as the name of a property.`;
  else if (isComparison(beforePrevious) && previous?.kind === "word" && found.kind === "word")
    yield `Write a string in quotes: '${shortened(`${previous.text} ${found.text}`)}'.`;
}

function isUnclosed({ text }: FilterToken): boolean {
  const [, content] = /^\w*'(.*)$/s.exec(text) ?? [];
  return content !== undefined && !/^(?:[^']|'')*'$/.test(content);
}

function lacksBlank(previous: FilterToken, found: FilterToken): boolean {
  const separates = ({ text }: FilterToken) => text === "(" || text === ")" || text === ",";
  return !found.followsBlank && !separates(previous) && !separates(found) && previous.text !== "-"
    ? found.kind !== "symbol"
    : false;
}

// Returns whether an operand is expected after the tokens. `next`: the token that follows them.
function expectsOperand(tokens: readonly FilterToken[], next?: FilterToken): boolean {
  let expected = true;
  for (const [i, token] of tokens.entries()) {
    const following = tokens[i + 1] ?? next;
    if (token.text === "(" || token.text === ",") expected = true;
    else if (token.text === ")") expected = false;
    else if (!expected) expected = isInfix(token);
    else expected = token.text === "-" || token.text === "not" || isFunction(token, following);
  }
  return expected;
}

function canBeOperand({ kind, text }: FilterToken): boolean {
  return kind !== "symbol" || text === "(" || text === "-";
}

function canFollowOperand(token: FilterToken, before: readonly FilterToken[]): boolean {
  if (token.text === ")") return count(before, "(") > count(before, ")");
  return token.text === "," || isInfix(token);
}

function described({ kind, text }: FilterToken): string {
  return kind === "symbol" && !/^[!-~]$/.test(text) ? visibleCharacter(text) : shortened(text);
}

function count(tokens: readonly FilterToken[], symbol: string): number {
  return tokens.filter(({ kind, text }) => kind === "symbol" && text === symbol).length;
}

// ---- Parts that are not supported -------------------------------------------------------------

/** For NotImplemented: a filter that is legal, but not for this service. */
export function unsupportedFilterHint(filter: string): string {
  const tokens = filterTokens(filter);
  for (const [i, token] of tokens.entries()) {
    const [next, previous] = [tokens[i + 1], tokens[i - 1]];
    if (isFunction(token, next)) return functionHint(token.text, tokens.slice(i + 2));
    if (token.text === "not" && !isGrouped(next) && !isFunction(next, tokens[i + 2]))
      return "Write not before parentheses: not (name eq 'x').";
    if (isComparison(token) && previous?.kind === "word" && isName(next))
      return unquotedHint(previous.text, token.text, next.text);
    if (/^(?:add|sub|mul|div|mod|-)$/.test(token.text) && !isComparison(next))
      return "A filter cannot compute. Compute the value in your code, and compare with the result.";
  }
  return "A filter can only compare properties with values, and join comparisons with and, or and not ().";
}

function functionHint(name: string, parameters: readonly FilterToken[]): string {
  const none = `A filter has no functions, such as ${shortened(name)}.`;
  const [property, , literal] = parameters;
  if (
    name.toLowerCase() !== "startswith" ||
    property?.kind !== "word" ||
    literal?.kind !== "literal"
  )
    return `${none} Select the rows in your code, or store what you search for as a property.`;
  const prefix = literal.text.slice(1, -1).replaceAll("''", "'");
  if (shortened(property.text) !== property.text || shortened(prefix) !== prefix)
    return `${none} Use a range, which prefixRange() of entitable/keys computes.`;
  const { from, to } = prefixRange(prefix);
  const end = to === undefined ? "" : ` and ${property.text} lt ${literalOf(to)}`;
  const range = `${property.text} ge ${literalOf(from)}${end}`;
  return `${none} Use a range: ${range}. prefixRange(${quoted(prefix)}) of entitable/keys computes it.`;
}

// A property is compared with another one, which is probably a value that lacks something.
function unquotedHint(property: string, operation: string, text: string): string {
  const word = literalWords.find((known) => known.toLowerCase() === text.toLowerCase());
  const value = word ?? `'${shortened(text)}'`;
  const what = word === undefined ? "A string is in quotes" : "Write it exactly so";
  return `${shortened(text)} is taken as the name of a property. ${what}: ${shortened(property)} ${operation} ${value}.`;
}

// ---- Literals ---------------------------------------------------------------------------------

const forms: Readonly<Record<string, string>> = {
  "Edm.Int32": "Write a whole number beyond 32 bits with the suffix L, and beyond 64 bits with .0.",
  "Edm.Int64": "An Int64 is a whole number of 64 bits. Write a larger number with .0.",
  "Edm.Double": "A Double is at most 1.7976931348623157e308.",
  "Edm.DateTime": "Write a DateTime as datetime'2008-07-10T00:00:00Z', in the years 1601 to 9999.",
  "Edm.Guid": "Write a Guid as guid'a455c695-df98-5678-aaaa-81d3367e5a34'.",
  "Edm.Binary": "Write Binary as pairs of hexadecimal digits: X'0a1b'.",
};

/** `type`: the type that the message names. */
export function literalHint(type: string, literal: string): string {
  return `${shortened(literal)} is not a valid literal. ${forms[type] ?? "Correct it."}`;
}

/** For InvalidInput whose message does not name the cause: a literal that no property equals. */
export function invalidLiteralHint(filter: string): string | undefined {
  for (const { kind, text } of filterTokens(filter)) {
    if (kind !== "literal") continue;
    if (text === "null")
      return "No property has the value null: such properties are not stored. A comparison is false where the property is missing, so not (name ge '') selects the rows without the string name.";
    if (/^\d.*[MmFf]$/.test(text) || /^(?:time|datetimeoffset|duration|geo\w+)'/.test(text))
      return `No property has the type of ${shortened(text)}. Use Double (1.5), Int64 (1L) or datetime'…'.`;
  }
  return undefined;
}

/** For InvalidInput without another cause. */
export const invalidFilterHint =
  "A filter has at most 65,536 bytes, and at most 500 nested parentheses. Use several queries.";

// ---- Tokens -----------------------------------------------------------------------------------

function literalOf(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function isComparison(token: FilterToken | undefined): boolean {
  return token?.kind === "word" && comparisonOperators.has(token.text);
}

function isName(token: FilterToken | undefined): token is FilterToken {
  return token?.kind === "word" && token.text !== "not";
}

function isGrouped(token: FilterToken | undefined): boolean {
  return token === undefined || token.text === "(";
}

function isInfix({ kind, text }: FilterToken): boolean {
  return kind === "word" && infixOperators.has(text);
}

function isOperator(word: string): boolean {
  return infixOperators.has(word) || word === "not";
}

function isFunction(token: FilterToken | undefined, next: FilterToken | undefined): boolean {
  const isWord = token?.kind === "word" && !isOperator(token.text);
  return isWord && next?.text === "(" && !next.followsBlank;
}
