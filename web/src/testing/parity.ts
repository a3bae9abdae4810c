// One script against two services: a store for tests, and a real one.

import { RestError, StoreError } from "../errors.ts";
import type { ResponseParts } from "../rest/block.ts";
import type { RestDoor, RestRequest } from "../rest/door.ts";
import { fetchOf } from "../rest/fetch.ts";
import { httpClientOf } from "../rest/http-client.ts";
import type { StoreHandle } from "../store.ts";
import type { HttpClient, Store } from "../types.ts";
import { askedBy, saidBy } from "./parity-forms.ts";

/** Where a script asks. */
export interface ParitySide {
  /** The account's address, without a slash at its end: the real one's on both sides. */
  readonly url: string;
  readonly fetch: Store["fetch"];
  /** For clients of the official package. */
  readonly httpClient: HttpClient;
}

/** What it asks on both sides; it may end with an error, as long as it does so on both. */
export type ParityScript = (side: ParitySide) => Promise<unknown>;

export interface ParityOptions {
  mock: Store;
  /** An account's address, such as `http://127.0.0.1:10002/devstoreaccount1`, and what reaches it: the platform's `fetch` unless given. */
  real: { url: string; fetch?: typeof fetch };
}

export interface ParityDifference {
  /** The request's number, from 0; and what it was. */
  number: number;
  request: string;
  /** `request`: the script did not ask the same of both. `end`: of the script, or of an answer that did not come. */
  what: "request" | "status" | "code" | "header" | "body" | "end";
  /** The header's name, or where in the body. */
  at?: string;
  /** Undefined: it is not there. */
  mock: unknown;
  real: unknown;
}

export interface ParityReport {
  /** How many requests both were asked. */
  requests: number;
  differences: ParityDifference[];
}

/**
 * Runs a script against a store and then against a real endpoint, and tells every difference in status, code, headers and body of what they
 * answered, in the order of the requests. What must differ (ids, times, ETags, tokens) is not one.
 */
export async function parity(script: ParityScript, options: ParityOptions): Promise<ParityReport> {
  const url = options.real.url.replace(/\/$/, "");
  if (!/^https?:\/\/./i.test(url)) {
    const given = JSON.stringify(options.real.url);
    throw new StoreError("ValidationFailed", `real.url is an absolute http(s) URL, not ${given}.`);
  }
  const { door } = options.mock as StoreHandle;
  const mock = await run(script, url, (request) => door.send(request));
  const real = await run(script, url, (request) => sendBy(options.real.fetch ?? fetch, request));
  const differences: ParityDifference[] = [];
  const count = Math.max(mock.exchanges.length, real.exchanges.length);
  for (let number = 0; number < count; ++number) {
    compare(number, mock.exchanges[number], real.exchanges[number], differences);
  }
  if (mock.end !== real.end) {
    const request = "the end of the script";
    differences.push({ number: count, request, what: "end", mock: mock.end, real: real.end });
  }
  return { requests: Math.min(mock.exchanges.length, real.exchanges.length), differences };
}

// ---- Running --------------------------------------------------------------------------------------------------------------

type Send = RestDoor["send"];

interface Exchange {
  request: RestRequest;
  answer?: ResponseParts;
  failure?: string;
}

interface Run {
  exchanges: Exchange[]; // in the order in which they began
  end: string | undefined; // of an error
}

async function run(script: ParityScript, url: string, send: Send): Promise<Run> {
  const exchanges: Exchange[] = [];
  const door = {
    async send(request: RestRequest): Promise<ResponseParts> {
      const exchange: Exchange = { request };
      exchanges.push(exchange);
      try {
        exchange.answer = await send(request);
        return exchange.answer;
      } catch (error) {
        exchange.failure = nameOf(error);
        throw error;
      }
    },
  };
  try {
    await script({ url, fetch: fetchOf(door), httpClient: httpClientOf(door) });
    return { exchanges, end: undefined };
  } catch (error) {
    return { exchanges, end: nameOf(error) };
  }
}

function nameOf(error: unknown): string {
  const { name, statusCode, code } = Object(error) as RestError;
  return [name, statusCode, code].filter((part) => part !== undefined).join(" ");
}

const ofTheConnection = /^(?:connection|content-length|host|keep-alive|transfer-encoding)$/i;

async function sendBy(
  fetch: typeof globalThis.fetch,
  request: RestRequest,
): Promise<ResponseParts> {
  const { method, url, headers, body, signal } = request;
  const response = await fetch(url, {
    method,
    headers: headers.flatMap(([name, value]) =>
      ofTheConnection.test(name) ? [] : [[name, value] as [string, string]],
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

// ---- Comparing ------------------------------------------------------------------------------------------------------------

function compare(
  number: number,
  mock: Exchange | undefined,
  real: Exchange | undefined,
  differences: ParityDifference[],
): void {
  const [asked, askedReal] = [mock, real].map((one) => one && askedBy(one.request));
  const request = asked ?? askedReal ?? "";
  const note = (what: ParityDifference["what"], a: unknown, b: unknown, at?: string) => {
    const where = at === undefined ? {} : { at };
    if (a !== b) differences.push({ number, request, what, ...where, mock: a, real: b });
  };
  note("request", asked, askedReal);
  if (mock === undefined || real === undefined || asked !== askedReal) return;
  note("end", mock.failure, real.failure);
  if (mock.answer === undefined || real.answer === undefined) return;
  const ours = saidBy(mock.answer, mock.request);
  const theirs = saidBy(real.answer, real.request);
  note("status", ours.status, theirs.status);
  note("code", ours.code, theirs.code);
  for (const name of namesIn(ours.headers, theirs.headers)) {
    note("header", ours.headers[name], theirs.headers[name], name);
  }
  compareValues(ours.body, theirs.body, "", (a, b, at) => note("body", a, b, at));
}

function namesIn(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}

type Note = (mock: unknown, real: unknown, at: string) => void;

function compareValues(a: unknown, b: unknown, at: string, note: Note): void {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) {
    note(a, b, at);
    return;
  }
  for (const name of namesIn(a, b)) {
    compareValues(a[name], b[name], at === "" ? name : `${at}.${name}`, note);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
