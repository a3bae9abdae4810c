// A `fetch` with faults that can be switched on and off: for tests and demonstrations of what an
// application does while its network or its remote fails.

import { StoreError } from "../errors.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { randomGuid } from "../util/random.ts";

/**
 * "offline", "request-lost": the request is not sent, and fetch rejects with a TypeError.
 * "response-lost": the same after the remote has executed the request. "throttled": 429 with
 * Retry-After, and "server-error": 500; the request is not sent. "delayed": the request is sent
 * later, or meets another fault then.
 */
export type FetchFaultName =
  | "offline"
  | "request-lost"
  | "response-lost"
  | "throttled"
  | "server-error"
  | "delayed";

/** Which requests a fault applies to. */
export interface FetchFaultOptions {
  /** To so many requests; then it is switched off. Default: no limit. */
  times?: number;
  /** The probability, from 0 to 1, that it applies to a request. Default 1. */
  probability?: number;
}

export interface FetchFault {
  readonly name: FetchFaultName;
  /** How many more requests it applies to. 0: it is switched off. Infinity: no limit. */
  readonly remaining: number;
  readonly probability: number;
  /** How many requests it was applied to. */
  readonly hits: number;
}

export interface FetchFaults {
  /**
   * Switches a fault on for the next requests. If several faults are on, the first in the order of
   * `all` that applies to a request decides, but for "delayed", which is added. Throws StoreError
   * ValidationFailed.
   */
  on(name: FetchFaultName, options?: FetchFaultOptions): void;
  /** Switches a fault off, or all of them. Throws StoreError ValidationFailed. */
  off(name?: FetchFaultName): void;
  /** The faults as they are now, whether on or off. */
  all(): readonly FetchFault[];
  /**
   * Calls the listener soon after a fault was switched or applied. Returns a function that ends
   * this.
   */
  subscribe(listener: () => void): () => void;
}

export type FaultyFetch = typeof fetch & { readonly faults: FetchFaults };

export interface FaultyFetchOptions {
  /** What sends the requests. Default: the platform's. */
  fetch?: typeof fetch;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). Default: Math.random. */
  random?: () => number;
  /** How long "delayed" holds a request back, in milliseconds. Default 1,000. */
  delayMs?: number;
  /** The Retry-After of "throttled", in seconds. Default 1. */
  retryAfter?: number;
}

/**
 * Returns a `fetch` whose `faults` can be switched on and off while it is used, for example as
 * `remote.fetch` of startSync(). All are off at first. Throws StoreError ValidationFailed if an
 * option is invalid.
 */
export function faultyFetch(options: FaultyFetchOptions = {}): FaultyFetch {
  const { delayMs = 1000, random = Math.random, retryAfter = 1 } = options;
  requireWhole("delayMs", delayMs, 2 ** 31 - 1); // the most that setTimeout can wait
  requireWhole("retryAfter", retryAfter, Number.MAX_SAFE_INTEGER);
  const faults = new Switches(random);
  const send = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const signal = init?.signal ?? (input as Partial<Request>).signal ?? undefined;
    signal?.throwIfAborted();
    if (faults.applies("delayed")) await wait(delayMs, signal);
    if (faults.applies("offline")) throw networkError("offline");
    if (faults.applies("request-lost")) throw networkError("request-lost");
    if (faults.applies("throttled")) return throttledResponse(retryAfter);
    if (faults.applies("server-error")) return serverErrorResponse();
    const isLost = faults.applies("response-lost");
    const sender = options.fetch ?? globalThis.fetch; // called without `this`, as browsers demand
    const response = await sender(input, init);
    if (!isLost) return response;
    await response.body?.cancel().catch(() => {});
    throw networkError("response-lost");
  };
  return Object.assign(send as typeof fetch, { faults });
}

// ---- Responses -------------------------------------------------------------------------------

const simulated = "A fault of faultyFetch() simulates this error.";

const networkError = (name: FetchFaultName): TypeError =>
  new TypeError(`Failed to fetch. The fault "${name}" of faultyFetch() is switched on.`);

/** As Cosmos DB answers. Azure Table storage has 503 for this. */
const throttledResponse = (retryAfter: number): Response =>
  errorResponse(429, "Too Many Requests", "TooManyRequests", { "Retry-After": `${retryAfter}` });

const serverErrorResponse = (): Response =>
  errorResponse(500, "Internal Server Error", "InternalError", {});

// Not that of rest/error-response.ts, which bundlers would move to what every page loads.
function errorResponse(
  status: number,
  statusText: string,
  code: string,
  more: Readonly<Record<string, string>>,
): Response {
  const error = { code, message: { lang: "en-US", value: simulated } };
  const headers = {
    "Content-Type": "application/json",
    "x-ms-error-code": code,
    "x-ms-request-id": randomGuid(),
    ...more,
  };
  return new Response(JSON.stringify({ "odata.error": error }), { status, statusText, headers });
}

/** Rejects with the signal's reason if it aborts first. */
function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

// ---- Switches --------------------------------------------------------------------------------

/** In the order in which they decide. */
const names = [
  "delayed",
  "offline",
  "request-lost",
  "throttled",
  "server-error",
  "response-lost",
] as const satisfies readonly FetchFaultName[];

class Switches implements FetchFaults {
  readonly #random: () => number;
  readonly #faults = new Map<unknown, FetchFault>(
    names.map((name) => [name, { name, remaining: 0, probability: 1, hits: 0 }]),
  );
  readonly #listeners = new Set<() => void>();

  constructor(random: () => number) {
    this.#random = random;
  }

  on(name: FetchFaultName, options: FetchFaultOptions = {}): void {
    const { hits } = this.#known(name);
    const { probability = 1, times = Number.POSITIVE_INFINITY } = options;
    if (!(times >= 1) || (Number.isFinite(times) && !Number.isInteger(times)))
      throw invalid(`times must be a whole number of at least 1, not ${times}.`);
    if (!(probability >= 0 && probability <= 1))
      throw invalid(`probability must be from 0 to 1, not ${probability}.`);
    this.#set({ name, remaining: times, probability, hits });
  }

  off(name?: FetchFaultName): void {
    const faults = name === undefined ? this.all() : [this.#known(name)];
    for (const fault of faults) if (fault.remaining > 0) this.#set({ ...fault, remaining: 0 });
  }

  all(): readonly FetchFault[] {
    return [...this.#faults.values()];
  }

  subscribe(listener: () => void): () => void {
    const call = () => {
      if (this.#listeners.has(call)) listener();
    };
    this.#listeners.add(call);
    return () => this.#listeners.delete(call);
  }

  /** Returns whether the fault applies to the request that asks. Counts the request if so. */
  applies(name: FetchFaultName): boolean {
    const fault = this.#known(name);
    const { hits, probability, remaining } = fault;
    if (remaining === 0 || (probability < 1 && this.#random() >= probability)) return false;
    this.#set({ ...fault, remaining: remaining - 1, hits: hits + 1 });
    return true;
  }

  #set(fault: FetchFault): void {
    this.#faults.set(fault.name, Object.freeze(fault));
    for (const call of this.#listeners) inMicrotask(call); // their errors do not fail requests
  }

  #known(name: FetchFaultName): FetchFault {
    const fault = this.#faults.get(name);
    if (fault === undefined)
      throw invalid(`there is no fault ${String(name)}. There are ${names.join(", ")}.`);
    return fault;
  }
}

function requireWhole(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw invalid(`${name} must be a whole number from 0 to ${most}, not ${value}.`);
}

const invalid = (message: string): StoreError =>
  new StoreError("ValidationFailed", `faultyFetch: ${message}`);
