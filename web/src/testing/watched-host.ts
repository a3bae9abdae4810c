// Stands before the host of a store for tests: every request of every door comes by, is delayed or failed as the rules say, and is
// logged.

import { AbortError, RestError, StoreError, TruncatedReply } from "../errors.ts";
import { nextTurn } from "../event-loop.ts";
import type { LocalHost } from "../host/local-host.ts";
import type { Host, RestoreCall } from "../transport.ts";
import type {
  AbortSignalLike,
  Durability,
  RestoreReport,
  SnapshotSource,
  StoreEvents,
  StoreStats,
  StoreStatus,
  VerifyReport,
} from "../types.ts";
import type { Refusal, ReplyOutcome } from "../wasm/engine.ts";
import { draw, type Latencies } from "./delay.ts";
import { type FaultRules, refusalOf } from "./fault-rules.ts";
import type { PageCuts } from "./page-cuts.ts";
import type { Log } from "./request-log.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { ServiceLimits } from "./service-limits.ts";
import type { FaultRule, LoggedRequest, NetworkFault } from "./types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const timeoutMs = 30_000;
const requestsPerTurn = 256; // then the event loop turns: else a test that asks for ever could not be stopped by a timer

// The codes by which clients, the official one's retries among them, know what happened to a connection.
const networkCodes: Readonly<Record<NetworkFault, string>> = {
  offline: "ENOTFOUND",
  reset: "ECONNRESET",
  timeout: "ETIMEDOUT",
  "timeout-after-commit": "ETIMEDOUT",
  truncate: RestError.PARSE_ERROR,
};

// What a store for tests is made of.
export interface MockParts {
  host: LocalHost;
  clock: VirtualClock;
  random: SeededRandom;
  faults: FaultRules;
  latency: Latencies;
  cuts: PageCuts;
  limits: ServiceLimits;
  scansAsService: boolean;
  log: Log;
}

interface Answered {
  reply: Uint8Array;
  became: ReplyOutcome;
}

interface Struck extends Pick<FaultRule, "network" | "respond"> {
  waitMs: number;
}

interface Performing {
  rows: Pick<LoggedRequest, "rowsRead" | "rowsReturned" | "partitionRead">; // to be noted
  pageShare: number; // PageCuts.share
}

export class WatchedHost implements Host {
  readonly #o: MockParts;
  readonly #waits = new Set<AbortController>(); // of requests that are delayed
  #served = 0;

  constructor(parts: MockParts) {
    this.#o = parts;
  }

  // ---- Transport ------------------------------------------------------------------------------------------------------

  read(block: Uint8Array, signal?: AbortSignalLike): Promise<Uint8Array> {
    const kept = block.slice();
    return this.#watch(kept, signal, (to) => this.#readNow("read", kept, to));
  }

  handle(block: Uint8Array, signal?: AbortSignalLike): Promise<Uint8Array> {
    const kept = block.slice();
    return this.#watch(kept, signal, (to) => this.#readNow("handle", kept, to));
  }

