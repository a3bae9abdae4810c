// The functions in the options of startSync(), for a store in a worker. They are called in the
// page: a function cannot be sent. The page serves the calls (servePageFunctions), and the worker
// has functions that make them (settingsFromPage).

import { isTokenCredential } from "../data-tables/credentials.ts";
import type { Credential, TokenCredential } from "../data-tables/types.ts";
import { NotSentError, sendBeforeOption, type TimedInit } from "../sync-remote/send-before.ts";
import type { Settings, TableSettings } from "./options.ts";
import { platformClock } from "./platform.ts";
import type { CallHandlers, PortCalls } from "./port-calls.ts";
import type { Conflict, Resolution, Resolve, SyncRemote } from "./types.ts";

type SentTable = Omit<TableSettings, "conflict"> & {
  /** "ask": the page has a function. */
  readonly conflict: Exclude<TableSettings["conflict"], Resolve> | "ask";
};

/** Settings as a port can send them. */
export interface SentSettings extends Omit<Settings, "remote" | "tables" | "seed"> {
  readonly remote: Omit<SyncRemote, "credential" | "fetch">;
  readonly hasCredential: boolean;
  readonly hasFetch: boolean;
  readonly tables: ReadonlyMap<string, SentTable>;
}

/** A credential with a function stays in the page. */
type SentCredential = Exclude<Credential, TokenCredential> | { readonly token: number };

/** How a response begins. Its body follows in chunks. */
interface SentResponse {
  readonly id: number;
  readonly status: number;
  readonly type: ResponseType;
  readonly headers: readonly (readonly [string, string])[];
}

interface FetchCall {
  readonly id: number;
  readonly url: string;
  readonly init: RequestInit;
  /** By the page's clock. Undefined: at any time. */
  readonly sendBefore: number | undefined;
}

const monotonicMs = (): number => platformClock.now().monotonicMs;

export function settingsToSend({ remote, seed, tables, ...others }: Settings): SentSettings {
  const { credential, fetch, ...sent } = remote;
  const sentTables = [...tables].map(([name, { conflict, ...table }]): [string, SentTable] => [
    name,
    { ...table, conflict: typeof conflict === "function" ? "ask" : conflict },
  ]);
  return {
    ...others,
    remote: sent,
    hasCredential: credential !== undefined,
    hasFetch: fetch !== undefined,
    tables: new Map(sentTables),
  };
}

// ---- The page --------------------------------------------------------------------------------

/** Returns the handlers of the calls that the worker makes. */
export function servePageFunctions({ remote, tables }: Settings): CallHandlers {
  return {
    ...serveCredentials(remote.credential),
    ...serveFetch(remote.fetch),
    conflict: (table: string, conflict: Conflict) => {
      const resolve = tables.get(table)?.conflict;
      return typeof resolve === "function" ? resolve(conflict) : resolve;
    },
  };
}

function serveCredentials(source: SyncRemote["credential"]): CallHandlers {
  const tokens = new Map<number, TokenCredential>();
  let calls = 0;
  return {
    credential: async (): Promise<SentCredential> => {
      const isFunction = typeof source === "function" && !isTokenCredential(source);
      const credential = (isFunction ? await source() : source) as Credential;
      if (isTokenCredential(credential)) {
        calls += 1;
        tokens.set(calls, credential);
        tokens.delete(calls - 2); // a request may still use the one before
        return { token: calls };
      }
      if ("signature" in credential) return { signature: credential.signature };
      return { name: credential.name, key: credential.key };
    },
    token: (token: number, scope: string) => tokens.get(token)?.getToken(scope) ?? null,
  };
}

