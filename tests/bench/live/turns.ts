// Measures kinds of work alternately, a turn of each at a time, so that other work on the machine
// affects all of them alike.

import type { MaybePromise } from "../peers/database-adapter.ts";
import { median, now, yieldToEventLoop } from "../peers/timing.ts";

export interface Kind {
  // What a turn needs; not measured.
  prepare?(): MaybePromise<unknown>;
  run(): MaybePromise<unknown>;
  // Ends what a turn has needed; not measured.
  finish?(): MaybePromise<unknown>;
}

// The microseconds of each kind in each turn.
export class Turns {
  readonly #times: readonly number[][];

  constructor(times: readonly number[][]) {
    this.#times = times;
  }

  median(kind: number): number {
    return median(this.#times.map((time) => time[kind] as number));
  }

  // Returns the median ratio of two kinds.
  ratio(kind: number, other: number): number {
    return median(this.#times.map((time) => (time[kind] as number) / (time[other] as number)));
  }

  // Returns the median difference of two kinds.
  difference(kind: number, other: number): number {
    return median(this.#times.map((time) => (time[kind] as number) - (time[other] as number)));
  }
}

// Ends after `turns` turns, or earlier after `enoughMs`. The first quarter of the turns is for
// warming up, and is not in the result.
export async function timedTurns(
  kinds: readonly Kind[],
  turns: number,
  enoughMs: number,
): Promise<Turns> {
  const times: number[][] = [];
  const began = now();
  for (let turn = 0; turn < turns; ++turn) {
    const time = kinds.map(() => 0);
    // Each second turn is in the opposite order.
    for (const k of turn % 2 === 0 ? [...kinds.keys()] : [...kinds.keys()].reverse()) {
      const kind = kinds[k] as Kind;
      await kind.prepare?.();
      const started = now();
      await kind.run();
      time[k] = (now() - started) * 1000;
      await kind.finish?.();
      await yieldToEventLoop();
    }
    times.push(time);
    if (now() - began > enoughMs && times.length >= 3) break;
  }
  return new Turns(times.slice(Math.ceil(times.length / 4)));
}
