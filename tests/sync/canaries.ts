// node tests/sync/canaries.ts [--seeds N] [--only NAME] [--search]
//
// Runs simulations of each mutant until one finds that an invariant is broken which the mutant
// breaks: first with the seed that is recorded for the mutant, and then from seed 1. Prints one
// JSON object for each mutant. --search ignores the recorded seeds.

import { parseArgs } from "node:util";
import { Violation } from "./ledger.ts";
import { loadMutant } from "./mutant-loader.ts";
import { type Mutant, mutants } from "./mutants.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    only: { type: "string" },
    search: { type: "boolean", default: false },
  },
});

for (const mutant of mutants) {
  if (values.only !== undefined && values.only !== mutant.name) continue;
  const found = await firstFailure(mutant);
  console.log(JSON.stringify({ name: mutant.name, ...found }));
  if (found === undefined) process.exitCode = 1;
}

async function firstFailure({ name, breaks, seed: recorded }: Mutant) {
  const { simulate } = await loadMutant(name);
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  for (const seed of values.search ? seeds : [recorded, ...seeds]) {
    try {
      await simulate(seed);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // The mutant's own Violation class is another instance of the same class.
      if ((error as Error).constructor.name !== Violation.name) throw error;
      if (breaks.includes(message.split(":")[0] ?? "")) return { seed, message };
    }
  }
  return undefined;
}
