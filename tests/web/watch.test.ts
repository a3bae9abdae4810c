// Tests what the engine says about a request: its operation, an error response that would reject
// it, and its outcome.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { ResponseDecoder, type WriteOperation } from "../../web/src/client/rpc-codec.ts";
import { RestError, StoreError } from "../../web/src/errors.ts";
import { accountFromOptions } from "../../web/src/rest/account.ts";
import { RestEntryPoint } from "../../web/src/rest/entry-point.ts";
import { createHttpClient } from "../../web/src/rest/http-client.ts";
import { decodeHttpResponse, encodeHttpRequest } from "../../web/src/rest/http-message.ts";
import type { Transport } from "../../web/src/transport.ts";
import type { RequestDescription } from "../../web/src/types.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { createEngine, type Engine, type SimulatedError } from "../../web/src/wasm/engine.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import {
  encodeCreateTable,
  encodeExplain,
  encodeGet,
  encodeListTables,
  encodeQuery,
  encodeWrite,
} from "./support/copied-messages.ts";

const decoder = new ResponseDecoder();

const now = Date.UTC(2026, 0, 1);
const base = "http://127.0.0.1:10002/acct";
const key = { partitionKey: "p", rowKey: "r\ud83d" };
const described = { table: "people", ...key };

async function open(): Promise<Engine> {
  const engine = await createEngine();
  engine.recover(undefined);
  engine.finishRecovery();
  engine.configureAccount(accountFromOptions({}, "acct"), undefined);
  return engine;
}

function write(operation: WriteOperation): Uint8Array {
  return encodeWrite("people", [operation], false);
}

function http(
  method: string,
  path: string,
  body = "",
  headers: readonly (readonly [string, string])[] = [],
): Uint8Array {
  const bytes = new TextEncoder().encode(body);
  const parts = { method, url: `${base}/${path}`, headers, body: bytes, clientIp: "" };
  return encodeHttpRequest(parts, platformRandom);
}

function commit(engine: Engine, request: Uint8Array): Uint8Array {
  const staged = assertLoaded(engine.stage([request], now));
  if (staged.changes) engine.publish();
  else engine.discard();
  return staged.responses[0] as Uint8Array;
}

describe("the description of a request", () => {
  const ifMatch = [["If-Match", "*"]] as const;
  const same: [string, RequestDescription, Uint8Array, Uint8Array][] = [
    [
      "insert",
      { operation: "insert", ...described },
      write({ kind: "insert", ...key, entity: { é: 1n, b: new Uint8Array(3) } }),
      http("POST", "people", JSON.stringify({ PartitionKey: "p", RowKey: key.rowKey })),
    ],
    [
      "upsert",
      { operation: "upsert", mode: "Merge", table: "people", partitionKey: "p", rowKey: "é" },
      write({ kind: "insertOrMerge", partitionKey: "p", rowKey: "é", entity: {} }),
      http("PATCH", "people(PartitionKey='p',RowKey='%C3%A9')", "{}"),
    ],
    [
      "update",
      { operation: "update", table: "people", partitionKey: "p", rowKey: "é" },
      write({ kind: "replace", partitionKey: "p", rowKey: "é", entity: {}, etag: "*" }),
      http("PUT", "people(PartitionKey='p',RowKey='%C3%A9')", "{}", ifMatch),
    ],
    [
      "delete",
      { operation: "delete", table: "people", partitionKey: "", rowKey: "it's" },
      write({ kind: "delete", partitionKey: "", rowKey: "it's", etag: "*" }),
      http("DELETE", "people(PartitionKey='',RowKey='it''s')", "", ifMatch),
    ],
    [
      "get",
      { operation: "get", table: "people", partitionKey: "p", rowKey: "r" },
      encodeGet("people", "p", "r"),
      http("GET", "people(PartitionKey='p',RowKey='r')"),
    ],
    [
      "query",
      { operation: "query", table: "people", filter: "a eq '+'", select: ["a", "b"], top: 7 },
      encodeQuery("people", { filter: "a eq '+'", select: ["a", "b"], top: 7 }),
      http("GET", "people()?$filter=a%20eq%20'%2B'&$select=a,b&$top=7"),
    ],
    [
      "createTable",
      { operation: "createTable", table: "people" },
      encodeCreateTable("people"),
      http("POST", "Tables", '{"TableName":"people"}'),
    ],
    ["listTables", { operation: "listTables" }, encodeListTables({}), http("GET", "Tables")],
  ];
  for (const [name, expected, direct, rest] of same) {
    test(`${name}: the same through both entry points`, async () => {
      const engine = await open();
      assert.deepEqual(engine.describeRequest(direct), expected);
      assert.deepEqual(engine.describeRequest(rest), expected);
    });
  }

  test("lists the operations of a batch", async () => {
    const engine = await open();
    const operations: WriteOperation[] = [
      { kind: "insert", partitionKey: "p", rowKey: "1", entity: {} },
      { kind: "merge", partitionKey: "p", rowKey: "2", entity: {}, etag: "*" },
    ];
    const table = { table: "people", partitionKey: "p" };
    assert.deepEqual(engine.describeRequest(encodeWrite("people", operations, true)), {
      operation: "batch",
      ...table,
      operations: [
        { operation: "insert", ...table, rowKey: "1" },
        { operation: "merge", ...table, rowKey: "2" },
      ],
    });
  });

  test("operations of one entry point only, and unknown requests", async () => {
    const engine = await open();
    assert.equal(engine.describeRequest(encodeExplain("people", {})).operation, "explain");
    assert.equal(engine.describeRequest(http("GET", "people?comp=acl")).operation, "getAcl");
    assert.deepEqual(engine.describeRequest(http("DELETE", "people")), {
      operation: "unknown",
      table: "people",
    });
    assert.deepEqual(engine.describeRequest(new Uint8Array(0)), { operation: "unknown" });
  });

  test("describing a request does not execute it", async () => {
    const engine = await open();
    engine.describeRequest(encodeCreateTable("people"));
    assert.deepEqual(engine.stats().tables, []);
  });
});

