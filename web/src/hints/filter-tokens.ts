// Splits a $filter into tokens as core/filter/lexer does.

export interface FilterToken {
  readonly kind: "word" | "literal" | "symbol";
  readonly text: string;
  readonly from: number; // offset in UTF-16 units
  readonly to: number; // where it ends
  readonly followsBlank: boolean;
}

const part = "[\\p{L}\\p{Nl}\\p{Nd}\\p{Mn}\\p{Mc}\\p{Pc}\\p{Cf}]";
const quotedPrefix = "datetimeoffset|datetime|duration|geography|geometry|binary|guid|time|[Xx]";
const literal = [
  `(?:${quotedPrefix})?'(?:[^']|'')*(?:'|$)`,
  `-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?(?:[LlDdMmFf](?!${part}))?`,
  `-?(?:INF|Infinity)(?!${part})`,
  `(?:true|false|null|NaN)(?!${part})`,
].join("|");
const token = new RegExp(
  `([ \\t\\r\\n]*)(?:(${literal})|([\\p{L}\\p{Nl}_]${part}*)|([^ \\t\\r\\n]))`,
  "gu",
);

/** Returns the tokens. A string without its closing quote extends to the end. */
export function filterTokens(filter: string): FilterToken[] {
  return Array.from(filter.matchAll(token), (match) => {
    const [all, blank, literal, word, symbol] = match;
    const to = match.index + all.length;
    const text = literal ?? word ?? symbol ?? "";
    const kind = literal !== undefined ? "literal" : word !== undefined ? "word" : "symbol";
    return { kind, text, from: to - text.length, to, followsBlank: blank !== "" };
  });
}

export const comparisonOperators: ReadonlySet<string> = new Set("eq ne gt ge lt le".split(" "));

export const infixOperators: ReadonlySet<string> = new Set(
  "eq ne gt ge lt le and or add sub mul div mod".split(" "),
);
