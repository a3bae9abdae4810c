// `entitable serve` in a process of its own.

import type { ServerCalls } from "./server.ts";
import { ServerProcess } from "./server-process.ts";

export interface Requests {
  readonly all: number;
  readonly batches: number;
  readonly preflights: number;
  readonly pages: number; // of queries
  readonly responseBytes: number;
}

export class BenchServer extends ServerProcess<ServerCalls> {
  static async start({ hasFeed = false } = {}): Promise<BenchServer> {
    return new BenchServer(await ServerProcess.fork("server.ts", hasFeed ? ["--feed"] : []));
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
}
