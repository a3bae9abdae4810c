// Asks the application about a conflict.

import type { Resolve as PlannerResolve } from "../sync/context.ts";
import { entityOf, propertiesOf } from "./entities.ts";
import type { Resolve } from "./types.ts";

/** Rejects if the application's function fails, or returns no answer: the write is then parked. */
export function resolver(table: string, resolve: Resolve): PlannerResolve {
  return async ({ key, base, local, remote }) => {
    const answer = await resolve({
      table,
      base: entityOf(key, base),
      local: entityOf(key, local),
      remote: entityOf(key, remote?.properties),
    });
    if (answer === "delete") return { kind: "store", properties: undefined };
    if (answer === "remote" || answer === "local" || answer === "park") return { kind: answer };
    const known = [local, remote?.properties, base];
    return { kind: "store", properties: propertiesOf(key, answer, known) };
  };
}
