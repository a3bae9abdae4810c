// Tasks of the commit queue for a new owner: which calls of a client are known, and applying
// deferred writes again.

import type { RepeatedWrites } from "../transport.ts";
import type { Durability } from "../types.ts";
import { type Engine, type KnownCalls, PartsNeeded, type StagedResponses } from "../wasm/engine.ts";

// A group that needs more parts than this is divided, so that they fit in memory.
export const partsPerGroup = 64;

// A task is staged alone, and has one response.
export interface QueueTask {
  readonly durability: Durability;
  // "stageAndPublish": also publishes what it stages.
  readonly stage: (how: "stage" | "stageAndPublish") => StagedResponses | PartsNeeded;
  readonly resolve: () => void; // called when it is staged and published
  readonly taskBytes?: () => number; // the size of the messages that it stages
  // Whether what it has staged must be stored with strict durability, although it is deferred.
  readonly isStrict?: () => boolean;
}

const noResponse = new Uint8Array();

export function knownCallsTask(
  engine: Pick<Engine, "knownCalls">,
  client: Uint8Array,
  resolve: (known: KnownCalls) => void,
): QueueTask {
  let known: KnownCalls = { numbers: [], droppedThrough: 0 };
  return {
    durability: "deferred",
    stage() {
      known = engine.knownCalls(client);
      return { responses: [noResponse], failed: [true], onlyDeletes: [false], changes: false };
    },
    resolve: () => resolve(known),
  };
}

// Applies the first of the requests: as many as need few parts, at least one.
export function repeatTask(
  { engine, now }: { engine: Pick<Engine, "stage" | "stageAndPublish">; now(): number },
  requests: readonly Uint8Array[],
  resolve: (repeated: RepeatedWrites) => void,
): QueueTask {
  let first = requests;
  let repeated: RepeatedWrites = { responses: [], failed: [] };
  const stage = (how: "stage" | "stageAndPublish"): StagedResponses | PartsNeeded => {
    const staged = engine[how](first, now());
    if (staged instanceof PartsNeeded) {
      if (staged.ids.length <= partsPerGroup || first.length === 1) return staged;
      first = first.slice(0, Math.ceil(first.length / 2));
      return stage(how);
    }
    repeated = staged;
    const { changes } = staged;
    return { responses: [noResponse], failed: [!changes], onlyDeletes: [false], changes };
  };
  return {
    durability: "deferred",
    stage,
    resolve: () => resolve(repeated),
    taskBytes: () => first.reduce((sum, { length }) => sum + length, 0),
  };
}
