// Defines tests that run in simulations, each with another order of events.

import { type TestContext, test } from "node:test";
import { Simulation, type SimulationOptions } from "./simulation.ts";

export const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);

const defaultOrders = process.env["ENTITABLE_ALL"] ? 50 : 4;

type Body<T> = (simulation: Simulation, t: TestContext) => Promise<T>;

export interface SimulatedTestOptions extends SimulationOptions {
  orders?: number; // how many simulations; the first has ENTITABLE_SEED, the next its successor, …
  ordersMax?: number; // at most so many, however many ENTITABLE_ROUNDS asks for
}

/**
 * Defines a test whose body runs once for each order of events. If one fails, prints the seed with
 * which the first order is the failed one, and the last events.
 */
export function simulatedTest(
  name: string,
  ...rest: [Body<void>] | [SimulatedTestOptions, Body<void>]
): void {
  const [{ orders = defaultOrders, ordersMax = Number.POSITIVE_INFINITY, ...options }, body] =
    rest.length === 2 ? rest : [{}, rest[0]];
  const wanted = Number(process.env["ENTITABLE_ROUNDS"] ?? orders);
  const count = options.isRandom === false ? 1 : Math.min(wanted, ordersMax);
  test(name, async (t) => {
    for (let order = 0; order < count; ++order) await simulate(t, seed + order, body, options);
  });
}

// Resolves to the result of `body` in one simulation.
export async function simulate<T>(
  t: TestContext,
  seedOfOrder: number,
  body: Body<T>,
  options: SimulationOptions = {},
): Promise<T> {
  const simulation = new Simulation(seedOfOrder, options);
  try {
    return await simulation.run(() => body(simulation, t));
  } catch (error) {
    t.diagnostic(`ENTITABLE_SEED=${seedOfOrder}`);
    const shown = Number(process.env["ENTITABLE_EVENTS"] ?? 20);
    for (const event of simulation.lastEvents.slice(-shown)) t.diagnostic(event);
    throw error;
  }
}
