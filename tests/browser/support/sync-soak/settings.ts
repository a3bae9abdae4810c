// The settings of a soak, which environment variables can change.

import type { Fault } from "../../../web/support/fault-proxy.ts";

const { env } = process;

export const seed = Number(env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
const minutes = Number(env["ENTITABLE_MINUTES"] ?? 0.4);
const kills = Number(env["ENTITABLE_KILLS"] ?? 2);
const kinds = env["ENTITABLE_FAULTS"]?.split(",") as Fault[] | undefined;

/** Of a soak by two browsers and a process of Node. */
export const soakSettings = {
  seed,
  minutes,
  kills,
  ...(kinds && { kinds, percent: 5 }),
  log: (line: string) => void process.stdout.write(`${line}\n`),
};

export const timeout = 1_200_000 + 3 * minutes * 60_000 + kills * 30_000;
