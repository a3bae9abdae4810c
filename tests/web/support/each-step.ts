// Tries a scenario once for each of its steps, as tests of crashes and faults do.

import type { TestContext } from "node:test";
import { seed } from "./simulated-test.ts";

const stride = process.env["ENTITABLE_ALL"] ? 1 : 3;

/**
 * Calls `run` with 1, 2, 3, … until it resolves to false, because there is no such step. Without
 * ENTITABLE_ALL, tries each third step, from one that ENTITABLE_SEED chooses. Resolves to the
 * number of steps, rounded.
 */
export async function eachStep(
  t: TestContext,
  run: (step: number) => Promise<boolean>,
): Promise<number> {
  let step = 1 + (seed % stride);
  t.diagnostic(`ENTITABLE_SEED=${seed}: every ${stride}. step, from ${step}`);
  while (await run(step)) step += stride;
  return step - stride;
}
