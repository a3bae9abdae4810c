// node tests/sync/simulate.ts [--from SEED] [--seeds N] [--every N] [--duration MS] [--trace]
//                             [--engine]
//
// Runs simulations, and prints one JSON object with what they did: how many seeds and steps, a hash
// of all traces, and the first failure. --trace prints the last lines of the trace of the failure.
// --every 13 tries each thirteenth seed: from 11, these are the ones in which the remote may have a
// feed of changes. --duration is the simulated time until writers and accidents end (2,500 by
// default): shorter simulations try more conditions in as many steps. --engine makes each commit in
// the real engine, too (engine-mirror.ts).

import { parseArgs } from "node:util";
import { EnginePool } from "./engine-mirror.ts";
import { simulate } from "./simulation.ts";

const { values } = parseArgs({
  options: {
    from: { type: "string", default: "1" },
    seeds: { type: "string", default: "100" },
    every: { type: "string", default: "1" },
    duration: { type: "string" },
    trace: { type: "boolean", default: false },
    engine: { type: "boolean", default: false },
  },
});
const from = Number(values.from);
const every = Number(values.every);
const durationMs = values.duration === undefined ? undefined : Number(values.duration);
const linesShown = 400;

const total: Record<string, number> = {};
let hash = 0;
let failure: { seed: number; message: string } | undefined;
let seed = from;
for (; seed < from + every * Number(values.seeds) && failure === undefined; seed += every) {
  const lines: string[] = [];
  const pool = values.engine ? await EnginePool.open() : undefined;
  try {
    const onTrace = values.trace ? (line: string) => lines.push(line) : undefined;
    const result = await simulate(seed, { onTrace, mirrorOf: pool?.mirrorOf, durationMs });
    for (const [name, value] of Object.entries(result)) total[name] = (total[name] ?? 0) + value;
    hash = (Math.imul(hash, 31) + result.hash) >>> 0;
  } catch (error) {
    failure = {
      seed,
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
    for (const line of lines.slice(-linesShown)) console.error(line);
  } finally {
    pool?.close();
  }
}
console.log(JSON.stringify({ seeds: (seed - from) / every, ...total, hash, failure }));
process.exitCode = failure ? 1 : 0;
