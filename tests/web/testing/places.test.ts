// The same seed must give the same bytes wherever the store is: in this thread, in another thread,
// or behind a server. tests/browser/determinism.test.ts does the same for pages and workers.

import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { serve } from "../../../web/src/server/serve.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import {
  address,
  options,
  type SendRequest,
  transcript,
  transcriptOf,
} from "../support/transcript.ts";

async function inline(): Promise<string> {
  await using store = await mockStore(options);
  return await transcriptOf(store);
}

// Returns a function that sends requests to this port, with the host of the URL. fetch cannot do
// this.
function toPort(port: number): SendRequest {
  return async (url, init = {}) => {
    const { pathname, search, host } = new URL(url);
    const outgoing = httpRequest({
      port,
      host: "127.0.0.1",
      path: pathname + search,
      method: init.method ?? "GET",
      headers: { ...(init.headers as Record<string, string>), host },
    });
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
    outgoing.end(init.body);
    const [response] = await answered;
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const { statusCode: status = 0, statusMessage: statusText = "" } = response;
    const headers = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const body = status === 204 ? null : Buffer.concat(chunks);
    return new Response(body, { status, statusText, headers });
  };
}

test("a store in this thread repeats its responses, random values included", async () => {
  const said = await inline();
  assert.equal(await inline(), said);
  assert.match(said, /503\nService Unavailable\n/);
  assert.match(said, /x-ms-continuation-nextrowkey/);
  assert(said.includes(address));
  const { seed: _, ...others } = options;
  await using other = await mockStore(others);
  assert.notEqual(await transcriptOf(other), said);
});

test("a store in another thread returns the same", async () => {
  const worker = new Worker(new URL("../support/transcript-worker.ts", import.meta.url));
  const [said] = await once(worker, "message");
  assert.equal(said, await inline());
});

test("a store behind a server returns the same", async () => {
  await using store = await mockStore(options);
  await using server = await serve(store, { port: 0 });
  assert.equal(await transcript(toPort(server.port)), await inline());
});
