// Computes shares of time from CPU profiles.

import type { Protocol } from "puppeteer-core";

export type CpuProfile = Protocol.Profiler.Profile;

export interface Share {
  name: string;
  percent: number;
}

// Returns the share of each name, the largest first. `namesOf` gives the names of a profile's
// nodes; the time of a node without a name does not count.
export function sharesOf(
  profiles: readonly CpuProfile[],
  namesOf: (profile: CpuProfile) => ReadonlyMap<number, string>,
): Share[] {
  const times = new Map<string, number>();
  let total = 0;
  for (const profile of profiles) {
    const { samples = [], timeDeltas = [] } = profile;
    const names = namesOf(profile);
    for (const [i, id] of samples.entries()) {
      const name = names.get(id);
      if (name === undefined) continue;
      const micros = timeDeltas[i + 1] ?? 0; // until the next sample
      times.set(name, (times.get(name) ?? 0) + micros);
      total += micros;
    }
  }
  return [...times]
    .map(([name, micros]) => ({ name, percent: (100 * micros) / total }))
    .sort((a, b) => b.percent - a.percent);
}
