// Which part of entitable the moments of a profile belong to: the storage and whatever it calls, or else the module or those files of the
// package that stand next above on the stack. As shares of what is neither idle nor the benchmark itself.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Protocol } from "puppeteer-core";
import type { Share } from "./profile.ts";
import { libraryFolder } from "./site.ts";

type Frame = Protocol.Runtime.CallFrame;

const idle = "idle";
const benchmark = "benchmark";
const storing = /\/storage\/|\/host\/(segment-writer|checkpointer)\./;
const parts: readonly (readonly [name: string, source: RegExp])[] = [
  ["module", /^wasm:|\.wasm$/],
  ["encoding", /\/client\/block-encode\./],
  ["decoding", /\/client\/block-decode\./],
  ["host and queue", /\/dist\/(host|tabs|wasm|slab)\b/],
  ["client", /\/dist\//],
  [benchmark, /\/page\.js$|\/peers\//],
];

export function partsOf({ nodes, samples = [], timeDeltas = [] }: Protocol.Profiler.Profile) {
  const above = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const partOfNode = new Map<number, string>();
  for (const { id } of nodes) {
    const stack: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = above.get(at)) {
      stack.push(frames.get(at) as Frame);
    }
    partOfNode.set(id, partOf(stack));
  }
  const times = new Map<string, number>();
  samples.forEach((id, i) => {
    const part = partOfNode.get(id) as string;
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[i + 1] ?? 0)); // until the next sample
  });
  times.delete(idle);
  times.delete(benchmark);
  const total = [...times.values()].reduce((sum, micros) => sum + micros, 0);
  return [...times]
    .map(([name, micros]): Share => ({ name, percent: (100 * micros) / total }))
    .sort((a, b) => b.percent - a.percent);
}

// Of a stack, its innermost frame first.
function partOf(stack: readonly Frame[]): string {
  const { functionName = "" } = stack[0] ?? {};
  if (functionName === "(idle)") return idle;
  if (functionName === "(garbage collector)") return "garbage collection";
  const sources = stack.map(sourceOf);
  if (sources.some((source) => storing.test(source))) return "storing";
  for (const source of sources) {
    const part = parts.find(([, its]) => its.test(source));
    if (part !== undefined) return part[0];
  }
  return "browser";
}

// The file that a function is of. Bundles say in a comment where each of theirs begins (site.ts).
function sourceOf({ url, lineNumber }: Frame): string {
  if (!url.includes("/library/") || !url.endsWith(".js")) return url;
  const starts = startsIn(basename(url));
  return starts.findLast(({ line }) => line <= lineNumber)?.file ?? url;
}

interface Start {
  line: number;
  file: string;
}

const known = new Map<string, Start[]>();

function startsIn(bundle: string): Start[] {
  let starts = known.get(bundle);
  if (starts === undefined) {
    const lines = readFileSync(`${libraryFolder}/${bundle}`, "utf8").split("\n");
    starts = lines.flatMap((text, line) => {
      const file = /^\/\/ (.*\.m?js)$/.exec(text)?.[1];
      return file === undefined ? [] : { line, file };
    });
    known.set(bundle, starts);
  }
  return starts;
}
