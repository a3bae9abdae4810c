// Finds the imports of a module. The package includes the code of es-module-lexer (web/build.mjs).

import { init, parse } from "es-module-lexer/minimal";

export interface Import {
  /** The module's name; undefined if only running the code would tell. */
  readonly from: string | undefined;
  /** The range of the statement, or of the expression import(…), in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /**
   * The range of the module's name: without quotes in a statement, with quotes in an expression.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly isStatement: boolean;
}

/** Returns the imports in source order. Rejects with SyntaxError. */
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
