// Finds the imports of a module, with es-module-lexer, which the package includes (web/build.mjs).

import { init, parse } from "es-module-lexer/minimal";

export interface ModuleImport {
  /** The name of the imported module; undefined if it is computed at run time. */
  readonly from: string | undefined;
  /** The range of the statement, or of the expression import(…), in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /**
   * The range of the imported name: without its quotes in a statement, with them in an expression.
   */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly isStatement: boolean;
}

/** Returns the imports in source order. Rejects with SyntaxError if the code cannot be parsed. */
export async function findImports(code: string): Promise<ModuleImport[]> {
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
