// A proxy between a client and a server of the Table service that loses, delays, cuts and replaces
// requests and responses, at random.

import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "./random.ts";

export const faults = [
  "lost", // the request does not arrive
  "answerLost",
  "late", // the client's connection ends, and the request arrives later
  "slow",
  "error", // 500 of a proxy, although the request was executed
  "busy", // 429, not executed
  "busyAfter", // 503 of the service, although the request was executed
  "cut", // the connection ends within the response
  "truncated", // the response has half of its body, and the length of that half
  "page", // 200 with an HTML page
  "redirect",
  "rejected", // 403 with an HTML page
] as const;
export type Fault = (typeof faults)[number];

export interface Message {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

export interface FaultProxyOptions {
  /** Sends the request to the service, and may do more. Default: only sends it. */
  readonly through?: (request: ProxiedRequest, forward: () => Promise<Message>) => Promise<Message>;
  /** Whether pages of all origins may use it, also if the service has no CORS rule. */
  readonly permitsPages?: boolean;
}

const html = "<html><body><code>Sign in</code></body></html>";

export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #target: URL;
  readonly #random: Random;
  readonly #options: FaultProxyOptions;
  /** Of a hundred requests, so many have each fault. */
  percent = 0;
  kinds: readonly Fault[] = faults;
  /** No request arrives. */
  isDown = false;
  readonly counts = new Map<Fault, number>();

  private constructor(target: string, random: Random, options: FaultProxyOptions) {
    this.#target = new URL(target);
    this.#random = random;
    this.#options = options;
    this.#server = createServer((from, to) => {
      this.#serve(from, to).catch(() => to.destroy());
    });
  }

  /** `target`: the URL of an account. */
  static async start(
    target: string,
    random: Random,
    options: FaultProxyOptions = {},
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, random, options);
    await once(proxy.#server.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}${this.#target.pathname}`;
  }

  get total(): number {
    return [...this.counts.values()].reduce((a, b) => a + b, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#agent.destroy();
    await once(this.#server, "close");
  }

  async #serve(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const body = await bodyOf(from);
    const draw = this.#random.below(100);
    if (this.isDown) return void to.destroy();
    const fault = this.percent === 0 ? undefined : this.kinds[Math.floor(draw / this.percent)];
    if (fault) this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    const { permitsPages, through } = this.#options;
    if (permitsPages) permitPages(from, to);
    const isPreflight = permitsPages === true && from.method === "OPTIONS";
    const forward = () => this.#forward(from, body);
    const { method = "", url: path = "" } = from;
    await this.#answer(fault, to, async () => {
      if (isPreflight) return { status: 204, headers: {}, body: Buffer.alloc(0) };
      return through ? await through({ method, path, body }, forward) : await forward();
    });
  }

  async #answer(fault: Fault | undefined, to: ServerResponse, forward: () => Promise<Message>) {
    switch (fault) {
      case undefined:
        return send(to, await forward());
      case "lost":
        return void to.destroy();
      case "answerLost":
        await forward();
        return void to.destroy();
      case "late":
        to.destroy();
        await delay(this.#random.below(300));
        return void (await forward());
      case "slow":
        await delay(this.#random.below(300));
        return send(to, await forward());
      case "error":
        await forward();
        return sendPage(to, 500);
      case "busy":
        return sendPage(to, 429, { "Retry-After": `${this.#random.below(2)}` });
      case "busyAfter":
        await forward();
        return sendBusy(to);
      case "cut":
      case "truncated":
        return sendHalf(to, await forward(), fault === "cut");
      case "page":
        return sendPage(to, 200);
      case "redirect":
        return sendPage(to, 302, { Location: "http://127.0.0.1:9/" });
      case "rejected":
        return sendPage(to, 403);
    }
  }

  async #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Message> {
    const { hostname, port } = this.#target;
    const sent = request({ agent: this.#agent, hostname, port, path: url, method, headers });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    sent.end(body);
    const [response] = await answered;
    const { statusCode: status = 0, headers: received } = response;
    return { status, headers: received, body: await bodyOf(response) };
  }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function permitPages({ headers }: IncomingMessage, to: ServerResponse): void {
  to.setHeader("Access-Control-Allow-Origin", "*");
  to.setHeader("Access-Control-Expose-Headers", "*");
  to.setHeader("Access-Control-Allow-Methods", "GET, POST");
  to.setHeader("Access-Control-Allow-Headers", headers["access-control-request-headers"] ?? "*");
}

function send(to: ServerResponse, { status, headers, body }: Message): void {
  const { "transfer-encoding": _, connection: __, ...kept } = headers;
  to.writeHead(status, { ...kept, "content-length": body.length });
  to.end(body);
}

const sendPage = (to: ServerResponse, status: number, headers = {}): void =>
  void to.writeHead(status, { "Content-Type": "text/html", ...headers }).end(html);

function sendBusy(to: ServerResponse): void {
  const error = { code: "ServerBusy", message: { lang: "en-US", value: "The server is busy." } };
  to.writeHead(503, { "Content-Type": "application/json" });
  to.end(JSON.stringify({ "odata.error": error }));
}

function sendHalf(to: ServerResponse, message: Message, isCut: boolean): void {
  const { status, headers, body } = message;
  const half = body.subarray(0, body.length >> 1);
  if (isCut) {
    const { "transfer-encoding": _, connection: __, ...kept } = headers;
    to.writeHead(status, { ...kept, "content-length": body.length + 1 });
    to.write(half, () => to.destroy());
  } else send(to, { ...message, body: half });
}
