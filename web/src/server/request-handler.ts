// Handles one request of Node's HTTP server: passes it unchanged to the store's REST entry point,
// and sends the response.

import { bodyBytesMax } from "../rest/entry-point.ts";
import {
  errorResponse,
  isSimulatedNetworkError,
  serverErrorResponse,
  truncatedResponseFromError,
} from "../rest/error-response.ts";
import type { HeaderList, HttpResponse } from "../rest/http-message.ts";
import type { NodeRequest, NodeResponse } from "../util/node.ts";
import { type EntryPointsByAccount, entryPointFor } from "./account-routing.ts";
import type { ServedRequest } from "./types.ts";

export interface RequestHandlerOptions {
  entryPoints: EntryPointsByAccount;
  scheme: "http" | "https";
  authority: string; // host and port for a request that names no host
  stopping: () => boolean;
  onRequest: ((served: ServedRequest) => void) | undefined;
}

interface Body {
  bytes: Uint8Array;
  isTruncated: boolean; // the client sent more, which was not read
}

interface OutgoingResponse extends HttpResponse {
  // The connection is closed after the body, which is shorter than Content-Length (a simulated
  // fault).
  isTruncated: boolean;
}

const lingerMs = 1000; // how long to read what a client still sends after its request was rejected
const hostPattern = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

// Handles a request. Never rejects. A client that disconnected gets no response.
export async function handleRequest(
  request: NodeRequest,
  response: NodeResponse,
  options: RequestHandlerOptions,
): Promise<void> {
  const startedAt = performance.now();
  const body = await bodyOf(request);
  if (body === undefined) return;
  const url = urlOf(request, options);
  const outgoing: OutgoingResponse | undefined =
    url === undefined
      ? { ...badHostResponse(), isTruncated: false }
      : await outgoingResponseFor(request, url, body, options);
  if (outgoing === undefined) {
    // Destroys the response, not the request: the request has ended, and destroying it would leave
    // the connection open.
    response.destroy();
    return;
  }
  const close = body.isTruncated || options.stopping();
  try {
    await respond(response, outgoing, { close, head: request.method === "HEAD" });
  } catch {
    response.destroy(); // Node rejected the headers, so nothing can be sent
    return;
  }
  if (body.isTruncated) discardRestOfRequest(request);
  report(options, {
    at: new Date(),
    client: request.socket.remoteAddress ?? "",
    method: request.method ?? "",
    url: (url ?? "").replace(/([?&]sig=)[^&]*/gi, "$1…"),
    status: outgoing.status,
    milliseconds: performance.now() - startedAt,
    requestBytes: body.bytes.length,
    responseBytes: outgoing.body.length,
  });
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

// Returns whether a body is read if its length is as announced.
export function isBodyAccepted(request: NodeRequest): boolean {
  return !(Number(request.headers["content-length"]) > bodyBytesMax);
}

// ---- The request -----------------------------------------------------------------------------

// Reads as much of the body as the store needs. Returns undefined if the client disconnected.
function bodyOf(request: NodeRequest): Promise<Body | undefined> | Body {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) {
    return { bytes: new Uint8Array(), isTruncated: false };
  }
  // The store first authorizes the request and then rejects the body by its length, so the content
  // is not needed.
  if (!isBodyAccepted(request))
    return { bytes: new Uint8Array(bodyBytesMax + 1), isTruncated: true };
  return new Promise((resolve) => {
    const received = new ByteBuffer();
    const onData = (chunk: Uint8Array) => {
      received.add(chunk);
      if (received.bytes.length <= bodyBytesMax) return;
      request.off("data", onData);
      resolve({ bytes: received.bytes, isTruncated: true });
    };
    request.on("data", onData);
    request.on("end", () => resolve({ bytes: received.bytes, isTruncated: false }));
    request.on("close", () => resolve(undefined)); // no effect if "end" came first
    request.on("error", () => resolve(undefined));
  });
}

// A buffer to which chunks are appended. For a client that sends single bytes, a list of chunks
// would use a hundred times the memory.
class ByteBuffer {
  #buffer = new Uint8Array();
  #length = 0;

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#buffer.length));
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }
}

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

// Returns the response; undefined: there is none, and the connection must be closed.
async function outgoingResponseFor(
  request: NodeRequest,
  url: string,
  body: Body,
  { entryPoints }: RequestHandlerOptions,
): Promise<OutgoingResponse | undefined> {
  const restEntryPoint = entryPointFor(entryPoints, url);
  try {
    const outgoing = await restEntryPoint.send({
      method: request.method ?? "GET",
      url,
      headers: headersOf(request),
      body: body.bytes,
      clientIp: clientIpOf(request),
    });
    return { ...outgoing, isTruncated: false };
  } catch (error) {
    const truncated = truncatedResponseFromError(error);
    if (truncated !== undefined) return { ...truncated, isTruncated: true };
    if (isSimulatedNetworkError(error)) return undefined;
    return { ...serverErrorResponse(error, restEntryPoint.random), isTruncated: false };
  }
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
  { close, head }: { close: boolean; head: boolean },
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
    if (isTruncated) response.write(body, () => response.destroy());
    else response.end(head || empty ? new Uint8Array() : body, resolve);
  });
}

// For a moment, reads and discards what the client still sends. Closing the connection immediately
// would lose the response.
function discardRestOfRequest(request: NodeRequest): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.on("close", () => clearTimeout(timer));
}

function badHostResponse(): HttpResponse {
  return errorResponse(
    400,
    "Bad Request",
    "InvalidUri",
    "The requested URI does not represent any resource on the server.",
  );
}
