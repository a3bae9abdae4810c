// Handles one request of Node's HTTP server: passes it unchanged to the store's REST entry point,
// and sends the response. A body is only read if the store authorizes the request without it, and
// if the budget has memory for it.

import { bodyBytesMax } from "../rest/entry-point.ts";
import {
  errorResponse,
  httpResponseFromError,
  isSimulatedNetworkError,
  truncatedResponseFromError,
  withExposedHeader,
} from "../rest/error-response.ts";
import { type HeaderList, type HttpResponse, newRequestId } from "../rest/http-message.ts";
import type { RandomSource } from "../types.ts";
import type { NodeRequest, NodeResponse } from "../util/node.ts";
import { type EntryPointsByAccount, entryPointFor } from "./account-routing.ts";
import type { BodyBudget } from "./body-budget.ts";
import { type Feeds, feedHeader } from "./feeds.ts";
import { type ReadOutcome, RequestBody } from "./request-body.ts";
import { isResetRequest, resetResponse } from "./reset-request.ts";
import type { ServedRequest } from "./served-request.ts";
import type { Turns } from "./turns.ts";

export interface RequestHandlerOptions {
  entryPoints: EntryPointsByAccount;
  scheme: "http" | "https";
  authority: string; // host and port for a request that names no host
  budget: BodyBudget; // for the bodies of all requests
  responses: BodyBudget; // for the bodies of all responses that are being sent
  responseMs: number; // how long a client may take to read a response
  turns: Turns;
  stopping: () => boolean;
  onRequest: ((served: ServedRequest) => void) | undefined;
  onReset: (() => Promise<void>) | undefined; // undefined: there is no reset request
  feeds?: Feeds | undefined; // undefined: there is no change feed
  // Asks the client for the body. Present if the client waits for 100 Continue.
  continueBody?: () => void;
}

interface OutgoingResponse extends HttpResponse {
  // The connection is closed after the body, which is shorter than Content-Length (a simulated
  // fault).
  isTruncated: boolean;
}

const lingerMs = 1000; // how long to wait for more of a body that is discarded
const hostPattern = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

// Handles a request after the earlier ones of its connection. Never rejects. A client that
// disconnected gets no response. Closes the connection if too many of its requests wait.
export function handleRequest(
  request: NodeRequest,
  response: NodeResponse,
  options: RequestHandlerOptions,
): Promise<void> {
  return new Promise((resolve) => {
    const handle = () => handleNow(request, response, options).then(resolve);
    if (options.turns.run(request.socket, handle)) return;
    request.socket.destroy?.();
    resolve();
  });
}

async function handleNow(
  request: NodeRequest,
  response: NodeResponse,
  options: RequestHandlerOptions,
): Promise<void> {
  if (request.socket.destroyed) return; // while the request waited
  const startedAt = performance.now();
  const body = new RequestBody(request, options.budget);
  const url = urlOf(request, options);
  const disconnected = new AbortController();
  response.on("close", () => disconnected.abort());
  const reportAs = ({ status, responseBytes }: Pick<ServedRequest, "status" | "responseBytes">) =>
    report(options, {
      at: new Date(),
      client: request.socket.remoteAddress ?? "",
      method: request.method ?? "",
      url: (url ?? "").replace(/([?&]sig=)[^&]*/gi, "$1…"),
      status,
      milliseconds: performance.now() - startedAt,
      requestBytes: body.receivedLength,
      responseBytes,
    });
  const outgoing =
    url === undefined
      ? { ...badHostResponse(), isTruncated: false }
      : options.onReset !== undefined && isResetRequest(request.method, request.url)
        ? { ...(await resetResponse(options.onReset)), isTruncated: false }
        : await outgoingResponseFor({ request, response, url, body }, disconnected.signal, options);
  if (typeof outgoing === "number") {
    reportAs({ status: 200, responseBytes: outgoing });
    return;
  }
  if (outgoing === undefined) {
    // Destroys the response, not the request: the request may have ended, and destroying it would
    // leave the connection open.
    response.destroy();
    return;
  }
  if (disconnected.signal.aborted) return; // its "close" event was emitted already
  const hasRest = !body.isComplete;
  const close = hasRest || options.stopping();
  options.responses.reserveBeyondLimit(outgoing.body.length);
  const late = setTimeout(() => response.destroy(), options.responseMs);
  try {
    await respond(response, outgoing, { close, hasRest, head: request.method === "HEAD" });
  } catch {
    response.destroy(); // Node rejected the headers, so nothing can be sent
    return;
  } finally {
    clearTimeout(late);
    options.responses.release(outgoing.body.length);
  }
  if (hasRest) endAfterRest(request, response);
  reportAs({ status: outgoing.status, responseBytes: outgoing.body.length });
}

// Calls the listener. If it throws, the response is not affected, and the error is reported as an
// unhandled rejection (as in host/emitter.ts).
function report({ onRequest }: RequestHandlerOptions, served: ServedRequest): void {
  try {
    onRequest?.(served);
  } catch (error) {
    void Promise.reject(error);
  }
}

// ---- The request -----------------------------------------------------------------------------

// Returns the request's URL. Path and query stay unchanged, because signatures cover them. The
// scheme is the connection's, because some signatures are valid for HTTPS only. Returns undefined
// if the host is invalid, or if the request names two hosts, which could mean two accounts.
function urlOf(
  request: NodeRequest,
  { scheme, authority }: RequestHandlerOptions,
): string | undefined {
  const { url: target = "/", headers, rawHeaders } = request;
  const absolute = /^https?:(?=\/\/)/i; // an absolute URL, as clients send to a proxy
  if (absolute.test(target)) return target.replace(absolute, `${scheme}:`);
  const { host = authority } = headers;
  const several = rawHeaders.filter((name, i) => i % 2 === 0 && /^host$/i.test(name)).length > 1;
  return typeof host === "string" && hostPattern.test(host) && !several && target.startsWith("/")
    ? `${scheme}://${host}${target}`
    : undefined;
}

