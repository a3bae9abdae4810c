// Splits code into tokens for syntax highlighting. Knows JavaScript, TypeScript, JSON and shell
// commands. For any input, the joined tokens equal the input.

export type HighlightTokenKind = "comment" | "string" | "number" | "keyword" | "plain";

export interface HighlightToken {
  readonly kind: HighlightTokenKind;
  readonly text: string;
}

const keywords =
  "as async await break case catch class const continue default delete do else export extends " +
  "finally for from function if import in instanceof interface let new null of return static " +
  "switch this throw true false try type typeof undefined using var void while yield";

const grammar = new RegExp(
  [
    /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(?<=^|\s)# [^\n]*)/,
    /(?<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\[\s\S])*`?)/,
    /(?<number>\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?n?\b)/,
    new RegExp(`(?<![.\\w$])(?<keyword>${keywords.replaceAll(" ", "|")})(?![\\w$])`),
  ]
    .map((part) => part.source)
    .join("|"),
  "g",
);

/** Splits code into tokens. The joined tokens equal `code`. */
export function highlight(code: string): HighlightToken[] {
  const tokens: HighlightToken[] = [];
  let done = 0;
  for (const match of code.matchAll(grammar)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0];
    if (match.index > done) tokens.push({ kind: "plain", text: code.slice(done, match.index) });
    tokens.push({ kind: kind as HighlightTokenKind, text: match[0] });
    done = match.index + match[0].length;
  }
  if (done < code.length) tokens.push({ kind: "plain", text: code.slice(done) });
  return tokens;
}
