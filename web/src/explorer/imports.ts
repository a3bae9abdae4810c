// Where the import statements of some code are. The package carries the library's code (web/build.mjs).

import { init, parse } from "es-module-lexer/minimal";

export interface Import {
  /** What is imported; undefined if it can't be known before it runs. */
  readonly from: string | undefined;
  /** Of the statement, or of the expression import(…). */
  readonly start: number;
  readonly end: number;
  /** Of the name of the module: in a statement without its quotes, in an expression with them. */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly isStatement: boolean;
}

/** Throws SyntaxError. */
export async function findImports(code: string): Promise<Import[]> {
  await init();
  const [found] = parse(code);
  return found
    .filter(({ d }) => d !== -2) // import.meta
    .map(({ n, ss, se, s, e, d }) => ({
      from: n,
      start: ss,
      end: se,
      nameStart: s,
      nameEnd: e,
      isStatement: d === -1,
    }));
}
