// Tests parity(), which compares the responses of two services to one script: which differences are
// ignored, and how the others are reported.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import { serve } from "../../../web/src/server/serve.ts";
import type { MockOptions, ParityScript } from "../../../web/src/testing/index.ts";
import { mockStore, parity } from "../../../web/src/testing/index.ts";

const url = "http://127.0.0.1:10002/acme";
const json = { "Content-Type": "application/json", Accept: "application/json;odata=fullmetadata" };
const open = (options: MockOptions = {}) => mockStore({ name: "acme", ...options });

// Calls of the official client. The last one rejects.
const byClient: ParityScript = async ({ url, httpClient }) => {
  const options = { httpClient, allowInsecureConnection: true };
  const service = new TableServiceClient(url, options);
  const table = new TableClient(url, "people", options);
  await table.createTable();
  await table.createEntity({ partitionKey: "p", rowKey: "a", ratio: 1.5, when: new Date(0) });
  const { etag } = await table.getEntity("p", "a");
  await table.updateEntity({ partitionKey: "p", rowKey: "a", age: 7 }, "Merge", { etag });
  await table.submitTransaction(
    ["b", "c", "d"].map((rowKey) => ["create", { partitionKey: "p", rowKey }]),
  );
  await table
    .submitTransaction([
      ["create", { partitionKey: "p", rowKey: "e" }],
      ["create", { partitionKey: "p", rowKey: "b" }],
    ])
    .catch(() => {});
  for await (const _ of table.listEntities().byPage({ maxPageSize: 2 }));
  for await (const _ of service.listTables());
  await service.getProperties();
  await table.setAccessPolicy([{ id: "one", accessPolicy: { permission: "r" } }]);
  await table.getAccessPolicy();
  await table.getEntity("p", "nobody");
};

const byFetch: ParityScript = async ({ url, fetch }) => {
  const post = (path: string, entity: object) =>
    fetch(`${url}/${path}`, { method: "POST", headers: json, body: JSON.stringify(entity) });
  await post("Tables", { TableName: "people" });
  const made = await post("people", { PartitionKey: "p", RowKey: "a", ratio: 3.5, name: "Ann" });
  const etag = made.headers.get("etag") ?? "";
  await post("people", { PartitionKey: "p", RowKey: "b" });
  const listed = await fetch(`${url}/people()?$top=1`, { headers: json });
  const next = listed.headers.get("x-ms-continuation-nextpartitionkey");
  const row = listed.headers.get("x-ms-continuation-nextrowkey");
  await fetch(`${url}/people()?NextPartitionKey=${next}&NextRowKey=${row}`, { headers: json });
  const headers = { "If-Match": etag };
  await fetch(`${url}/people(PartitionKey='p',RowKey='a')`, { method: "DELETE", headers });
  await fetch(`${url}/people()?$filter=nonsense`);
};

describe("no difference is reported", () => {
  for (const [what, script, requests] of [
    ["by the official client", byClient, 13],
    ["by fetch", byFetch, 7],
  ] as const) {
    test(`${what}, between stores of other seeds and times, one behind a server`, async () => {
      await using mock = await open();
      await using other = await open({ seed: 8, clock: "2031-01-01T00:00:00Z" });
      await using server = await serve(other, { port: 0 });
      const report = await parity(script, { mock, real: { url: `${server.url}/acme/` } });
      assert.deepEqual(report, { requests, differences: [] });
      assert.equal(mock.requests.all().length, requests, "it was asked as often as that");
    });
  }
});

// Compares a store with a copy whose responses are modified by `tampered`.
async function differences(
  script: ParityScript,
  options: MockOptions,
  tampered: (answer: Response) => Promise<Response> = async (answer) => answer,
) {
  const fixtures = { people: [{ partitionKey: "p", rowKey: "a", ratio: 3.5, age: 3 }] };
  await using mock = await open({ fixtures });
  await using other = await open({ fixtures, ...options });
  const real = {
    url,
    fetch: async (input: RequestInfo | URL, init?: RequestInit) =>
      tampered(await other.fetch(input, init)),
  };
  return (await parity(script, { mock, real })).differences;
}

// Returns a function that changes a response's body.
const withBody = (change: (text: string) => string) => async (answer: Response) =>
  new Response(change(await answer.text()), {
    status: answer.status,
    headers: answer.headers,
  });

