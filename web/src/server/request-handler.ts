// One request of Node's HTTP server and its response: the bytes go to the store's REST door as they are, and come back so.

import { bodyBytesMax } from "../rest/entry-point.ts";
import {
  errorResponse,
  isSimulatedNetworkError,
  responseFromError,
  truncatedResponseFromError,
} from "../rest/error-response.ts";
import type { HeaderList, HttpResponse } from "../rest/http-message.ts";
import type { NodeRequest, NodeResponse } from "../util/node.ts";
import { type EntryPoints, entryPointFor } from "./accounts.ts";
import type { ServedRequest } from "./types.ts";

export interface RequestHandlerOptions {
  entryPoints: EntryPoints;
  scheme: "http" | "https";
  authority: string; // of a request that names no host
  stopping: () => boolean;
  onRequest: ((served: ServedRequest) => void) | undefined;
}

interface Body {
  bytes: Uint8Array;
  isTruncated: boolean; // the rest of it is not read
}

interface OutgoingResponse extends HttpResponse {
  isTruncated: boolean; // the connection ends behind its body, whose length its headers say to be another
}

const lingerMs = 1000; // for what a client is still sending after it was refused
const hostPattern = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

// Never rejects. A client that went away meanwhile is not answered.
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
    response.destroy(); // not the request: that is at its end, and would leave the connection
    return;
  }
  const close = body.isTruncated || options.stopping();
  try {
    await respond(response, outgoing, { close, head: request.method === "HEAD" });
  } catch {
    response.destroy(); // Node refuses to send it: there is nothing that could be said instead
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

// A listener that throws does not spoil the exchange: its error is reported as an unhandled rejection, like those of events
// (host/emitter.ts).
function report({ onRequest }: RequestHandlerOptions, served: ServedRequest): void {
  try {
    onRequest?.(served);
  } catch (error) {
    void Promise.reject(error);
  }
}

// Whether a body of the length that was announced is looked at.
export function isBodyAccepted(request: NodeRequest): boolean {
  return !(Number(request.headers["content-length"]) > bodyBytesMax);
}

// ---- The request -----------------------------------------------------------------------------

// As much of it as the store looks at; undefined if the client went away.
function bodyOf(request: NodeRequest): Promise<Body | undefined> | Body {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) {
    return { bytes: new Uint8Array(), isTruncated: false };
  }
  // The store judges by the length alone, after it has looked at who asks.
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
    request.on("close", () => resolve(undefined)); // too late to matter after "end"
    request.on("error", () => resolve(undefined));
  });
}

// Bytes put together as they come: a list of the chunks would take a hundred times as much of a client that sends each byte alone.
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

// The path and query stay as they were sent: signatures are over them. The scheme is that of the connection, whatever the request
// says: some signatures are good for HTTPS only. Who names two hosts might mean two accounts.
function urlOf(
  request: NodeRequest,
  { scheme, authority }: RequestHandlerOptions,
): string | undefined {
  const { url: target = "/", headers, rawHeaders } = request;
  const absolute = /^https?:(?=\/\/)/i; // as to a proxy
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

// Undefined: none, the connection is to end.
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
    return { ...responseFromError(error, restEntryPoint.random), isTruncated: false };
  }
}

// IPv4 as such, also when it came in through a socket of IPv6. Never empty, which would mean that there is no network: a client that
// is gone already is at no address that a signature allows.
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
    const isLengthUnknown = head && body.length === 0; // how long that of GET is
    if (!empty && !isLengthUnknown && !isTruncated)
      fields.push("Content-Length", String(body.length));
    if (close) fields.push("Connection", "close");
    response.writeHead(status, reason, fields);
    if (isTruncated) response.write(body, () => response.destroy());
    else response.end(head || empty ? new Uint8Array() : body, resolve);
  });
}

// What a client still sends is thrown away for a moment: a connection that is closed at once would take the response with it.
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
