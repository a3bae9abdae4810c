// Sends HTTP requests to an account of the remote.

import type { Ticks } from "../sync/hidden-tables.ts";
import type { Platform } from "../sync/store.ts";
import { Authorizer, type CredentialSource } from "./authorization.ts";
import { failureOf, serviceErrorOf } from "./service-error.ts";
import { ticksOfHttpDate } from "./timestamp.ts";

export interface HttpOptions {
  /** The URL of the account, perhaps with a shared access signature. */
  readonly url: string;
  readonly credential?: CredentialSource | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
  readonly now: Platform["now"];
  /** Default 60 s. A push has less (http-remote.ts). */
  readonly timeoutMs?: number | undefined;
}

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** After the account's URL, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** By the monotonic clock. Compared in the turn of the event loop that sends the request. */
  readonly sendBefore?: number;
  /** The most time for it, if it is less than that of all requests. */
  readonly timeoutMs?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly text: string;
  /** The shared access signature that the request had, or "". */
  readonly sas: string;
  /** The headers that can be read: a page needs the permission of the remote's CORS rules. */
  readonly headers: Headers;
  /** Whether the remote's CORS rules may hide headers. */
  readonly mayHideHeaders: boolean;
  readonly date: Ticks | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Undefined: there was no response, or no complete one. Perhaps the request was executed.
 * "notSent": its time had passed. "unauthorized": there was no credential, so it was not sent.
 */
export type HttpResult = HttpResponse | "notSent" | "unauthorized" | undefined;

const timeoutMsDefault = 60_000;
const retryAfterMsMax = 300_000; // a proxy may send any time

/** Allowed in requests of a page without a preflight. */
const accept = "application/json;odata=minimalmetadata";

export class Http {
  readonly #options: HttpOptions;
  readonly #authorizer: Authorizer;
  /** Without "/" at the end. */
  readonly base: string;
  readonly #signature: string;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#authorizer = new Authorizer(options.credential);
    const { origin, pathname, search } = new URL(options.url);
    this.base = origin + pathname.replace(/\/$/, "");
    this.#signature = search.slice(1);
  }

  refresh(): void {
    this.#authorizer.refresh();
  }

  async send(request: HttpRequest): Promise<HttpResult> {
    const { method, path, query = {}, headers = {}, body = null, sendBefore } = request;
    const { now } = this.#options;
    const { timeoutMs = timeoutMsDefault } = this.#options;
    const most = Math.min(timeoutMs, request.timeoutMs ?? timeoutMs);
    const url = new URL(`${this.base}/${path}`);
    const added = await this.#authorizer.authorize(url, now().wallMs).catch(() => undefined);
    if (added === undefined) return "unauthorized";
    try {
      const sas = [this.#signature, added.query].filter(Boolean).join("&");
      url.search = [...queryTexts(query), sas].filter(Boolean).join("&");
      const init = {
        method,
        headers: { Accept: accept, ...headers, ...added.headers },
        body,
        // With "no-store", Chromium would not use its cache of preflights either.
        cache: method === "GET" ? "no-store" : "default",
        redirect: "manual", // a captive portal redirects
        signal: AbortSignal.timeout(most),
      } satisfies RequestInit;
      if (sendBefore !== undefined && now().monotonicMs >= sendBefore) return "notSent";
      const response = await this.#received(await (this.#options.fetch ?? fetch)(url, init), sas);
      if (failureOf(response).kind === "unauthorized") this.#authorizer.reject(added.madeWith);
      return response;
    } catch {
      return undefined;
    }
  }

  async #received(response: Response, sas: string): Promise<HttpResponse> {
    const { headers, status } = response;
    const text = await response.text();
    const date = ticksOfHttpDate(headers.get("Date") ?? "");
    const wallMs = this.#options.now().wallMs;
    if (status === 403 && serviceErrorOf(text)?.code === "AuthenticationFailed" && date) {
      this.#authorizer.aheadMs = Number(date / 10_000n) - wallMs;
    }
    const retryAfterMs = retryAfterMsOf(headers, wallMs);
    const mayHideHeaders = response.type === "cors";
    return { status, text, sas, headers, mayHideHeaders, date, retryAfterMs };
  }
}

const queryTexts = (query: NonNullable<HttpRequest["query"]>): string[] =>
  Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value)}`,
  );

/** Seconds, or a date; Cosmos DB has its own header, in milliseconds. */
function retryAfterMsOf(headers: Headers, wallMs: number): number | undefined {
  const ms = headers.get("x-ms-retry-after-ms");
  const text = headers.get("Retry-After");
  if (ms === null && text === null) return undefined;
  const wait =
    ms ?? (/^\d+$/.test(text ?? "") ? Number(text) * 1000 : Date.parse(text ?? "") - wallMs);
  const value = Number(wait);
  return value > 0 ? Math.min(value, retryAfterMsMax) : undefined;
}
