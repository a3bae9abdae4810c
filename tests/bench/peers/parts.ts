// Which part of entitable the moments of a profile belong to: the storage and whatever it calls, or else the module or those files of the
// package that stand next above on the stack. As shares of what is neither idle nor the benchmark itself.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Protocol } from "puppeteer-core";
import { type Share, sharesOf } from "./shares.ts";
import { libraryFolder } from "./site.ts";

type Frame = Protocol.Runtime.CallFrame;

const storing = /\/storage\/|\/host\/(segment-writer|checkpointer)\./;
// Without a name: it does not count.
const parts: readonly (readonly [name: string | undefined, source: RegExp])[] = [
  ["module", /^wasm:|\.wasm$/],
  ["encoding", /\/client\/block-encode\./],
  ["decoding", /\/client\/block-decode\./],
  ["host and queue", /\/dist\/(host|tabs|wasm|slab)\b/],
  ["client", /\/dist\//],
  [undefined, /\/page\.js$|\/peers\//],
];

export function partsOf(profile: Protocol.Profiler.Profile): Share[] {
  const { nodes } = profile;
  const above = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const names = new Map<number, string>();
  for (const { id } of nodes) {
    const stack: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = above.get(at)) {
      stack.push(frames.get(at) as Frame);
    }
    const part = partOf(stack);
    if (part !== undefined) names.set(id, part);
  }
  return sharesOf(profile, names);
}

// Of a stack, its innermost frame first. Undefined: idle, or the benchmark itself.
function partOf(stack: readonly Frame[]): string | undefined {
  const { functionName = "" } = stack[0] ?? {};
  if (functionName === "(idle)") return undefined;
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
