// A small seeded random number generator (mulberry32).
export interface Random {
  below(n: number): number; // an integer, 0 .. n-1
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    below(n) {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
    },
  };
}