function headersOf({ rawHeaders }: NodeRequest): HeaderList {
  const headers: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    headers.push([rawHeaders[i] as string, rawHeaders[i + 1] as string]);
  }
  return headers;
}

// ---- The response ----------------------------------------------------------------------------

interface Exchange {
  request: NodeRequest;
  response: NodeResponse;
  url: string;
  body: RequestBody;
}

// Returns the response; undefined: there is none, and the connection must be closed; a number: it
// was a change feed, whose body had this length. Afterwards the request's body is not in memory.
// `signal` cancels the request if it still waits: in a simulated delay, or behind other writes.
async function outgoingResponseFor(
  { request, response, url, body }: Exchange,
  signal: AbortSignal,
  options: RequestHandlerOptions,
): Promise<OutgoingResponse | number | undefined> {
  const restEntryPoint = entryPointFor(options.entryPoints, url);
  const { random } = restEntryPoint;
  const head = {
    method: request.method ?? "GET",
    url,
    headers: headersOf(request),
    clientIp: clientIpOf(request),
    id: newRequestId(random),
    signal,
    accounts: [...options.entryPoints].map(([name, { account }]) => name || account),
  };
  const { feeds } = options;
  const announced = (sent: HttpResponse): HttpResponse =>
    feeds === undefined ? sent : { ...sent, headers: withExposedHeader(sent.headers, feedHeader) };
  const isBusy = () => ({ ...serverBusyResponse(random), isTruncated: false });
  try {
    if (options.responses.isExhausted) return isBusy();
    if (feeds?.serves(head.method, url)) {
      const sent = await feeds.respond(restEntryPoint, head, response);
      return typeof sent === "number" ? sent : { ...sent, isTruncated: false };
    }
    if (!body.isComplete) {
      const final = await restEntryPoint.sendHead(head);
      if (final !== undefined) return { ...announced(final), isTruncated: false };
      const outcome = await receive(body, options);
      if (outcome === "disconnected") return undefined;
      if (outcome === "no memory") return isBusy();
    }
    const sent = await restEntryPoint.send({ ...head, body: body.bytes });
    const isRead = head.method === "GET" || head.method === "HEAD";
    const { responses } = options;
    if (isRead && responses.used > 0 && !responses.fits(sent.body.length)) return isBusy();
    return { ...announced(sent), isTruncated: false };
  } catch (error) {
    const truncated = truncatedResponseFromError(error);
    if (truncated !== undefined) return { ...truncated, isTruncated: true };
    if (isSimulatedNetworkError(error) || signal.aborted) return undefined;
    return { ...httpResponseFromError(error, random), isTruncated: false };
  } finally {
    body.release();
  }
}

async function receive(body: RequestBody, options: RequestHandlerOptions): Promise<ReadOutcome> {
  if (!body.reserve()) return "no memory";
  if (!body.isAnnouncedTooLong) options.continueBody?.();
  return await body.read();
}

// Returns the client's address; for an IPv4 client of an IPv6 socket, the IPv4 address. Never
// returns "", which would mean a client in the same process. For a client that disconnected,
// returns a text that no signature allows.
function clientIpOf(request: NodeRequest): string {
  return (request.socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
}

function respond(
  response: NodeResponse,
  { status, reason, headers, body, isTruncated }: OutgoingResponse,
  { close, hasRest, head }: { close: boolean; hasRest: boolean; head: boolean },
): Promise<void> {
  return new Promise((resolve) => {
    response.on("close", resolve);
    const empty = status === 204 || status === 304;
    const fields = headers.flat();
    // a response to HEAD does not know the length of the GET response
    const isLengthUnknown = head && body.length === 0;
    if (!empty && !isLengthUnknown && !isTruncated)
      fields.push("Content-Length", String(body.length));
    if (close) fields.push("Connection", "close");
    response.writeHead(status, reason, fields);
    const sent = head || empty ? new Uint8Array() : body;
    if (isTruncated) response.write(body, () => response.destroy());
    else if (!hasRest) response.end(sent, resolve);
    else {
      response.flushHeaders();
      response.write(sent, resolve);
    }
  });
}

// Reads and discards the rest of the request, and then ends the response, which closes the
// connection. If the connection were closed while the client still sends, the client could lose the
// response. Does not wait for a client that sends nothing for a moment, or that sends more than the
// longest body. The server's time-out of requests applies too.
function endAfterRest(request: NodeRequest, response: NodeResponse): void {
  let discarded = 0;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  let timer = setTimeout(end, lingerMs);
  request.on("data", (chunk) => {
    discarded += chunk.length;
    if (discarded > bodyBytesMax) return;
    clearTimeout(timer);
    timer = setTimeout(end, lingerMs);
  });
  request.on("end", end);
  request.on("close", end);
  if (request.destroyed) end(); // its events have been emitted already
}

// The response if there is no memory for the request's body, or for the response.
function serverBusyResponse(random: RandomSource): HttpResponse {
  const { headers, ...response } = errorResponse(
    503,
    "Service Unavailable",
    "ServerBusy",
    "The server is currently unable to receive requests. Please retry your request.",
    random,
  );
  return { ...response, headers: [...headers, ["Retry-After", "1"]] };
}

function badHostResponse(): HttpResponse {
  return errorResponse(
    400,
    "Bad Request",
    "InvalidUri",
    "The requested URI does not represent any resource on the server.",
  );
}
