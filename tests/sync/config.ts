// The conditions of one simulation, all drawn from its seed. Each feature is on in some of the
// seeds only, so that features also meet without the others.

import type { Scheduler } from "./scheduler.ts";
import type { Profile } from "./weak-table.ts";

export interface Config {
  readonly profile: Profile;
  readonly isFilled: boolean; // the table has rows before the first client
  readonly policy: "remote" | "merge" | "local" | "resolve";
  readonly hasReceipts: boolean;
  readonly partitions: readonly string[];
  readonly rowKeys: number;
  readonly clients: number;
  readonly skewMs: number; // ε
  readonly visibleMs: number; // δ
  readonly overlapMs: number;
  readonly lateMs: number;
  readonly sendWithinMs: number;
  readonly settleMs: number;
  readonly staleReadMs: number;
  readonly pageRows: number;
  readonly operationsMax: number;
  readonly pushesAtOnce: number;
  readonly ranges: number; // 0: each process has others
  readonly filter: "none" | "local" | "sent";
  readonly fewDeletes: number;
  readonly hasDate: boolean;
  readonly repeats: boolean;
  readonly poisons: boolean;
  readonly hasFeed: boolean; // of changes
  /** Partitions are read as a whole. "small": only if not much has changed in them. */
  readonly consistent: "no" | "whole" | "small";
  readonly undoes: boolean; // users undo what they wrote
  readonly deletesPairs: boolean; // two rows, that are only written together
  /** "small" rejects batches of more than two operations, "picky" those with certain values. */
  readonly proxy: "none" | "small" | "picky";
  readonly portals: boolean; // now and then, a captive portal answers instead of the remote
  readonly dropsTable: boolean;
  readonly narrowsScope: boolean;
  readonly expires: boolean;
  readonly clockJumps: boolean;
  readonly zombies: boolean;
  readonly freezes: boolean;
  readonly keepsParked: boolean;
  readonly storageFails: boolean;
  readonly restores: boolean;
  readonly unloads: boolean; // parts of the store are not in memory
  /** The remote is slower or more skewed than the overlap allows. */
  readonly breaksBounds: boolean;
  readonly crashMs: number; // between two crashes of a client, at most
  readonly durationMs: number; // until users, other writers and accidents end
}

const policies = ["remote", "merge", "local", "resolve"] as const;

export function drawConfig(scheduler: Scheduler, seed: number, durationMs = 2500): Config {
  const chance = (probability: number) => scheduler.chance(probability);
  const below = (n: number) => scheduler.below(n);
  const profile: Profile = chance(0.6) ? "azure" : chance(0.4) ? "azurite" : "cosmos";
  const skewMs = chance(0.3) ? below(120) : below(6);
  const visibleMs = 1 + (chance(0.3) ? below(150) : below(12));
  const lateMs = chance(0.5) ? 200 : 500;
  const breaksBounds = chance(0.1);
  const overlapMs = breaksBounds ? below(visibleMs) : visibleMs + 2 * skewMs + 2;
  return {
    profile,
    isFilled: chance(0.3),
    policy: policies[seed % policies.length] ?? "remote",
    hasReceipts: Math.floor(seed / policies.length) % 2 === 1,
    partitions: ["p", "q"],
    rowKeys: 6,
    clients: 2 + below(2),
    skewMs,
    visibleMs,
    overlapMs,
    lateMs,
    sendWithinMs: 30,
    settleMs: lateMs + visibleMs + 1,
    staleReadMs: profile === "cosmos" ? 1 + below(30) : 0,
    pageRows: 1 + below(4),
    operationsMax: 2 + below(3),
    pushesAtOnce: 1 + below(2),
    ranges: below(4),
    filter: chance(0.7) ? "none" : chance(0.5) ? "local" : "sent",
    fewDeletes: chance(0.7) ? 50 : 1,
    hasDate: chance(0.5),
    repeats: chance(0.2),
    poisons: chance(0.2),
    // Not drawn, so that all other seeds still give the same events, also those of mutants.
    hasFeed: profile === "azure" && seed % 13 === 11 && seed % 7 !== 1,
    consistent: seed % 17 === 9 ? "whole" : seed % 17 === 16 ? "small" : "no",
    undoes: seed % 11 === 9,
    deletesPairs: seed % 17 === 5 && seed % 11 !== 9, // an undone half of a pair is a half
    proxy: chance(0.8) ? "none" : chance(0.5) ? "small" : "picky",
    portals: chance(0.2),
    dropsTable: chance(0.1),
    narrowsScope: chance(0.15),
    expires: chance(0.15),
    clockJumps: chance(0.2),
    zombies: chance(0.35),
    freezes: chance(0.2),
    keepsParked: chance(0.2),
    storageFails: chance(0.2),
    restores: chance(0.15),
    unloads: chance(0.3),
    breaksBounds,
    crashMs: chance(0.4) ? 250 : 1000,
    durationMs,
  };
}
