import assert from "node:assert/strict";
import { PartsNeeded } from "../../../web/src/wasm/engine.ts";

// The answer of an engine that has everything in memory.
export function assertLoaded<T>(answer: T | PartsNeeded): T {
  assert(!(answer instanceof PartsNeeded), "parts are not loaded");
  return answer;
}
