// `entitable serve` in a process of its own.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { ServerCalls } from "./server.ts";

export interface Requests {
  readonly all: number;
  readonly batches: number;
  readonly preflights: number;
  readonly pages: number; // of queries
  readonly responseBytes: number;
}

export class BenchServer {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ hasFeed = false } = {}): Promise<BenchServer> {
    const child = fork(new URL("server.ts", import.meta.url), hasFeed ? ["--feed"] : []);
    await once(child, "message");
    return new BenchServer(child);
  }

  async call<N extends keyof ServerCalls>(
    name: N,
    ...args: Parameters<ServerCalls[N]>
  ): Promise<Awaited<ReturnType<ServerCalls[N]>>> {
    this.#child.send([name, args]);
    const [[result]] = await once(this.#child, "message");
    return result;
  }

  /** Returns the requests since an earlier time. */
  async requestsSince(before: Requests): Promise<Requests> {
    const now = await this.call("requests");
    return {
      all: now.all - before.all,
      batches: now.batches - before.batches,
      preflights: now.preflights - before.preflights,
      pages: now.pages - before.pages,
      responseBytes: now.responseBytes - before.responseBytes,
    };
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }
}
