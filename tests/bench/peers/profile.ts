// Where the time of a step goes: Chrome's CPU profile, as shares of what was not idle.

import type { Protocol } from "puppeteer-core";
import { shortName } from "../support/callgrind.ts";
import { partsOf } from "./parts.ts";
import { type Share, sharesOf } from "./shares.ts";

export interface Profile {
  parts: Share[]; // of entitable
  functions: Share[];
}

const shown = 14;

// Of the main thread that `devtools` is about.
export async function profiled<T>(
  devtools: (method: string, params?: object) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<{ value: T; profile: Profile }> {
  await devtools("Profiler.enable");
  await devtools("Profiler.setSamplingInterval", { interval: 100 });
  await devtools("Profiler.start");
  const value = await work();
  const { profile } = (await devtools("Profiler.stop")) as Protocol.Profiler.StopResponse;
  return { value, profile: { parts: partsOf(profile), functions: functionsOf(profile) } };
}

function functionsOf(profile: Protocol.Profiler.Profile): Share[] {
  const named = profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)] as const);
  const busy = named.filter(([, name]) => name !== "(idle)");
  return sharesOf(profile, new Map(busy)).slice(0, shown);
}

function nameOf({ functionName, url }: Protocol.Runtime.CallFrame): string {
  const file = url.slice(url.lastIndexOf("/") + 1);
  if (file === "page.js") return "(the benchmark itself)";
  if (functionName === "") return `(anonymous in ${file})`;
  const wasm = url.startsWith("wasm:") || url.endsWith(".wasm");
  return wasm ? shortName(functionName) : functionName;
}
