// Reads golden files as tests/support/golden.h does: cases of input text with their expected
// results. Each character represents one byte of the file, so that bytes are compared.

import { readFileSync } from "node:fs";

export interface GoldenCase {
  line: number; // the line of its first input line, from 1
  input: string;
  expected: string;
}

// `path` is relative to tests/testdata.
export function goldenCases(path: string): GoldenCase[] {
  const text = readFileSync(new URL(`../../testdata/${path}`, import.meta.url), "latin1");
  const lines = text.replace(/\n$/, "").split("\n");
  const parting = lines.includes("---") ? "---" : "";
  const cases: GoldenCase[] = [];
  let begin = 0;
  for (let end = 0; end <= lines.length; ++end) {
    if (end < lines.length && lines[end] !== parting) continue;
    const found = caseOf(lines, begin, end);
    if (found !== undefined) cases.push(found);
    begin = end + 1;
  }
  return cases;
}

// Returns the case between two lines. Returns undefined if there are only comments.
function caseOf(lines: readonly string[], begin: number, end: number): GoldenCase | undefined {
  const isAround = (line: string | undefined) => line === "" || line?.startsWith("#");
  while (begin < end && isAround(lines[begin])) ++begin;
  while (begin < end && lines[end - 1] === "") --end;
  if (begin === end) return undefined;
  const own = lines.slice(begin, end);
  const marked = own.findIndex((line) => line.startsWith("=>"));
  const at = marked < 0 ? own.length : marked;
  const expected = own.slice(at).map((line) => line.slice(3));
  return { line: begin + 1, input: own.slice(0, at).join("\n"), expected: expected.join("\n") };
}
