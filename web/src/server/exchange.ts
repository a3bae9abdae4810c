// One request of Node's HTTP server and its response: the bytes go to the store's REST door as they are, and come back so.

import type { NodeRequest, NodeResponse } from "../node.ts";
import type { HeaderList, ResponseParts } from "../rest/block.ts";
import { bodyBytesMax } from "../rest/door.ts";
import { arrivedHalf, errorResponse, failure, isNetworkFailure } from "../rest/failure.ts";
import { type Doors, doorFor } from "./accounts.ts";
import type { ServedRequest } from "./types.ts";

export interface ExchangeOptions {
  doors: Doors;
  scheme: "http" | "https";
  authority: string; // of a request that names no host
  stopping: () => boolean;
  onRequest: ((served: ServedRequest) => void) | undefined;
}

interface Body {
  bytes: Uint8Array;
  cut: boolean; // the rest of it is not read
}

interface Answer extends ResponseParts {
  cut: boolean; // the connection ends behind its body, whose length its headers say to be another
}

const lingerMs = 1000; // for what a client is still sending after it was refused
const hostPattern = /^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i;

// Never rejects. A client that went away meanwhile is not answered.
export async function exchange(
  request: NodeRequest,
  response: NodeResponse,
  options: ExchangeOptions,
): Promise<void> {
  const began = performance.now();
  const body = await bodyOf(request);
  if (body === undefined) return;
  const url = urlOf(request, options);
  const answer: Answer | undefined =
    url === undefined ? { ...badHost(), cut: false } : await answerOf(request, url, body, options);
  if (answer === undefined) {
    response.destroy(); // not the request: that is at its end, and would leave the connection
    return;
  }
  const close = body.cut || options.stopping();
  try {
    await respond(response, answer, { close, head: request.method === "HEAD" });
  } catch {
    response.destroy(); // Node refuses to send it: there is nothing that could be said instead
    return;
  }
  if (body.cut) linger(request);
  report(options, {
    at: new Date(),
    client: request.socket.remoteAddress ?? "",
    method: request.method ?? "",
    url: (url ?? "").replace(/([?&]sig=)[^&]*/gi, "$1…"),
    status: answer.status,
    milliseconds: performance.now() - began,
    requestBytes: body.bytes.length,
    responseBytes: answer.body.length,
  });
}

// A listener that throws does not spoil the exchange: its error is reported as an unhandled rejection, like those of events
// (host/emitter.ts).
function report({ onRequest }: ExchangeOptions, served: ServedRequest): void {
  try {
    onRequest?.(served);
  } catch (error) {
    void Promise.reject(error);
  }
}

// Whether a body of the length that was announced is looked at.
export function mayContinue(request: NodeRequest): boolean {
  return !(Number(request.headers["content-length"]) > bodyBytesMax);
}

// ---- The request --------------------------------------------------------------------------------------------------------

// As much of it as the store looks at; undefined if the client went away.
function bodyOf(request: NodeRequest): Promise<Body | undefined> | Body {
  const { headers } = request;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) {
    return { bytes: new Uint8Array(), cut: false };
  }
  // The store judges by the length alone, after it has looked at who asks.
  if (!mayContinue(request)) return { bytes: new Uint8Array(bodyBytesMax + 1), cut: true };
  return new Promise((resolve) => {
    const received = new Received();
    const onData = (chunk: Uint8Array) => {
      received.add(chunk);
      if (received.bytes.length <= bodyBytesMax) return;
      request.off("data", onData);
      resolve({ bytes: received.bytes, cut: true });
    };
    request.on("data", onData);
    request.on("end", () => resolve({ bytes: received.bytes, cut: false }));
    request.on("close", () => resolve(undefined)); // too late to matter after "end"
    request.on("error", () => resolve(undefined));
  });
}

// Bytes put together as they come: a list of the chunks would take a hundred times as much of a client that sends each byte alone.
class Received {
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
function urlOf(request: NodeRequest, { scheme, authority }: ExchangeOptions): string | undefined {
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

// ---- The response -------------------------------------------------------------------------------------------------------

// Undefined: none, the connection is to end.
async function answerOf(
  request: NodeRequest,
  url: string,
  body: Body,
  { doors }: ExchangeOptions,
): Promise<Answer | undefined> {
  const door = doorFor(doors, url);
  try {
    const answer = await door.send({
      method: request.method ?? "GET",
      url,
      headers: headersOf(request),
      body: body.bytes,
      clientIp: addressOf(request),
    });
    return { ...answer, cut: false };
  } catch (error) {
    const half = arrivedHalf(error);
    if (half !== undefined) return { ...half, cut: true };
    if (isNetworkFailure(error)) return undefined;
    return { ...failure(error, door.random), cut: false };
  }
}

// IPv4 as such, also when it came in through a socket of IPv6. Never empty, which would mean that there is no network: a client that
// is gone already is at no address that a signature allows.
function addressOf(request: NodeRequest): string {
  return (request.socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
}

function respond(
  response: NodeResponse,
  { status, reason, headers, body, cut }: Answer,
  { close, head }: { close: boolean; head: boolean },
): Promise<void> {
  return new Promise((resolve) => {
    response.on("close", resolve);
    const empty = status === 204 || status === 304;
    const fields = headers.flat();
    const untold = head && body.length === 0; // how long that of GET is
    if (!empty && !untold && !cut) fields.push("Content-Length", String(body.length));
    if (close) fields.push("Connection", "close");
    response.writeHead(status, reason, fields);
    if (cut) response.write(body, () => response.destroy());
    else response.end(head || empty ? new Uint8Array() : body, resolve);
  });
}

// What a client still sends is thrown away for a moment: a connection that is closed at once would take the response with it.
function linger(request: NodeRequest): void {
  request.resume();
  const timer = setTimeout(() => request.destroy(), lingerMs);
  request.on("close", () => clearTimeout(timer));
}

function badHost(): ResponseParts {
  return errorResponse(
    400,
    "Bad Request",
    "InvalidUri",
    "The requested URI does not represent any resource on the server.",
  );
}
