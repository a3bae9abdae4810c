// Assigns each sample of a profile to a component of entitable. If the storage code is anywhere on
// the stack, that is the component. Otherwise it is the topmost module or group of files on the
// stack.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Protocol } from "puppeteer-core";
import { type CpuProfile, type Share, sharesOf } from "./profile-shares.ts";
import { libraryFolder } from "./site.ts";
import { startClock } from "./timing.ts";

type Frame = Protocol.Runtime.CallFrame;

// In the order of the table.
export const componentNames = [
  "module",
  "encoding",
  "decoding",
  "client",
  "host and queue",
  "storing",
  "garbage collection",
  "browser",
  "benchmark",
  "waiting",
] as const;
type Component = (typeof componentNames)[number];

const storing = /\/storage\/|\/host\/(segment-writer|checkpointer)\./;
const components: readonly (readonly [name: Component, source: RegExp])[] = [
  ["module", /^wasm:|\.wasm$/],
  ["encoding", /\/client\/(request-encoder|message-writer|property-(names|writer))\./],
  [
    "decoding",
    /\/client\/(response-(decoder|text)|message-reader|page-decoder|row-shapes|binary-values)\./,
  ],
  ["host and queue", /\/dist\/(host|tabs|wasm|util\/byte-arena)\b/],
  ["client", /\/dist\//],
  ["benchmark", /\/page\.js$|\/peers\//],
];

export const componentShares = (profiles: readonly CpuProfile[]): Share[] =>
  sharesOf(profiles, componentsIn);

function componentsIn({ nodes }: CpuProfile): Map<number, Component> {
  const above = new Map(nodes.flatMap(({ id, children = [] }) => children.map((c) => [c, id])));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const names = new Map<number, Component>();
  for (const { id } of nodes) {
    const stack: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = above.get(at)) {
      stack.push(frames.get(at) as Frame);
    }
    if (!stack.some(startsClock)) names.set(id, componentOf(stack));
  }
  return names;
}

// The time that the browser needs to start a profile is itself in the profile.
const startsClock = ({ functionName }: Frame) => functionName === startClock.name;

// Returns the component of a stack whose innermost frame comes first.
function componentOf(stack: readonly Frame[]): Component {
  const { functionName = "" } = stack[0] ?? {};
  if (functionName === "(idle)") return "waiting";
  if (functionName === "(garbage collector)") return "garbage collection";
  // V8 may show calls that it inlined into their caller as calls by a getter, if it inlined a
  // getter too. Such frames are ignored.
  const sources = stack.filter((frame) => !frame.functionName.startsWith("get ")).map(sourceOf);
  if (sources.some((source) => storing.test(source))) return "storing";
  for (const source of sources) {
    const component = components.find(([, its]) => its.test(source));
    if (component !== undefined) return component[0];
  }
  return "browser";
}

// Returns the source file of a function. Comments in the bundles mark where each file begins
// (site.ts).
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
