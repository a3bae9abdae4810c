// Shares of the time that a CPU profile tells of.

import type { Protocol } from "puppeteer-core";

export interface Share {
  name: string;
  percent: number;
}

// By the names of its nodes, the largest first. The time of a node that has none does not count.
export function sharesOf(
  { samples = [], timeDeltas = [] }: Protocol.Profiler.Profile,
  names: ReadonlyMap<number, string>,
): Share[] {
  const times = new Map<string, number>();
  let total = 0;
  samples.forEach((id, i) => {
    const name = names.get(id);
    if (name === undefined) return;
    const micros = timeDeltas[i + 1] ?? 0; // until the next sample
    times.set(name, (times.get(name) ?? 0) + micros);
    total += micros;
  });
  return [...times]
    .map(([name, micros]) => ({ name, percent: (100 * micros) / total }))
    .sort((a, b) => b.percent - a.percent);
}
