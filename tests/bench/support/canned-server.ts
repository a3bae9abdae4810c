// The process of CannedServer: Node's HTTP server without a store.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CannedResponse, CannedSequence } from "./canned.ts";

let round = new CannedSequence([]);
process.on("message", (responses) => {
  round = new CannedSequence(responses as CannedResponse[]);
  process.send?.("ready");
});

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const { status, headers, body } = round.next();
    response.writeHead(status, headers.flat());
    response.end(body);
  });
}).listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