describe("a difference is reported", () => {
  const entity = "/people(PartitionKey='p',RowKey='a')";
  const request = `GET ${url}${entity}`;
  const read: ParityScript = ({ url, fetch }) => fetch(url + entity);

  test("in status and code, with the message", async () => {
    const respond = { code: "ServerBusy", message: "Not now.", retryAfter: 3 };
    const found = await differences(
      async ({ url, fetch }) => {
        await fetch(`${url}/people(PartitionKey='p',RowKey='b')`);
      },
      { faults: [{ on: "get", respond }] },
    );
    const common = { requestIndex: 0, request: `GET ${url}/people(PartitionKey='p',RowKey='b')` };
    assert.deepEqual(found, [
      { ...common, kind: "status", mock: 404, real: 503 },
      { ...common, kind: "code", mock: "ResourceNotFound", real: "ServerBusy" },
      { ...common, kind: "header", path: "retry-after", mock: undefined, real: "3" },
      {
        ...common,
        kind: "header",
        path: "x-ms-error-code",
        mock: "ResourceNotFound",
        real: "ServerBusy",
      },
      {
        ...common,
        kind: "body",
        path: "odata.error.message.value",
        mock: "The specified resource does not exist.",
        real: "Not now.",
      },
    ]);
  });

  test("in headers", async () => {
    const found = await differences(read, {}, async (answer) => {
      answer.headers.set("Content-Type", "application/json");
      answer.headers.set("ETag", "W/\"datetime'not encoded'\"");
      answer.headers.set("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
      answer.headers.set("Server", "Another/1.0");
      answer.headers.delete("x-ms-request-id");
      return answer;
    });
    assert.deepEqual(
      found.map(({ kind, path, real }) => [kind, path, real]),
      [
        ["header", "content-type", "application/json"],
        ["header", "x-ms-request-id", undefined],
      ],
    );
  });

  test("in a body: each place, and the format of numbers", async () => {
    const change = (text: string) =>
      text
        .replace('"age":3', '"age":3.0')
        .replace('"ratio":3.5', '"ratio":"3.5"')
        .replace(/"RowKey":"a",/, "");
    const found = await differences(read, {}, withBody(change));
    assert.deepEqual(found, [
      { requestIndex: 0, request, kind: "body", path: "RowKey", mock: "a", real: undefined },
      { requestIndex: 0, request, kind: "body", path: "age", mock: 3, real: "<3.0>" },
      { requestIndex: 0, request, kind: "body", path: "ratio", mock: 3.5, real: "3.5" },
    ]);
  });

  test("in one response of a batch", async () => {
    const found = await differences(
      async ({ url, httpClient }) => {
        const options = { httpClient, allowInsecureConnection: true };
        const table = new TableClient(url, "people", options);
        await table.submitTransaction([
          ["create", { partitionKey: "q", rowKey: "a" }],
          ["create", { partitionKey: "q", rowKey: "b" }],
        ]);
      },
      {},
      withBody((text) => text.replace(/^ETag:[^\r\n]*\r\n/m, "").replace(/\(.*\bRowKey='b'/, "(")),
    );
    assert(found.length > 0);
    assert(found.every(({ kind, path }) => kind === "body" && /^\d\.headers\./.test(path ?? "")));
    assert(found.some(({ path, real }) => path === "0.headers.etag" && real === undefined));
  });

  test("in XML", async () => {
    const found = await differences(
      ({ url, fetch }) => fetch(`${url}/?restype=service&comp=properties`),
      {},
      withBody((text) => text.replace("<Version>1.0</Version>", "<Version>2.0</Version>")),
    );
    assert.deepEqual(
      found.map(({ kind, path }) => [kind, path]),
      [["body", ""]],
    );
  });

  test("in the kind of response", async () => {
    const found = await differences(read, { faults: [{ on: "get", network: "reset" }] });
    assert.deepEqual(found, [
      {
        requestIndex: 0,
        request,
        kind: "end",
        mock: undefined,
        real: "RestError REQUEST_SEND_ERROR",
      },
      {
        requestIndex: 1,
        request: "the end of the script",
        kind: "end",
        mock: undefined,
        real: "TypeError",
      },
    ]);
  });

  test("in later requests of the script", async () => {
    const faults = [{ on: "get" as const, respond: { code: "ServerBusy" } }];
    const found = await differences(
      async ({ url, fetch }) => {
        const { ok } = await fetch(url + entity);
        await fetch(`${url}/${ok ? "people" : "Tables"}()`);
        if (ok) await fetch(`${url}/more()`);
      },
      { faults },
    );
    assert.deepEqual(
      found
        .filter(({ requestIndex }) => requestIndex > 0)
        .map(({ kind, mock, real }) => [kind, mock, real]),
      [
        ["request", `GET ${url}/people()`, `GET ${url}/Tables()`],
        ["request", `GET ${url}/more()`, undefined],
      ],
    );
  });

  test("but not if both sides fail the same way", async () => {
    const script: ParityScript = async ({ url, httpClient }) => {
      const options = { httpClient, allowInsecureConnection: true };
      await new TableClient(url, "people", options).getEntity("p", "nobody");
    };
    assert.deepEqual(await differences(script, {}), []);
  });
});

test("an invalid URL is rejected", async () => {
  await using mock = await open();
  await assert.rejects(parity(byFetch, { mock, real: { url: "people" } }), {
    code: "ValidationFailed",
  });
});
