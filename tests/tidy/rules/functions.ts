// Limits the length of functions. The recorded maximum may only decrease.

import { matching, type Repository } from "../repository.ts";

export const recordFile = "tests/tidy/longest-functions.json";

const areas: ReadonlyArray<[name: string, path: RegExp]> = [
  ["core", /^core\/.*\.(h|cc)$/],
  ["bindings", /^bindings\/.*\.(h|cc)$/],
  ["web", /^web\/src\/.*\.ts$/],
  ["demo", /^demo\/.*\/src\/.*\.tsx?$/],
];

/**
 * Reports a function that is longer than the recorded maximum. If all functions are shorter, asks
 * to lower the recorded number.
 */
export function longestFunctionsDoNotGrow(repository: Repository): string[] {
  const record = JSON.parse(repository.text.get(recordFile) ?? "{}");
  return areas.flatMap(([area, pattern]) => {
    const longest = [...matching(repository, pattern)]
      .map(([path, text]) => longestFunction(path, text))
      .reduce((a, b) => (b.lines > a.lines ? b : a), { lines: 0, where: area });
    const allowed = record[area] ?? 0;
    if (longest.lines > allowed) {
      return [`${longest.where}: ${longest.lines} lines; the longest of ${area} had ${allowed}`];
    }
    return longest.lines < allowed
      ? [`${recordFile}: the longest of ${area} has only ${longest.lines} lines now: write that`]
      : [];
  });
}

export interface Longest {
  readonly lines: number;
  readonly where: string;
}

/**
 * Returns the longest function of a C++ or TypeScript file. A function's length is counted from the
 * first line of its declaration to its closing brace.
 */
export function longestFunction(path: string, text: string): Longest {
  let longest: Longest = { lines: 0, where: path };
  for (const { head, from, to } of blocks(withoutCommentsAndStrings(text))) {
    if (opensFunction(head) && to - from + 1 > longest.lines) {
      longest = { lines: to - from + 1, where: `${path}:${from}` };
    }
  }
  return longest;
}

interface Block {
  readonly head: string; // the text before the brace, back to the end of the last statement
  readonly from: number;
  readonly to: number;
}

function* blocks(code: string): Generator<Block> {
  const open: Array<{ head: string; from: number; parentheses: number }> = [];
  let start = 0; // start of the current statement
  let parentheses = 0;
  const lineAt = lineCounter(code);
  for (let at = 0; at < code.length; at++) {
    const char = code[at];
    if (char === "(") parentheses++;
    else if (char === ")") parentheses--;
    else if (char === "{") {
      const head = code.slice(start, at);
      const from = lineAt(start + head.search(/\S|$/));
      open.push({ head: head.trim(), from, parentheses });
      parentheses = 0;
    } else if (char === "}") {
      const block = open.pop();
      if (block) yield { head: block.head, from: block.from, to: lineAt(at) };
      parentheses = block?.parentheses ?? 0;
    }
    if ((char === ";" && parentheses === 0) || char === "{" || char === "}") start = at + 1;
  }
}

const nonFunctionBlock =
  /^(\w+: ?|export |default |abstract |declare |inline |typedef |constexpr )*(namespace|class|struct|union|enum|interface|type|extern|switch|if|for|while|else|catch|import)\b/;

function opensFunction(head: string): boolean {
  if (nonFunctionBlock.test(head)) return false;
  return /(=>|\)( (const|noexcept|override|mutable))*( -> [^()]+|: [^()=]+)?)$/.test(head);
}

/** Returns the text with the same lines, in which comments and strings are blank. */
function withoutCommentsAndStrings(code: string): string {
  const blank = (text: string) => text.replace(/[^\n]/g, " ");
  return code
    .replace(/(?<=\d)'(?=\d)/g, " ")
    .replace(
      /\/\/[^\n]*|\/\*.*?\*\/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/gs,
      blank,
    )
    .replace(/(?<=[=(,:]\s*)\/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\[])+\/[dgimsuvy]*/g, blank);
}

function lineCounter(text: string): (at: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (at) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
