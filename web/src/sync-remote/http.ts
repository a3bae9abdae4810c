// Sends HTTP requests to an account of the remote.

import type { Ticks } from "../sync/hidden-tables.ts";
import type { Platform } from "../sync/store.ts";
import { Authorizer, type CredentialSource } from "./authorization.ts";
import { NotSentError, sendBeforeOption, type TimedInit } from "./send-before.ts";
import { failureOf, serviceErrorOf } from "./service-error.ts";
import { TimeLimit } from "./time-limit.ts";
import { ticksOfHttpDate } from "./timestamp.ts";

export interface HttpOptions {
  /** The URL of the account, perhaps with a shared access signature. */
  readonly url: string;
  readonly credential?: CredentialSource | undefined;
  /** The header x-ms-version of all requests. Default: that of the credential. */
  readonly version?: string | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
  readonly now: Platform["now"];
  /** Called for each request that is sent. */
  readonly onSend?: (() => void) | undefined;
  /**
   * For a credential; until a response begins; and then until more of it arrives. Default 60 s. A
   * push has less, for all of it (http-remote.ts).
   */
  readonly timeoutMs?: number | undefined;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE" | "OPTIONS";
  /** After the account's URL, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** By the monotonic clock. Compared in the turn of the event loop that sends the request. */
  readonly sendBefore?: number;
  /** The most time until the end of the response, if it is less than that of all requests. */
  readonly timeoutMs?: number;
  /** Ends the request, and the body of its response. */
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly text: string;
  /** The shared access signature that the request had, or "". */
  readonly sas: string;
  /** The credential or the token that the request was made with. */
  readonly madeWith: object | undefined;
  /** The headers that can be read: a page needs the permission of the remote's CORS rules. */
  readonly headers: Headers;
  /** Whether the remote's CORS rules may hide headers. */
  readonly mayHideHeaders: boolean;
  readonly date: Ticks | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Undefined: there was no response, or no complete one. Perhaps the request was executed.
 * "notSent": its time had passed. "noCredential": there was no credential, so it was not sent.
 */
export type HttpResult = HttpResponse | "notSent" | "noCredential" | undefined;

/** The body of a response, as it arrives. */
export interface HttpStream {
  /** The shared access signature that the request had, or "". */
  readonly sas: string;
  /** Undefined: the body has ended, or nothing has arrived for too long. */
  read(): Promise<string | undefined>;
  /** Ends the connection: a read that waits returns undefined. */
  close(): void;
}

interface Sent {
  readonly response: Response;
  readonly limit: TimeLimit;
  readonly sas: string;
  readonly madeWith: object | undefined;
}

/** By which `entitable serve` announces its feed. */
const feedHeader = "x-entitable-changes";

const timeoutMsDefault = 60_000;
const firstPostMs = 2000;
const retryAfterMsMax = 300_000; // a proxy may send any time

/** Allowed in requests of a page without a preflight. */
const accept = "application/json;odata=minimalmetadata";

export class Http {
  readonly #options: HttpOptions;
  readonly #authorizer: Authorizer;
  /** Without "/" at the end. */
  readonly base: string;
  readonly #signature: string;
  #firstPost: Promise<HttpResult> | undefined;
  #isPostAnswered = false;
  /** The path of the remote's feed of changes, if the last response has announced one. */
  feedPath: string | undefined;
  /** Called with the shared access signature of each request that is sent, or "". */
  onSas: ((sas: string) => void) | undefined;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#authorizer = new Authorizer(options.credential);
    const { origin, pathname, search } = new URL(options.url);
    this.base = origin + pathname.replace(/\/$/, "");
    this.#signature = search.slice(1);
  }

  /** Asks for another credential before the next request, if the last one was rejected. */
  refresh(): void {
    this.#authorizer.refresh();
  }

  /** The credential of this response is not enough. */
  reject({ madeWith }: HttpResponse): void {
    this.#authorizer.reject(madeWith);
  }

  /** As it is in the URLs of requests now. Undefined: the credential is no signature. */
  get sas(): string | undefined {
    const { query } = this.#authorizer;
    return query === undefined ? undefined : this.#sasWith(query);
  }

  #sasWith(query: string): string {
    return [this.#signature, query].filter(Boolean).join("&");
  }

