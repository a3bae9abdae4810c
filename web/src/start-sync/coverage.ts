// How far a table of the store is known to have what the remote has.

import { scanState } from "../sync/scan-state.ts";
import type { SyncStore } from "../sync/store.ts";
import { overlapMsDefault, scanSince } from "../sync/watermark.ts";
import { rangesKnown } from "../sync-session/ranges.ts";
import type { TableSettings } from "./options.ts";
import type { SyncCoverage } from "./types.ts";

export interface CoverageOptions {
  readonly table: string;
  readonly store: SyncStore;
  readonly settings: TableSettings;
  /** By the wall clock, in milliseconds. */
  readonly now: number;
}

/** Reads only how far each key range was read, so it costs little. */
export async function coverageOf(options: CoverageOptions): Promise<SyncCoverage> {
  const { now, settings, store, table } = options;
  const { maxAgeMs, partitions } = settings;
  const states = await store.read((view) =>
    rangesKnown(view, partitions).map((range) => scanState(view, range)),
  );
  // Changes before the watermark can become visible later, so the next scan begins before it.
  const overlapMs = await store.read((view) => view.get("overlap", "ms") ?? overlapMsDefault);
  const known = states.flatMap(({ watermark }) => scanSince(watermark, overlapMs) ?? []);
  const compared = states.flatMap(({ comparedAt = Number.NaN }) =>
    now - comparedAt >= 0 && now - comparedAt <= maxAgeMs ? comparedAt : [],
  );
  return {
    table,
    changesUntil: known.length === states.length ? dateOf(smallest(known)) : undefined,
    comparedShare: compared.length / states.length,
    comparedSince: compared.length > 0 ? new Date(Math.min(...compared)) : undefined,
  };
}

const smallest = (ticks: readonly bigint[]): bigint => ticks.reduce((a, b) => (a < b ? a : b));

const dateOf = (ticks: bigint): Date => new Date(Number(ticks / 10_000n));
