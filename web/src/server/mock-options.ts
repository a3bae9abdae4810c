// Parses the command-line options of a mock server.

import { isDelay } from "../testing/delay.ts";
import type { Delay, Latency, MockOptions, Throttle } from "../testing/types.ts";
import { UsageError } from "./usage-error.ts";

export const mockOptionNames = [
  "seed",
  "clock",
  "faults",
  "latency",
  "throttle",
  "empty-pages",
  "scans",
];

export type MockServerOptions = Pick<
  MockOptions,
  "seed" | "clock" | "latency" | "throttle" | "emptyPages" | "scans"
>;

type Text = (name: string) => string | undefined;

// Returns the options of a mock server. Throws UsageError if one is invalid.
export function parseMockOptions(text: Text): MockServerOptions {
  const seed = text("seed");
  const latency = text("latency");
  const throttle = text("throttle");
  const emptyPages = text("empty-pages");
  const scans = text("scans");
  const clock = clockOf(text("clock") ?? (seed === undefined ? "system" : undefined));
  if (seed !== undefined && !(/^\d{1,10}$/.test(seed) && Number(seed) < 2 ** 32)) {
    throw new UsageError(`--seed must be a number from 0 to 4294967295, not ${seed}.`);
  }
  if (throttle !== undefined && clock !== Date) {
    throw new UsageError("--throttle needs a running clock: add --clock system.");
  }
  if (emptyPages !== undefined && !(isNumber(emptyPages) && Number(emptyPages) <= 1)) {
    throw new UsageError(`--empty-pages must be a probability from 0 to 1, not ${emptyPages}.`);
  }
  if (scans !== undefined && scans !== "azure") {
    throw new UsageError(`--scans must be azure, not ${scans}.`);
  }
  return {
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(clock === undefined ? {} : { clock }),
    ...(latency === undefined ? {} : { latency: latencyOf(latency) }),
    ...(throttle === undefined ? {} : { throttle: throttleOf(throttle) }),
    ...(emptyPages === undefined ? {} : { emptyPages: Number(emptyPages) }),
    ...(scans === undefined ? {} : { scans }),
  };
}

function clockOf(clock: string | undefined): MockServerOptions["clock"] {
  if (clock === undefined) return undefined;
  if (clock === "system") return Date;
  if (!Number.isNaN(Date.parse(clock))) return clock;
  throw new UsageError(`--clock must be a time or system, not ${clock}.`);
}

function latencyOf(text: string): Latency {
  if (text === "cloud") return text;
  const [, lognormal, low = "", high] =
    /^(lognormal:)?(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?$/.exec(text) ?? [];
  const [least, most] = [Number(low), Number(high ?? low)];
  const delay: Delay =
    lognormal !== undefined
      ? { lognormal: { median: least, p99: most } }
      : high === undefined
        ? least
        : [least, most];
  if (low !== "" && isDelay(delay)) return delay;
  throw new UsageError(
    `--latency must be milliseconds (20), a range (20-80), lognormal:20-200 or cloud, not ${text}.`,
  );
}

function throttleOf(text: string): Throttle | "azure" {
  if (text === "azure") return text;
  const [, partition = "", account = ""] = /^(\d+),(\d+)$/.exec(text) ?? [];
  if (Number(partition) >= 1 && Number(account) >= 1) {
    return { partitionOpsPerSecond: Number(partition), accountOpsPerSecond: Number(account) };
  }
  throw new UsageError(`--throttle must be azure, or two numbers such as 2000,20000, not ${text}.`);
}

function isNumber(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}
