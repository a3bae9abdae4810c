// `entitable/server`: stores behind HTTP, for every client of the Table service that there is. Node, or what is like it.

import { StoreError } from "../errors.ts";
import type { RestEntryPoint } from "../rest/entry-point.ts";
import type { StoreHandle } from "../store.ts";
import type { Store } from "../types.ts";
import { type NodeServer, nodeModule, nodeProcess } from "../util/node.ts";
import { handleRequest, isBodyAccepted, type RequestHandlerOptions } from "./request-handler.ts";
import type { ServedRequest } from "./types.ts";

export type { ServedRequest } from "./types.ts";

const maxHeaderSize = 128 * 1024; // long filters are part of the request line
const keepAliveTimeout = 65_000; // longer than clients keep a connection: the one that closes it must not be the server
const stopMs = 5000;

/** Stores by the names of their accounts. */
export type Accounts = Readonly<Record<string, Store>>;

export interface ServeOptions {
  /** Default 10002, the emulator's; 0: any that is free. */
  port?: number;
  /** Default "127.0.0.1": this machine only. */
  host?: string;
  /** PEM. With both it is HTTPS. */
  cert?: string;
  key?: string;
  /** Of every request that was answered. Nothing is ever printed. */
  onRequest?: (served: ServedRequest) => void;
}

export interface TableServer {
  /** Without a slash at the end; an account's endpoint is `${url}/${account}`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, answers those it has, and ends. The stores stay open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Answers HTTP with a store, or with one of several by account. Whom a store lets in is said when it is opened (`account`).
 * Rejects with Node's error if it can't listen (EADDRINUSE and so on).
 */
export async function serve(
  stores: Store | Accounts,
  options: ServeOptions = {},
): Promise<TableServer> {
  const { port = 10002, host = "127.0.0.1", cert, key, onRequest } = options;
  if (nodeProcess() === undefined) throw new StoreError("NotSupported", "serve() takes Node.");
  if ((cert === undefined) !== (key === undefined)) {
    throw new StoreError("ValidationFailed", "cert and key go together.");
  }
  const entryPoints = entryPointsOf(stores);
  const scheme = cert === undefined ? "http" : "https";
  const { createServer } = await nodeModule(`node:${scheme}`);
  const stop = new AbortController();
  const handlerOptions: RequestHandlerOptions = {
    entryPoints,
    scheme,
    authority: host.includes(":") ? `[${host}]` : host,
    stopping: () => stop.signal.aborted,
    onRequest,
  };
  const secret = cert === undefined || key === undefined ? {} : { cert, key };
  const server = createServer(
    { maxHeaderSize, keepAliveTimeout, ...secret },
    (request, response) => {
      void handleRequest(request, response, handlerOptions);
    },
  );
  server.on("checkContinue", (request, response) => {
    if (isBodyAccepted(request)) response.writeContinue();
    void handleRequest(request, response, handlerOptions);
  });
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
      // A connection that can't be accepted (the process has no descriptor left). That nobody listens would end the process.
      server.on("error", () => {});
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

// Connections that wait for nothing go at once, the others with their response; whatever is left after a while is cut.
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
