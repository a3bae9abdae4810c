// Tests a mock store behind a server, which authorizes a request before its body arrives: faults,
// the log and the ids of responses must be those of one request.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { serve } from "../../../web/src/server/serve.ts";
import { type MockOptions, mockStore } from "../../../web/src/testing/index.ts";

const account = { name: "acme", keys: ["a2V5"], authorize: true };
const insert = {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ PartitionKey: "p", RowKey: "r" }),
};
const open = (options: MockOptions = {}) =>
  mockStore({ name: "acme", fixtures: { people: [] }, ...options });

describe("a request with a body to a mock store behind a server", () => {
  test("is logged once, whether it is authorized or not", async () => {
    for (const [options, status] of [
      [{}, 201],
      [{ account }, 403],
    ] as const) {
      await using store = await open(options);
      await using server = await serve(store, { port: 0 });
      const response = await fetch(`${server.url}/acme/people`, insert);
      assert.equal(response.status, status);
      assert.deepEqual(
        store.requests.all().map((one) => [one.operation, one.status]),
        [["insert", status]],
      );
    }
  });

  test("counts once for a fault rule", async () => {
    const respond = { code: "ServerBusy" };
    for (const [options, status] of [
      [{}, 201],
      [{ account }, 403],
    ] as const) {
      await using store = await open({ ...options, faults: [{ on: "insert", skip: 1, respond }] });
      await using server = await serve(store, { port: 0 });
      const send = async () => (await fetch(`${server.url}/acme/people`, insert)).status;
      assert.deepEqual([await send(), await send()], [status, 503]);
    }
  });

  test("takes one id, as it does without a server", async () => {
    const ids = async (send: (path: string, init?: typeof insert) => Promise<Response>) => {
      const responses = [await send("people", insert), await send("Tables")];
      return responses.map(({ headers }) => headers.get("x-ms-request-id"));
    };
    for (const options of [{}, { account }]) {
      await using store = await open({ ...options, seed: 7 });
      await using same = await open({ ...options, seed: 7 });
      await using server = await serve(store, { port: 0 });
      const served = await ids((path, init) => fetch(`${server.url}/acme/${path}`, init));
      const url = "https://acme.table.core.windows.net";
      assert.deepEqual(served, await ids((path, init) => same.fetch(`${url}/${path}`, init)));
    }
  });
});
