// The clock of this platform.

import type { Clock } from "../sync-session/clock.ts";
import { randomGuid } from "../util/random.ts";

export const platformClock: Clock = {
  now: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  token: () => randomGuid(),
};
