// The host of a mock store: wraps a LocalHost, and delays, fails and logs requests. This applies to
// RPC and REST requests alike.

import { AbortError, RestError, StoreError, TruncatedResponseError } from "../errors.ts";
import type { LocalHost } from "../host/local-host.ts";
import { isBodyPending } from "../rest/http-message.ts";
import type {
  ChangeListener,
  ChunkedFile,
  Host,
  ListenerConnection,
  RestoreCallOptions,
} from "../transport.ts";
import type {
  AbortSignalLike,
  Durability,
  RestoreReport,
  StoreEvents,
  StoreStats,
  StoreStatus,
  StoreWarning,
  VerifyReport,
} from "../types.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import type { ResponseOutcome, SimulatedError } from "../wasm/engine.ts";
import { type LatencyModel, sampleDelay } from "./delay.ts";
import { type FaultRules, faultHint, refusalOf } from "./fault-rules.ts";
import type { PageTruncation } from "./page-truncation.ts";
import type { RequestRecorder } from "./request-recorder.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { TemporaryRejections } from "./temporary-rejections.ts";
import type { FaultRule, LoggedRequest, NetworkFault } from "./types.ts";
import type { VirtualClock } from "./virtual-clock.ts";

const timeoutMs = 30_000;
const statusContinue = 100;
// After this many requests, yields to the event loop once, so that timers can stop a test that
// sends requests in a loop.
const requestsPerTurn = 256;

// The error codes by which clients recognize connection failures. The official client retries after
// them.
const networkCodes: Readonly<Record<NetworkFault, string>> = {
  offline: "ENOTFOUND",
  reset: "ECONNRESET",
  timeout: "ETIMEDOUT",
  "timeout-after-commit": "ETIMEDOUT",
  truncate: RestError.PARSE_ERROR,
};

// The parts of a mock store.
export interface MockParts {
  account: string; // the name of the account that the store serves
  host: LocalHost;
  clock: VirtualClock;
  random: SeededRandom;
  faults: FaultRules;
  latency: LatencyModel;
  pageTruncation: PageTruncation;
  rejections: TemporaryRejections;
  scansAsService: boolean;
  log: RequestRecorder;
  onWarning: (warning: StoreWarning) => void;
}

interface CompletedRequest {
  response: Uint8Array;
  outcome: ResponseOutcome;
}

interface ActiveFault extends Pick<FaultRule, "network" | "respond"> {
  waitMs: number;
}

interface RequestContext {
  rows: Pick<LoggedRequest, "rowsRead" | "rowsReturned" | "partitionRead">; // filled in for the log
  pageFraction: number; // how much of a page is returned (PageTruncation.pageFraction)
}

export class MockHost implements Host {
  readonly #parts: MockParts;
  readonly #pendingDelays = new Set<AbortController>(); // each aborts the delay of one request
  #requestCount = 0;

  constructor(parts: MockParts) {
    this.#parts = parts;
  }

  get unobserved(): Host {
    return this.#parts.host;
  }

  // ---- Transport -------------------------------------------------------------------------------

  read(request: Uint8Array, signal?: AbortSignalLike): Promise<Uint8Array> {
    const copy = request.slice();
    return this.#intercept(copy, signal, (to) => this.#readNow("read", copy, to));
  }

  readHttp(request: Uint8Array, signal?: AbortSignalLike): Promise<Uint8Array> {
    const copy = request.slice();
    return isBodyPending(copy)
      ? this.#authorizeHead(copy, signal)
      : this.#intercept(copy, signal, (to) => this.#readNow("readHttp", copy, to));
  }