function serveFetch(send: SyncRemote["fetch"]): CallHandlers {
  const bodies = new Map<number, ReadableStreamDefaultReader<Uint8Array>>();
  const aborts = new Map<number, AbortController>();
  return {
    clock: monotonicMs,
    // The page may have been frozen since the worker has called.
    fetch: async (call: FetchCall): Promise<SentResponse | "notSent"> => {
      const { id, init, sendBefore, url } = call;
      if (sendBefore !== undefined && monotonicMs() >= sendBefore) return "notSent";
      const abort = new AbortController();
      aborts.set(id, abort);
      const response = await (send ?? fetch)(url, { ...init, signal: abort.signal });
      const { headers, status, type } = response;
      const reader = response.body?.getReader();
      if (reader) bodies.set(id, reader);
      return { id, status, type, headers: [...headers] };
    },
    chunk: async (id: number) => (await bodies.get(id)?.read())?.value,
    endFetch: (id: number) => {
      aborts.get(id)?.abort();
      void bodies
        .get(id)
        ?.cancel()
        .catch(() => {}); // `fetch` may ignore its signal
      aborts.delete(id);
      bodies.delete(id);
    },
  };
}

// ---- The worker ------------------------------------------------------------------------------

export function settingsFromPage(sent: SentSettings, page: PortCalls): Settings {
  const { hasCredential, hasFetch, remote, tables, ...others } = sent;
  const withFunctions = [...tables].map(([name, table]): [string, TableSettings] => {
    const ask = (conflict: Conflict) => page.call<Resolution>("conflict", name, conflict);
    return [name, { ...table, conflict: table.conflict === "ask" ? ask : table.conflict }];
  });
  return {
    ...others,
    seed: undefined, // the page has restored it
    remote: {
      ...remote,
      ...(hasCredential && { credential: () => credentialOfPage(page) }),
      ...(hasFetch && { fetch: fetchOfPage(page) }),
    },
    tables: new Map(withFunctions),
  };
}

async function credentialOfPage(page: PortCalls): Promise<Credential> {
  const sent = await page.call<SentCredential>("credential");
  if (!("token" in sent)) return sent;
  return { getToken: (scope) => page.call("token", sent.token, scope) };
}

function fetchOfPage(page: PortCalls): typeof fetch {
  let requests = 0;
  return async (url, { signal, ...init }: TimedInit = {}) => {
    requests += 1;
    const id = requests;
    const sendBefore = await timeOfPage(page, init[sendBeforeOption]);
    signal?.throwIfAborted();
    const end = () => {
      signal?.removeEventListener("abort", end);
      page.tell("endFetch", id);
    };
    signal?.addEventListener("abort", end);
    try {
      const call: FetchCall = { id, url: String(url), init, sendBefore };
      const sent = await page.call<SentResponse | "notSent">("fetch", call);
      if (sent === "notSent") throw new NotSentError("The page was too late to send the request.");
      const nextChunk = async () => {
        const chunk = await page.call<Uint8Array | undefined>("chunk", id);
        signal?.throwIfAborted();
        return chunk;
      };
      return responseOf(sent, nextChunk, end);
    } catch (error) {
      end();
      throw error;
    }
  };
}

/**
 * Converts a time of this thread's clock to the page's, which began at another time: to an earlier
 * one by what the page takes to answer, never to a later one.
 */
async function timeOfPage(page: PortCalls, time: number | undefined): Promise<number | undefined> {
  if (time === undefined) return undefined;
  const pageTime = await page.call<number>("clock");
  return pageTime + time - monotonicMs();
}

const firstStatus = 200; // of a Response that code can make

/**
 * The response to a request that was redirected has no status. Calls `end` when its body has ended,
 * has failed or is not wanted any more.
 */
function responseOf(
  { headers, status, type }: SentResponse,
  nextChunk: () => Promise<Uint8Array | undefined>,
  end: () => void,
): Response {
  if (status < firstStatus) throw new TypeError("The request was redirected.");
  const hasBody = ![204, 205, 304].includes(status);
  const body = hasBody ? bodyOf(nextChunk, end) : null;
  if (!hasBody) end();
  const response = new Response(body, { status, headers: headers as HeadersInit });
  return Object.defineProperty(response, "type", { value: type });
}

function bodyOf(
  nextChunk: () => Promise<Uint8Array | undefined>,
  end: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let chunk: Uint8Array | undefined;
      try {
        chunk = await nextChunk();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      } finally {
        if (!chunk) end();
      }
    },
    cancel: end,
  });
}