// Returns the error that an RPC client makes of the error response.
function directError(engine: Engine, refusal: SimulatedError): RestError {
  const reply = engine.makeErrorResponse(encodeCreateTable("people"), refusal, now);
  return thrown(() => decoder.etagsOfWrite(reply)) as RestError;
}

// Returns the error that the official client makes of the error response.
async function officialError(engine: Engine, refusal: SimulatedError): Promise<RestError> {
  const refusing: Transport = {
    read: (request) => engine.makeErrorResponse(request, refusal, now),
    write: async (request) => engine.makeErrorResponse(request, refusal, now),
    readHttp: (request) => engine.makeErrorResponse(request, refusal, now),
    listen: () => assert.fail("nobody listens"),
    now: () => now,
  };
  const client = new TableClient(base, "people", {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    httpClient: createHttpClient(
      new RestEntryPoint(refusing, { account: "a", random: platformRandom }),
    ),
  });
  return (await client.getEntity("p", "r").catch((error: unknown) => error)) as RestError;
}

function thrown(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("the error response for a request", () => {
  const refusals: SimulatedError[] = [
    { code: "ServerBusy", headers: { "Retry-After": "1" } },
    { code: "OperationTimedOut" },
    { code: "OutOfMemory" },
    { code: "EntityAlreadyExists", message: "déjà vu" },
    { code: "TooManyRequests", status: 429, message: 'Slow "down".' },
  ];
  for (const refusal of refusals) {
    test(`${refusal.code}: one error, through either entry point`, async () => {
      const engine = await open();
      const direct = directError(engine, refusal);
      const official = await officialError(engine, refusal);
      assert.ok(direct instanceof RestError);
      assert.equal(direct.name, official.name);
      assert.equal(direct.statusCode, official.statusCode);
      assert.equal(direct.code, official.details?.errorCode);
      assert.equal(direct.details?.errorCode, official.details?.errorCode);
      assert.equal(direct.details?.odataError?.code, official.details?.odataError?.code);
      const value = official.details?.odataError?.message.value ?? "";
      assert.equal(direct.message, value.slice(0, value.indexOf("\nRequestId:")));
      assert.equal(direct.details?.["retry-after"], official.details?.["retry-after"]);
      assert.equal(direct.details?.["retry-after"], refusal.headers?.["Retry-After"]);
      if (refusal.status !== undefined) assert.equal(direct.statusCode, refusal.status);
      if (refusal.message !== undefined) assert.equal(direct.message, refusal.message);
    });
  }

  test("has the request's id and format", async () => {
    const engine = await open();
    const headers = [
      ["x-ms-client-request-id", "mine"],
      ["Accept", "application/json;odata=nometadata"],
    ] as const;
    const request = http("GET", "people", "", headers);
    const response = decodeHttpResponse(
      engine.makeErrorResponse(request, { code: "ServerBusy" }, now),
    );
    assert.equal(response.status, 503);
    const got = new Map(response.headers);
    assert.equal(got.get("x-ms-client-request-id"), "mine");
    assert.match(got.get("Content-Type") ?? "", /odata=nometadata/);
    assert.equal(got.get("Date"), new Date(now).toUTCString());
    const xml = decodeHttpResponse(
      engine.makeErrorResponse(http("GET", "people?comp=acl"), { code: "ServerBusy" }, now),
    );
    assert.match(new TextDecoder().decode(xml.body), /^<\?xml.*<m:code>ServerBusy<\/m:code>/);
  });

  test("an error that HTTP cannot carry is rejected with ValidationFailed", async () => {
    const engine = await open();
    const request = encodeCreateTable("people");
    const bad: [SimulatedError, RegExp][] = [
      [{ code: "NoSuchCode" }, /needs a status/],
      [{ code: "ServerBusy", status: 200 }, /300 to 599/],
      [{ code: "ServerBusy", headers: { a: "b\r\nc: d" } }, /headers that HTTP can carry/],
    ];
    for (const [refusal, message] of bad) {
      const error = thrown(() => engine.makeErrorResponse(request, refusal, now));
      assert.ok(error instanceof StoreError);
      assert.equal(error.code, "ValidationFailed");
      assert.match(error.message, message);
    }
    commit(engine, request); // the engine still works
    assert.equal(engine.stats().tables.length, 1);
  });
});

describe("the outcome of a request", () => {
  test("is in the response of both entry points", async () => {
    const engine = await open();
    const outcome = (request: Uint8Array) =>
      engine.responseOutcome(request, commit(engine, request));
    const rest = http("POST", "people", '{"PartitionKey":"p","RowKey":"2"}');
    const direct = write({ kind: "insert", partitionKey: "p", rowKey: "1", entity: {} });
    const batch = encodeWrite(
      "people",
      [{ kind: "insert", partitionKey: "p", rowKey: "1", entity: {} }],
      true,
    );
    assert.deepEqual(outcome(direct), { status: 404, code: "TableNotFound" });
    assert.deepEqual(outcome(rest), { status: 404, code: "TableNotFound" });
    assert.deepEqual(outcome(encodeCreateTable("people")), { status: 204 });
    assert.deepEqual(outcome(direct), { status: 204 });
    assert.deepEqual(outcome(rest), { status: 201 });
    assert.deepEqual(outcome(batch), { status: 409, code: "EntityAlreadyExists" });
    const get = encodeGet("people", "p", "1");
    // The response is a view of wasm memory.
    assert.deepEqual(engine.responseOutcome(get, assertLoaded(engine.read(get))), { status: 200 });
  });

  test("has the number of rows that a read returned", async () => {
    const engine = await open();
    commit(engine, encodeCreateTable("people"));
    for (const rowKey of ["1", "2", "3"]) {
      commit(engine, write({ kind: "insert", partitionKey: "p", rowKey, entity: { n: 1 } }));
    }
    assert.equal(decoder.page(assertLoaded(engine.read(encodeQuery("people", {})))).rows.length, 3);
    assert.deepEqual(engine.lastReadRowCounts, { read: 3, returned: 3 });
    engine.read(encodeQuery("people", { filter: "n eq 2" }));
    assert.deepEqual(engine.lastReadRowCounts, { read: 3, returned: 0 });
    engine.readHttp(
      http("GET", "people?$filter=PartitionKey%20eq%20'p'%20and%20RowKey%20ge%20'3'"),
      now,
    );
    assert.deepEqual(engine.lastReadRowCounts, { read: 1, returned: 1 });
    engine.readHttp(http("GET", "nowhere"), now);
    assert.deepEqual(engine.lastReadRowCounts, { read: 0, returned: 0 });

    const either = encodeQuery("people", { filter: "RowKey eq '1' or RowKey eq '2'" });
    engine.emulateServiceScans(true);
    engine.read(either);
    assert.deepEqual(engine.lastReadRowCounts, { read: 3, returned: 2, partition: "p" });
    engine.readHttp(http("GET", "people"), now);
    assert.deepEqual(engine.lastReadRowCounts, { read: 3, returned: 3, partition: "p" });
    engine.readHttp(http("GET", "nowhere"), now);
    assert.deepEqual(engine.lastReadRowCounts, { read: 0, returned: 0 });
    engine.emulateServiceScans(false);
    engine.read(either);
    assert.equal(engine.lastReadRowCounts.partition, undefined);
  });
});