  // Delays, fails and logs a request whose body is pending only if it gets its final response now.
  // Otherwise this applies to the complete request that follows.
  async #authorizeHead(
    request: Uint8Array,
    signal: AbortSignalLike | undefined,
  ): Promise<Uint8Array> {
    const response = (await this.#parts.host.readHttp(request)).slice();
    const { status } = this.#parts.host.engineForMockHost.responseOutcome(request, response);
    if (status === statusContinue) return response;
    return await this.#intercept(request, signal, (to) => this.#readNow("readHttp", request, to));
  }

  write(
    request: Uint8Array,
    durability?: Durability,
    signal?: AbortSignalLike,
  ): Promise<Uint8Array> {
    const copy = request.slice();
    return this.#intercept(copy, signal, async () => {
      const response = this.#parts.host.write(copy, durability, signal);
      return response instanceof Promise ? await response : response.slice();
    });
  }

  now(): number {
    return this.#parts.host.now();
  }

  async #readNow(
    operation: "read" | "readHttp",
    request: Uint8Array,
    { rows, pageFraction }: RequestContext,
  ): Promise<Uint8Array> {
    const { host, scansAsService } = this.#parts;
    if (pageFraction < 1) host.engineForMockHost.truncatePages(pageFraction);
    if (scansAsService) host.engineForMockHost.emulateServiceScans(true);
    try {
      const answer = host[operation](request);
      if (answer instanceof Promise) return await answer;
      const response = answer.slice(); // a copy, because the next call may overwrite the response
      const { read, returned, partition } = host.engineForMockHost.lastReadRowCounts;
      rows.rowsRead = read;
      rows.rowsReturned = returned;
      if (partition !== undefined) rows.partitionRead = partition;
      return response;
    } finally {
      if (pageFraction < 1) host.engineForMockHost.truncatePages(1);
      if (scansAsService) host.engineForMockHost.emulateServiceScans(false);
    }
  }

  // ---- Faults and log --------------------------------------------------------------------------

  async #intercept(
    request: Uint8Array,
    signal: AbortSignalLike | undefined,
    perform: (to: RequestContext) => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    this.#requestCount += 1;
    const turns = this.#requestCount % requestsPerTurn === 0;
    const { host, clock, random, faults, latency, pageTruncation, rejections, log } = this.#parts;
    const info = host.engineForMockHost.describeRequest(request);
    // All random values are drawn at this point, so that they depend only on the order of the
    // requests.
    const fault = activeFaultFrom(faults.next(info), random);
    const latencyMs = latency.of(info.operation, random);
    const started = clock.now();
    const to: RequestContext = {
      rows: {},
      pageFraction: pageTruncation.pageFraction(info.operation, random),
    };
    const note = (outcome: { status?: number; code?: string }) => {
      const durationMs = clock.now() - started;
      log.add({ ...info, at: new Date(started), durationMs, ...outcome, ...to.rows });
    };
    const performWithinLimits = async () => {
      const refusal = rejections.countAndCheck(info);
      if (refusal !== undefined) return this.#errorOutcome(request, refusal);
      const done = this.#completed(request, await perform(to));
      rejections.onRequestEnded(info, done.outcome.code !== undefined);
      return done;
    };
    try {
      if (latencyMs > 0) await this.#wait(latencyMs, signal);
      const { response, outcome } = await this.#performWithFault(
        request,
        fault,
        signal,
        performWithinLimits,
      );
      note(outcome);
      return response;
    } catch (error) {
      const { code = "AbortError" } = error as { code?: string };
      note({ code });
      throw error;
    } finally {
      // Yields only after the request, so that requests take effect in the order of the calls.
      if (turns) await yieldToEventLoop();
    }
  }

  async #performWithFault(
    request: Uint8Array,
    fault: ActiveFault | undefined,
    signal: AbortSignalLike | undefined,
    perform: () => Promise<CompletedRequest>,
  ): Promise<CompletedRequest> {
    if (fault === undefined) return await perform();
    const { network, respond, waitMs } = fault;
    if (network === "timeout-after-commit") await perform();
    if (waitMs > 0) await this.#wait(waitMs, signal);
    if (network === "truncate") throw truncatedResponseError(await perform());
    if (network !== undefined) throw networkError(network);
    if (respond === undefined) return await perform();
    return this.#errorOutcome(request, refusalOf(respond));
  }

  #errorOutcome(request: Uint8Array, refusal: SimulatedError): CompletedRequest {
    return this.#completed(
      request,
      this.#parts.host.engineForMockHost.makeErrorResponse(request, refusal, this.now()),
    );
  }

  #completed(request: Uint8Array, response: Uint8Array): CompletedRequest {
    return {
      response,
      outcome: this.#parts.host.engineForMockHost.responseOutcome(request, response),
    };
  }

  async #wait(ms: number, signal: AbortSignalLike | undefined): Promise<void> {
    if (signal?.aborted) throw new AbortError();
    const wait = new AbortController();
    const abort = () => wait.abort(new AbortError());
    this.#pendingDelays.add(wait);
    signal?.addEventListener("abort", abort);
    try {
      await this.#parts.clock.wait(ms, wait.signal);
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#pendingDelays.delete(wait);
    }
  }

  // ---- The rest is the host's ------------------------------------------------------------------

  // Live queries and the change feed are no requests of the service: they are neither delayed nor
  // failed nor logged.
  listen(listener: ChangeListener): ListenerConnection {
    return this.#parts.host.listen(listener);
  }
  get status(): StoreStatus {
    return this.#parts.host.status;
  }
  flush(): Promise<void> {
    return this.#parts.host.flush();
  }
  stats(): Promise<StoreStats> {
    return this.#parts.host.stats();
  }
  verify(): Promise<VerifyReport> {
    return this.#parts.host.verify();
  }
  compact(): Promise<void> {
    return this.#parts.host.compact();
  }
  snapshotChunks(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    return this.#parts.host.snapshotChunks();
  }
  restore(file: ChunkedFile, options?: RestoreCallOptions): Promise<RestoreReport> {
    return this.#parts.host.restore(file, options);
  }
  on<K extends keyof StoreEvents>(event: K, listener: (event: StoreEvents[K]) => void): () => void {
    return this.#parts.host.on(event, listener);
  }
  // Closes the host. Delayed requests reject immediately, because the clock may never advance
  // again.
  close(): Promise<void> {
    for (const wait of this.#pendingDelays) {
      wait.abort(new StoreError("StoreClosed", "The store is closed."));
    }
    return this.#parts.host.close();
  }
}

function activeFaultFrom(
  rule: FaultRule | undefined,
  random: SeededRandom,
): ActiveFault | undefined {
  if (rule === undefined) return undefined;
  const isTimeout = rule.network === "timeout" || rule.network === "timeout-after-commit";
  return { ...rule, waitMs: sampleDelay(rule.delayMs ?? (isTimeout ? timeoutMs : 0), random) };
}

function networkError(fault: NetworkFault): RestError {
  return new RestError(messageOf(fault), { code: networkCodes[fault], hint: faultHint });
}

// Returns the error of a truncated response. A response without a body cannot be truncated: the
// client sees a lost connection.
function truncatedResponseError({ response, outcome }: CompletedRequest): TruncatedResponseError {
  const code = outcome.status === 204 ? networkCodes.reset : networkCodes.truncate;
  return new TruncatedResponseError(messageOf("truncate"), response, { code, hint: faultHint });
}

function messageOf(fault: NetworkFault): string {
  return `The network failed, as a fault rule says: ${fault}.`;
}