  /**
   * The first POST is answered before others are sent, or is waited for a while. A page may have to
   * ask the server first, and requests that are sent together would each ask.
   */
  async send(request: HttpRequest): Promise<HttpResult> {
    if (request.method !== "POST" || this.#isPostAnswered) return await this.#exchange(request);
    const first = this.#firstPost;
    if (first) await new TimeLimit(firstPostMs).race(first).catch(() => {});
    const post = this.#exchange(request);
    this.#firstPost ??= post;
    const result = await post;
    if (typeof result === "object") this.#isPostAnswered = true;
    else if (this.#firstPost === post) this.#firstPost = undefined;
    return result;
  }

  async #exchange(request: HttpRequest): Promise<HttpResult> {
    const { timeoutMs = timeoutMsDefault } = this.#options;
    const sent = await this.#send(request, Math.min(timeoutMs, request.timeoutMs ?? timeoutMs));
    return typeof sent === "object" ? await this.#receive(sent, request.timeoutMs) : sent;
  }

  /**
   * Resolves to the body of a response with status 200. It ends if nothing has arrived for
   * `silentMs`, or a little longer, while it was read.
   */
  async open(request: HttpRequest, silentMs: number): Promise<HttpStream | HttpResult> {
    const sent = await this.#send(request, silentMs, Number.POSITIVE_INFINITY);
    if (typeof sent !== "object") return sent;
    const { limit, response, sas } = sent;
    const reader = response.status === 200 ? response.body?.getReader() : undefined;
    if (reader === undefined) return await this.#receive(sent, undefined);
    limit.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}));
    const decoder = new TextDecoder();
    const read = async () => {
      if (limit.signal.aborted) return undefined;
      const { done, value } = await limit.read(() => reader.read());
      return done ? undefined : decoder.decode(value, { stream: true });
    };
    return { sas, read: () => read().catch(() => undefined), close: () => limit.end() };
  }

  async #send(
    request: HttpRequest,
    periodMs: number,
    periodsMax?: number,
  ): Promise<Sent | Exclude<HttpResult, HttpResponse>> {
    const { method, path, query = {}, headers = {}, body = null, sendBefore } = request;
    const { now, timeoutMs = timeoutMsDefault, version } = this.#options;
    const url = new URL(`${this.base}/${path}`);
    const authorized = this.#authorizer.authorize(url, now().wallMs);
    const added = await new TimeLimit(timeoutMs).race(authorized).catch(() => undefined);
    if (added === undefined) return "noCredential";
    try {
      const limit = new TimeLimit(periodMs, periodsMax);
      request.signal?.addEventListener("abort", () => limit.end());
      if (request.signal?.aborted) return undefined;
      const sas = this.#sasWith(added.query);
      url.search = [...queryTexts(query), sas].filter(Boolean).join("&");
      const init = {
        method,
        headers: {
          Accept: accept,
          ...headers,
          ...added.headers,
          ...(version && { "x-ms-version": version }),
        },
        body,
        // With "no-store", Chromium would not use its cache of preflights either.
        cache: method === "GET" ? "no-store" : "default",
        redirect: "manual", // a captive portal redirects
        signal: limit.signal,
        [sendBeforeOption]: sendBefore,
      } satisfies TimedInit;
      if (sendBefore !== undefined && now().monotonicMs >= sendBefore) return "notSent";
      this.#options.onSend?.();
      this.onSas?.(sas);
      const response = await limit.race((this.#options.fetch ?? fetch)(url, init));
      return { response, limit, sas, madeWith: added.madeWith };
    } catch (error) {
      return error instanceof NotSentError ? "notSent" : undefined;
    }
  }

  /** `timeoutMs`: of the request, if it is less than that of all requests. */
  async #receive(sent: Sent, timeoutMs: number | undefined): Promise<HttpResponse | undefined> {
    const { limit, response } = sent;
    try {
      const onProgress = () => timeoutMs ?? limit.progress();
      const text = await limit.race(textOf(response, onProgress));
      const received = this.#received(sent, text);
      const isError = received.status >= 400; // others may have large bodies
      if (isError && failureOf(received).kind === "unauthorized") this.reject(received);
      return received;
    } catch {
      return undefined;
    }
  }

  #received({ madeWith, response, sas }: Sent, text: string): HttpResponse {
    const { headers, status, type } = response;
    this.#noteFeed(headers.get(feedHeader), status);
    const date = ticksOfHttpDate(headers.get("Date") ?? "");
    const { wallMs } = this.#options.now();
    const serverMs = date === undefined ? wallMs : Number(date / 10_000n);
    if (status === 403 && serviceErrorOf(text)?.code === "AuthenticationFailed") {
      this.#authorizer.aheadMs = serverMs - wallMs;
    }
    const retryAfterMs = retryAfterMsOf(headers, serverMs);
    const mayHideHeaders = type === "cors";
    return { status, text, sas, madeWith, headers, mayHideHeaders, date, retryAfterMs };
  }

  /** A response without the header may be that of a proxy, unless it has what was asked for. */
  #noteFeed(path: string | null, status: number): void {
    if (path !== null && /^\w+$/.test(path)) this.feedPath = path;
    else if (status < 300) this.feedPath = undefined;
  }
}

/** Calls `onProgress` with each chunk. */
async function textOf(response: Response, onProgress: () => void): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return response.text();
  const decoder = new TextDecoder();
  for (let text = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    onProgress();
  }
}

const queryTexts = (query: NonNullable<HttpRequest["query"]>): string[] =>
  Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}=${encodeURIComponent(value)}`),
  );

/**
 * Seconds, or a date of the server's clock; Cosmos DB has its own header, in milliseconds.
 * `serverMs`: the server's time.
 */
function retryAfterMsOf(headers: Headers, serverMs: number): number | undefined {
  const ms = headers.get("x-ms-retry-after-ms");
  const text = headers.get("Retry-After");
  if (ms === null && text === null) return undefined;
  const wait =
    ms ?? (/^\d+$/.test(text ?? "") ? Number(text) * 1000 : Date.parse(text ?? "") - serverMs);
  const value = Number(wait);
  return value > 0 ? Math.min(value, retryAfterMsMax) : undefined;
}
