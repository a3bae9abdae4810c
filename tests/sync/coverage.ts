// Which blocks of the planner's code a test has run. Start it before the code is imported.

import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";

export class Coverage {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Returns the first line of each block that has not run, as `file:line: text`. */
  async uncovered(urls: readonly string[]): Promise<string[]> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    return urls.flatMap((url) => {
      const script = result.find((one) => one.url === url);
      return script ? uncoveredLines(url, script.functions) : [`${url}: not imported`];
    });
  }
}

// Node replaces types by spaces, so offsets are those of the source.
function uncoveredLines(url: string, functions: readonly Profiler.FunctionCoverage[]): string[] {
  const source = readFileSync(new URL(url), "utf8");
  const lines = source.split("\n");
  const name = url.slice(url.lastIndexOf("/") + 1);
  const blocks = functions.flatMap(({ ranges }) => ranges.filter(({ count }) => count === 0));
  const found = blocks
    .filter(({ startOffset, endOffset }) => /\w/.test(source.slice(startOffset, endOffset)))
    .map(({ startOffset }) => source.slice(0, startOffset).split("\n").length);
  return [...new Set(found)].map((line) => `${name}:${line}: ${lines[line - 1]?.trim()}`);
}
