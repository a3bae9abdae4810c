// `entitable/server`: serves stores over HTTP to every client of the Table service, in Node and
// compatible runtimes.

import { StoreError } from "../errors.ts";
import type { RestEntryPoint } from "../rest/entry-point.ts";
import type { StoreHandle } from "../store.ts";
import type { Store } from "../types.ts";
import { type NodeServer, nodeModule, nodeProcess } from "../util/node.ts";
import { BodyBudget } from "./body-budget.ts";
import { completeLimits, nodeServerOptions, type ServerLimits } from "./limits.ts";
import { handleRequest, type RequestHandlerOptions } from "./request-handler.ts";
import type { ServedRequest } from "./served-request.ts";
import { Turns } from "./turns.ts";

export type { ServerLimits } from "./limits.ts";
export type { ServedRequest } from "./served-request.ts";

const maxHeaderSize = 128 * 1024; // long filters are part of the request line
const stopMs = 5000;

/** Stores by account name. */
export type Accounts = Readonly<Record<string, Store>>;

export interface ServeOptions {
  /** Default 10002, the emulator's port. 0: any free port. */
  port?: number;
  /** Default "127.0.0.1", which only this machine can reach. */
  host?: string;
  /** The certificate and its `key`, in PEM. If both are given, the server uses HTTPS. */
  cert?: string;
  key?: string;
  /** Limits of time, memory and connections, each with a default. */
  limits?: Partial<ServerLimits>;
  /** Called after every request that got a response. The package never prints to the console. */
  onRequest?: (served: ServedRequest) => void;
}

export interface TableServer {
  /** The server's URL, without a trailing slash. An account's endpoint is `${url}/${account}`. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops accepting requests, and resolves when the pending ones have ended. The stores stay open.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves one store, or several stores by account name, over HTTP. Each store's option `account`
 * controls access. Rejects with Node's error if the server cannot listen (for example EADDRINUSE).
 */
export async function serve(
  stores: Store | Accounts,
  options: ServeOptions = {},
): Promise<TableServer> {
  const { port = 10002, host = "127.0.0.1", cert, key, onRequest } = options;
  if (nodeProcess() === undefined) throw new StoreError("NotSupported", "serve() requires Node.");
  if ((cert === undefined) !== (key === undefined)) {
    throw new StoreError("ValidationFailed", "cert and key must be given together.");
  }
  const limits = completeLimits(options.limits);
  const entryPoints = entryPointsOf(stores);
  const scheme = cert === undefined ? "http" : "https";
  const { createServer } = await nodeModule(`node:${scheme}`);
  const stop = new AbortController();
  const handlerOptions: RequestHandlerOptions = {
    entryPoints,
    scheme,
    authority: host.includes(":") ? `[${host}]` : host,
    budget: new BodyBudget(limits.bodyBytes),
    responses: new BodyBudget(limits.responseBytes),
    responseMs: limits.responseMs,
    turns: new Turns(),
    stopping: () => stop.signal.aborted,
    onRequest,
  };
  const secret = cert === undefined || key === undefined ? {} : { cert, key };
  const server = createServer(
    { maxHeaderSize, ...nodeServerOptions(limits), ...secret },
    (request, response) => void handleRequest(request, response, handlerOptions),
  );
  server.on("checkContinue", (request, response) => {
    const continueBody = () => response.writeContinue();
    void handleRequest(request, response, { ...handlerOptions, continueBody });
  });
  server.maxConnections = limits.connections;
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  const bound = await listen(server, port, host);
  const close = () => {
    stop.abort();
    return end(server);
  };
  const url = `${scheme}://${handlerOptions.authority}:${bound}`;
  return { url, port: bound, close, [Symbol.asyncDispose]: close };
}

function entryPointsOf(stores: Store | Accounts): ReadonlyMap<string, RestEntryPoint> {
  const accounts = isStore(stores) ? { "": stores } : stores;
  const entryPoints = new Map<string, RestEntryPoint>();
  for (const [name, store] of Object.entries(accounts)) {
    entryPoints.set(name.toLowerCase(), (store as StoreHandle).restEntryPoint);
  }
  if (entryPoints.size === 0)
    throw new StoreError("ValidationFailed", "There is no store to serve.");
  return entryPoints;
}

function isStore(stores: Store | Accounts): stores is Store {
  return typeof stores["fetch"] === "function";
}

function listen(server: NodeServer, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      // A connection could not be accepted, for example because no file descriptors are left.
      // Without a listener, this error would end the process.
      server.on("error", () => {});
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

// Stops the server. Idle connections close immediately, the others after their response. After
// stopMs, the rest are destroyed.
function end(server: NodeServer): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), stopMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