  write(block: Uint8Array, durability?: Durability, signal?: AbortSignalLike): Promise<Uint8Array> {
    const kept = block.slice();
    return this.#watch(kept, signal, async () => {
      const reply = this.#o.host.write(kept, durability, signal);
      return reply instanceof Promise ? await reply : reply.slice();
    });
  }

  now(): number {
    return this.#o.host.now();
  }

  async #readNow(
    how: "read" | "handle",
    block: Uint8Array,
    { rows, pageShare }: Performing,
  ): Promise<Uint8Array> {
    const { host, scansAsService } = this.#o;
    if (pageShare < 1) host.watching.cutPages(pageShare);
    if (scansAsService) host.watching.readAsService(true);
    try {
      const answer = host[how](block);
      if (answer instanceof Promise) return await answer;
      const reply = answer.slice(); // before the next question: it may move
      const { read, returned, partition } = host.watching.lastRead;
      rows.rowsRead = read;
      rows.rowsReturned = returned;
      if (partition !== undefined) rows.partitionRead = partition;
      return reply;
    } finally {
      if (pageShare < 1) host.watching.cutPages(1);
      if (scansAsService) host.watching.readAsService(false);
    }
  }

  // ---- Faults and log -------------------------------------------------------------------------------------------------

  async #watch(
    block: Uint8Array,
    signal: AbortSignalLike | undefined,
    perform: (to: Performing) => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    this.#served += 1;
    const turns = this.#served % requestsPerTurn === 0;
    const { host, clock, random, faults, latency, cuts, limits, log } = this.#o;
    const request = host.watching.describe(block);
    // All of chance now, so that it depends on nothing but the order of the requests.
    const fault = struck(faults.next(request), random);
    const takesMs = latency.of(request.operation, random);
    const started = clock.now();
    const to: Performing = { rows: {}, pageShare: cuts.share(request.operation, random) };
    const note = (became: { status?: number; code?: string }) => {
      const durationMs = clock.now() - started;
      log.add({ ...request, at: new Date(started), durationMs, ...became, ...to.rows });
    };
    const performWithin = async () => {
      const refusal = limits.refusal(request);
      if (refusal !== undefined) return this.#refused(block, refusal);
      const done = this.#answered(block, await perform(to));
      limits.note(request, done.became.code !== undefined);
      return done;
    };
    try {
      if (takesMs > 0) await this.#wait(takesMs, signal);
      const { reply, became } = await this.#answer(block, fault, signal, performWithin);
      note(became);
      return reply;
    } catch (error) {
      const { code = "AbortError" } = error as { code?: string };
      note({ code });
      throw error;
    } finally {
      if (turns) await nextTurn(); // only now: requests have their effects in the order in which they are made
    }
  }

  async #answer(
    block: Uint8Array,
    fault: Struck | undefined,
    signal: AbortSignalLike | undefined,
    perform: () => Promise<Answered>,
  ): Promise<Answered> {
    if (fault === undefined) return await perform();
    const { network, respond, waitMs } = fault;
    if (network === "timeout-after-commit") await perform();
    if (waitMs > 0) await this.#wait(waitMs, signal);
    if (network === "truncate") throw truncated(await perform());
    if (network !== undefined) throw networkError(network);
    if (respond === undefined) return await perform();
    return this.#refused(block, refusalOf(respond));
  }

  #refused(block: Uint8Array, refusal: Refusal): Answered {
    return this.#answered(block, this.#o.host.watching.refuse(block, refusal, this.now()));
  }

  #answered(block: Uint8Array, reply: Uint8Array): Answered {
    return { reply, became: this.#o.host.watching.outcome(block, reply) };
  }

  async #wait(ms: number, signal: AbortSignalLike | undefined): Promise<void> {
    if (signal?.aborted) throw new AbortError();
    const wait = new AbortController();
    const giveUp = () => wait.abort(new AbortError());
    this.#waits.add(wait);
    signal?.addEventListener("abort", giveUp);
    try {
      await this.#o.clock.wait(ms, wait.signal);
    } finally {
      signal?.removeEventListener("abort", giveUp);
      this.#waits.delete(wait);
    }
  }

  // ---- The rest is the host's -----------------------------------------------------------------------------------------

  get status(): StoreStatus {
    return this.#o.host.status;
  }
  flush(): Promise<void> {
    return this.#o.host.flush();
  }
  stats(): Promise<StoreStats> {
    return this.#o.host.stats();
  }
  verify(): Promise<VerifyReport> {
    return this.#o.host.verify();
  }
  compact(): Promise<void> {
    return this.#o.host.compact();
  }
  snapshot(): Promise<Uint8Array> {
    return this.#o.host.snapshot();
  }
  restore(source: SnapshotSource, options?: RestoreCall): Promise<RestoreReport> {
    return this.#o.host.restore(source, options);
  }
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#o.host.on(event, listener);
  }
  // Requests that are delayed are refused at once, whatever the clock shows: nothing is left behind that would wait.
  close(): Promise<void> {
    for (const wait of this.#waits) {
      wait.abort(new StoreError("StoreClosed", "The store is closed."));
    }
    return this.#o.host.close();
  }
}

function struck(rule: FaultRule | undefined, random: SeededRandom): Struck | undefined {
  if (rule === undefined) return undefined;
  const isTimeout = rule.network === "timeout" || rule.network === "timeout-after-commit";
  return { ...rule, waitMs: draw(rule.delayMs ?? (isTimeout ? timeoutMs : 0), random) };
}

function networkError(fault: NetworkFault): RestError {
  return new RestError(messageOf(fault), { code: networkCodes[fault] });
}

// Where there is no body, nothing of the answer arrives.
function truncated({ reply, became }: Answered): TruncatedReply {
  const code = became.status === 204 ? networkCodes.reset : networkCodes.truncate;
  return new TruncatedReply(messageOf("truncate"), reply, code);
}

function messageOf(fault: NetworkFault): string {
  return `The network failed, as a fault rule says: ${fault}.`;
}
