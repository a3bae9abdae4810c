import assert from "node:assert/strict";
import { PartsNeeded } from "../../../web/src/wasm/engine.ts";

// Returns the response of an engine that has all parts in memory.
export function assertLoaded<T>(answer: T | PartsNeeded): T {
  assert(!(answer instanceof PartsNeeded), "parts are not loaded");
  return answer;
}
