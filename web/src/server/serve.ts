// `entitable/server`: serves stores over HTTP to every client of the Table service, in Node and
// compatible runtimes.

import { StoreError } from "../errors.ts";
import type { StoreHandle } from "../store.ts";
import type { Store } from "../types.ts";
import { type NodeHttp, type NodeServer, nodeModule, nodeProcess } from "../util/node.ts";
import { requireKnownOptions } from "../util/option-names.ts";
import { errorMessage } from "../util/platform-objects.ts";
import { BodyBudget } from "./body-budget.ts";
import { Feeds } from "./feeds.ts";
import { completeLimits, nodeServerOptions, type ServerLimits } from "./limits.ts";
import { handleRequest, type RequestHandlerOptions } from "./request-handler.ts";
import type { ServedRequest } from "./served-request.ts";
import { Turns } from "./turns.ts";

export type { ServerLimits } from "./limits.ts";
export type { ServedRequest } from "./served-request.ts";

const optionNames: readonly (keyof ServeOptions)[] = [
  "port",
  "host",
  "cert",
  "key",
  "pfx",
  "passphrase",
  "limits",
  "onRequest",
  "onReset",
  "feed",
];
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
  /** Instead of `cert` and `key`: a .pfx file (PKCS #12) with both, and its password. */
  pfx?: Uint8Array;
  passphrase?: string;
  /** Limits of time, memory and connections, each with a default. */
  limits?: Partial<ServerLimits>;
  /** Called after every request that got a response. */
  onRequest?: (served: ServedRequest) => void;
  /**
   * If given, the request `POST /_reset` calls it and gets 204 when it has resolved. For tests: for
   * example `() => store.reset()` of a mock store. Every client may send this request.
   */
  onReset?: () => Promise<void>;
  /**
   * Whether clients may read the change feed of each store, as server-sent events: `GET
   * ${url}/${account}/_changes`. Access is that of reading entities. Default false.
   */
  feed?: boolean;
}

export interface TableServer {
  /** The server's URL, without a trailing slash. An account's endpoint is `${url}/${account}`. */
  readonly url: string;
  readonly port: number;
  /**
   * Stops accepting requests, ends change feeds, and resolves when the pending requests have ended.
   * The stores stay open.
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
  requireKnownOptions("serve", options, optionNames);
  const { port = 10002, host = "127.0.0.1", onRequest, onReset } = options;
  if (nodeProcess() === undefined) throw new StoreError("NotSupported", "serve() requires Node.");
  const certificate = certificateFrom(options);
  const limits = completeLimits(options.limits);
  const byAccount = storesByAccount(stores);
  const scheme = certificate === undefined ? "http" : "https";
  const { createServer } = await nodeModule(`node:${scheme}`);
  const stop = new AbortController();
  const responses = new BodyBudget(limits.responseBytes);
  const feeds = options.feed ? feedsOf(byAccount.values(), limits, responses) : undefined;
  const handlerOptions: RequestHandlerOptions = {
    entryPoints: new Map([...byAccount].map(([name, store]) => [name, store.restEntryPoint])),
    scheme,
    authority: host.includes(":") ? `[${host}]` : host,
    budget: new BodyBudget(limits.bodyBytes),
    responses,
    responseMs: limits.responseMs,
    turns: new Turns(),
    stopping: () => stop.signal.aborted,
    onRequest,
    onReset,
    feeds,
  };
  const server = createWithCertificate(
    createServer,
    { maxHeaderSize, ...nodeServerOptions(limits), ...certificate },
    (request, response) => void handleRequest(request, response, handlerOptions),
  );
  server.on("checkContinue", (request, response) => {
    const continueBody = () => response.writeContinue();
    void handleRequest(request, response, { ...handlerOptions, continueBody });
  });
  server.maxConnections = limits.connections;
  server.maxRequestsPerSocket = limits.requestsPerConnection;
  await feeds?.start();
  const bound = await listen(server, port, host).catch((error: unknown) => {
    feeds?.close();
    throw error;
  });
  const close = () => {
    stop.abort();
    feeds?.close();
    return end(server);
  };
  const url = `${scheme}://${handlerOptions.authority}:${bound}`;
  return { url, port: bound, close, [Symbol.asyncDispose]: close };
}

type Certificate = { cert: string; key: string } | { pfx: Uint8Array; passphrase: string };

// Returns the certificate for HTTPS, or undefined for HTTP.
function certificateFrom({ cert, key, pfx, passphrase }: ServeOptions): Certificate | undefined {
  if ((cert === undefined) !== (key === undefined)) {
    throw new StoreError("ValidationFailed", "cert and key must be given together.");
  }
  if (pfx !== undefined && cert !== undefined) {
    throw new StoreError("ValidationFailed", "pfx takes the place of cert and key.");
  }
  if (pfx !== undefined) return { pfx, passphrase: passphrase ?? "" };
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

// Throws StoreError ValidationFailed if Node cannot read the certificate.
function createWithCertificate(
  createServer: NodeHttp["createServer"],
  ...args: Parameters<NodeHttp["createServer"]>
): NodeServer {
  try {
    return createServer(...args);
  } catch (cause) {
    const reason = errorMessage(cause);
    const message = `The certificate can't be used (wrong file or password?): ${reason}.`;
    throw new StoreError("ValidationFailed", message, { cause });
  }
}

function feedsOf(
  stores: Iterable<StoreHandle>,
  limits: ServerLimits,
  responses: BodyBudget,
): Feeds {
  const { feeds: feedsMax, responseMs } = limits;
  const byEntryPoint = new Map([...stores].map((store) => [store.restEntryPoint, store]));
  return new Feeds({ stores: byEntryPoint, feedsMax, responses, responseMs });
}

function storesByAccount(stores: Store | Accounts): ReadonlyMap<string, StoreHandle> {
  const accounts = isStore(stores) ? { "": stores } : stores;
  if (typeof Object(stores)["then"] === "function") {
    throw new StoreError("ValidationFailed", "serve was given a promise of a store.", {
      hint: "Await the store: serve(await mockStore()).",
    });
  }
  const byAccount = new Map<string, StoreHandle>();
  for (const [name, store] of Object.entries(accounts)) {
    if (!isStore(store)) throw noStoreError(`serve was given no store for account ${name}.`);
    byAccount.set(name.toLowerCase(), store as StoreHandle);
  }
  if (byAccount.size === 0) throw noStoreError("There is no store to serve.");
  return byAccount;
}

function noStoreError(message: string): StoreError {
  return new StoreError("ValidationFailed", message, {
    hint: "The first argument is a store, or an object of stores by account name.",
  });
}

function isStore(stores: Store | Accounts): stores is Store {
  return typeof Object(stores)["fetch"] === "function";
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
