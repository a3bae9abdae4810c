// The process of a peer's remote. Its argument names the remote: "json" or "pouchdb".

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerCalls } from "../answer-calls.ts";
import { jsonRemote } from "./json-remote.ts";
import { pouchdbRemote } from "./pouchdb-remote.ts";

/** What stores the documents in memory, and serves them. */
export interface Remote {
  /** Where the documents are, below the server's address. */
  readonly path: string;
  answer(request: IncomingMessage, response: ServerResponse): void;
  isPush(path: string): boolean;
  load(documents: number): Promise<void>;
  /** How many documents have this version. */
  count(version: number): Promise<number>;
}

const remote = process.argv[2] === "json" ? jsonRemote() : await pouchdbRemote();
let lastPushAt = 0;
const server = createServer((request, response) => {
  allowOrigin(request, response);
  if (request.method === "OPTIONS") {
    response.writeHead(204).end();
    return;
  }
  if (request.method === "POST" && remote.isPush(request.url ?? ""))
    response.on("finish", () => {
      lastPushAt = Date.now();
    });
  remote.answer(request, response);
});
await once(server.listen(0, "127.0.0.1"), "listening");
const { port } = server.address() as AddressInfo;

const calls = {
  url: () => `http://127.0.0.1:${port}${remote.path}`,
  /** When the last push was answered, in milliseconds since 1970. */
  lastPushAt: () => lastPushAt,
  load: remote.load,
  count: remote.count,
};
export type RemoteCalls = typeof calls;
answerCalls(calls);

// The browser asks once for each URL, as it does for `entitable serve`. PouchDB sends cookies.
function allowOrigin({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", headers.origin ?? "*");
  response.setHeader("access-control-allow-credentials", "true");
  response.setHeader("access-control-allow-methods", "GET, PUT, POST");
  response.setHeader("access-control-allow-headers", "accept, content-type");
  response.setHeader("access-control-max-age", "86400");
}
