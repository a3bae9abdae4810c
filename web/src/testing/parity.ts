// Runs one script against a mock store and a real endpoint, and compares the responses.

import { RestError, StoreError } from "../errors.ts";
import type { RestEntryPoint, RestRequest } from "../rest/entry-point.ts";
import { createFetch } from "../rest/fetch.ts";
import { createHttpClient } from "../rest/http-client.ts";
import type { HttpResponse } from "../rest/http-message.ts";
import type { StoreHandle } from "../store.ts";
import type { HttpClient, Store } from "../types.ts";
import { normalizeRequest, normalizeResponse } from "./parity-normalization.ts";

/** Where a script sends its requests: to the mock store or to the real endpoint. */
export interface ParityTarget {
  /** The account's URL without a trailing slash. It is the real endpoint's URL on both sides. */
  readonly url: string;
  readonly fetch: Store["fetch"];
  /** For the official client's option `httpClient`. */
  readonly httpClient: HttpClient;
}

/**
 * A script that sends requests to a side. It must send the same requests on both sides. It may
 * throw, if it does so on both sides.
 */
export type ParityScript = (side: ParityTarget) => Promise<unknown>;

export interface ParityOptions {
  mock: Store;
  /**
   * `url`: an account's URL, such as `http://127.0.0.1:10002/devstoreaccount1`. `fetch`: the
   * function that sends requests to it. Default: the platform's.
   */
  real: { url: string; fetch?: typeof fetch };
}

export interface ParityDifference {
  /** The index of the request, from 0; `request` describes it. */
  requestIndex: number;
  request: string;
  /**
   * What differs. `request`: the script sent different requests. `end`: the script ended
   * differently, or one side gave no response.
   */
  kind: "request" | "status" | "code" | "header" | "body" | "end";
  /** The header's name, or the path of a value in the body. */
  path?: string;
  /** The values on both sides; undefined: absent. */
  mock: unknown;
  real: unknown;
}

export interface ParityReport {
  /** The number of requests that were sent to both sides. */
  requests: number;
  differences: ParityDifference[];
}

/**
 * Runs a script against a mock store and then against a real endpoint. Resolves to all differences
 * in status, code, headers and body of their responses, in the order of the requests. Values that
 * always differ (ids, times, ETags, tokens) are not compared.
 */
export async function parity(script: ParityScript, options: ParityOptions): Promise<ParityReport> {
  const url = options.real.url.replace(/\/$/, "");
  if (!/^https?:\/\/./i.test(url)) {
    const given = JSON.stringify(options.real.url);
    throw new StoreError("ValidationFailed", `real.url is an absolute http(s) URL, not ${given}.`);
  }
  const { restEntryPoint } = options.mock as StoreHandle;
  const mock = await run(script, url, (request) =>
    restEntryPoint.send({ ...request, quiet: true }),
  );
  const real = await run(script, url, (request) =>
    sendWithFetch(options.real.fetch ?? fetch, request),
  );
  const differences: ParityDifference[] = [];
  const count = Math.max(mock.exchanges.length, real.exchanges.length);
  for (let index = 0; index < count; ++index) {
    compare(index, mock.exchanges[index], real.exchanges[index], differences);
  }
  if (mock.end !== real.end) {
    const request = "the end of the script";
    differences.push({ requestIndex: count, request, kind: "end", mock: mock.end, real: real.end });
  }
  return { requests: Math.min(mock.exchanges.length, real.exchanges.length), differences };
}

// ---- Running ---------------------------------------------------------------------------------

type Send = RestEntryPoint["send"];

interface Exchange {
  request: RestRequest;
  response?: HttpResponse;
  failure?: string;
}

interface Run {
  exchanges: Exchange[]; // in the order in which they started
  end: string | undefined; // if the script failed: the error's name and code
}

async function run(script: ParityScript, url: string, send: Send): Promise<Run> {
  const exchanges: Exchange[] = [];
  const restEntryPoint = {
    async send(request: RestRequest): Promise<HttpResponse> {
      const exchange: Exchange = { request };
      exchanges.push(exchange);
      try {
        exchange.response = await send(request);
        return exchange.response;
      } catch (error) {
        exchange.failure = nameOf(error);
        throw error;
      }
    },
  };
  try {
    await script({
      url,
      fetch: createFetch(restEntryPoint),
      httpClient: createHttpClient(restEntryPoint),
    });
    return { exchanges, end: undefined };
  } catch (error) {
    return { exchanges, end: nameOf(error) };
  }
}

function nameOf(error: unknown): string {
  const { name, statusCode, code } = Object(error) as RestError;
  return [name, statusCode, code].filter((part) => part !== undefined).join(" ");
}

const connectionHeaders = /^(?:connection|content-length|host|keep-alive|transfer-encoding)$/i;

async function sendWithFetch(
  fetch: typeof globalThis.fetch,
  request: RestRequest,
): Promise<HttpResponse> {
  const { method, url, headers, body, signal } = request;
  const response = await fetch(url, {
    method,
    headers: headers.flatMap(([name, value]) =>
      connectionHeaders.test(name) ? [] : [[name, value] as [string, string]],
    ),
    body: body.length === 0 ? null : new Uint8Array(body),
    redirect: "manual",
    signal: (signal as AbortSignal | undefined) ?? null,
  }).catch((cause: unknown) => {
    if (signal?.aborted) throw cause;
    throw new RestError(String(cause), { code: RestError.REQUEST_SEND_ERROR });
  });
  return {
    status: response.status,
    reason: response.statusText,
    headers: [...response.headers],
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

// ---- Comparing -------------------------------------------------------------------------------

function compare(
  requestIndex: number,
  mock: Exchange | undefined,
  real: Exchange | undefined,
  differences: ParityDifference[],
): void {
  const [mockRequest, realRequest] = [mock, real].map(
    (one) => one && normalizeRequest(one.request),
  );
  const request = mockRequest ?? realRequest ?? "";
  const addDifference = (kind: ParityDifference["kind"], a: unknown, b: unknown, path?: string) => {
    const location = path === undefined ? {} : { path };
    if (a !== b) differences.push({ requestIndex, request, kind, ...location, mock: a, real: b });
  };
  addDifference("request", mockRequest, realRequest);
  if (mock === undefined || real === undefined || mockRequest !== realRequest) return;
  addDifference("end", mock.failure, real.failure);
  if (mock.response === undefined || real.response === undefined) return;
  const mockResponse = normalizeResponse(mock.response, mock.request);
  const realResponse = normalizeResponse(real.response, real.request);
  addDifference("status", mockResponse.status, realResponse.status);
  addDifference("code", mockResponse.code, realResponse.code);
  for (const name of unionOfKeys(mockResponse.headers, realResponse.headers)) {
    addDifference("header", mockResponse.headers[name], realResponse.headers[name], name);
  }
  compareValues(mockResponse.body, realResponse.body, "", (a, b, path) =>
    addDifference("body", a, b, path),
  );
}

function unionOfKeys(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}

type AddDifference = (mock: unknown, real: unknown, path: string) => void;

function compareValues(a: unknown, b: unknown, path: string, addDifference: AddDifference): void {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) {
    addDifference(a, b, path);
    return;
  }
  for (const name of unionOfKeys(a, b)) {
    compareValues(a[name], b[name], path === "" ? name : `${path}.${name}`, addDifference);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
