// Profiles a step by Chrome's CPU profiler. Only what the step's clock measures is profiled
// (timing.ts).

import type { Protocol } from "puppeteer-core";
import { shortName } from "../support/callgrind.ts";
import { componentShares } from "./components.ts";
import { type CpuProfile, type Share, sharesOf } from "./profile-shares.ts";
import { startClock } from "./timing.ts";

export interface Profile {
  components: Share[]; // shares of entitable's components in the whole time
  functions: Share[]; // shares of functions in the time that was not idle
}

export interface Profiled {
  devtools(method: string, params?: object): Promise<unknown>;
  // Returns the profiles that console.profile() has created in the page since the last call.
  takeProfiles(): Promise<CpuProfile[]>;
}

const shown = 14;
const idle = new Set(["(idle)", startClock.name]);

// Runs `work` and profiles the main thread. Returns no profile if `work` did not start a clock.
export async function profiled<T>(
  runner: Profiled,
  work: () => Promise<T>,
): Promise<{ value: T; profile?: Profile }> {
  await runner.devtools("Profiler.enable");
  await runner.devtools("Profiler.setSamplingInterval", { interval: 100 });
  const value = await work();
  await runner.devtools("Profiler.disable"); // its response comes after the profiles
  const profiles = await runner.takeProfiles();
  if (profiles.length === 0) return { value };
  const functions = sharesOf(profiles, functionsIn).slice(0, shown);
  return { value, profile: { components: componentShares(profiles), functions } };
}

function functionsIn({ nodes }: CpuProfile): Map<number, string> {
  const busy = nodes.filter(({ callFrame: { functionName } }) => !idle.has(functionName));
  return new Map(busy.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
}

function nameOf({ functionName, url }: Protocol.Runtime.CallFrame): string {
  const file = url.slice(url.lastIndexOf("/") + 1);
  if (file === "page.js") return "(the benchmark itself)";
  if (functionName === "") return `(anonymous in ${file})`;
  const wasm = url.startsWith("wasm:") || url.endsWith(".wasm");
  return wasm ? shortName(functionName) : functionName;
}
