import assert from "node:assert/strict";
import { PartsNeeded } from "../../../web/src/wasm/engine.ts";

// Returns the result of an engine call. Fails if the call needs parts.
export function assertLoaded<T>(answer: T | PartsNeeded): T {
  assert(!(answer instanceof PartsNeeded), "parts are not loaded");
  return answer;
}
