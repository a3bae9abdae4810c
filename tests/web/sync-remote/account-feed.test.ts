// Tests the connection to a feed of changes that the tables of an account share.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Feed } from "../../../web/src/sync/remote.ts";
import { AccountFeed } from "../../../web/src/sync-remote/account-feed.ts";
import type { CredentialSource } from "../../../web/src/sync-remote/authorization.ts";
import { Http } from "../../../web/src/sync-remote/http.ts";

const head = 'event: head\ndata: {"sequence":"5","store":"a"}\n\n';
const batch = (sequence: bigint, more: string) =>
  `id: ${sequence}\ndata: {"sequence":"${sequence}","at":"2026-01-01T00:00:00Z",${more}}\n\n`;

/** A server whose responses a test sends. */
class Server {
  requests = 0;
  readonly cancelled: string[] = [];
  signal: AbortSignal | undefined;
  body!: ReadableStreamDefaultController<Uint8Array>;
  answers = true;
  onResponse = (response: Response): Response => response;
  readonly http: Http;
  readonly feed: AccountFeed;

  constructor(credential?: CredentialSource) {
    const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
    const fetched: typeof fetch = (_, init) => this.#answer(init?.signal ?? undefined);
    const remote = { url: "https://account.example", credential, fetch: fetched, now };
    this.http = new Http(remote);
    this.http.feedPath = "_changes";
    this.feed = new AccountFeed(this.http);
  }

  #answer(signal: AbortSignal | undefined): Promise<Response> {
    this.requests += 1;
    this.signal = signal;
    const start = (body: ReadableStreamDefaultController<Uint8Array>) => {
      this.body = body;
    };
    const cancel = () => void this.cancelled.push("cancelled");
    const response = this.onResponse(new Response(new ReadableStream({ start, cancel })));
    return this.answers ? Promise.resolve(response) : new Promise(() => {});
  }

  send(text: string): void {
    this.body.enqueue(new TextEncoder().encode(text));
  }

  async open(): Promise<Feed> {
    const opened = this.feed.open("people", undefined, undefined);
    await delay(50);
    this.send(head);
    return (await opened) as Feed;
  }
}

describe("a feed that is closed", { timeout: 20_000 }, () => {
  test("before its request is sent makes no request", async () => {
    const server = new Server();
    const closing = new AbortController();
    const opened = server.feed.open("people", undefined, closing.signal);
    closing.abort();
    assert.equal((await opened).kind, "failed");
    await delay(50);
    assert.equal(server.requests, 0);
  });

  test("before its response ends the request", async () => {
    const server = new Server();
    server.answers = false;
    const closing = new AbortController();
    const opened = server.feed.open("people", undefined, closing.signal);
    await delay(50);
    assert.equal(server.requests, 1);
    closing.abort();
    assert.equal((await opened).kind, "failed");
    assert.equal(server.signal?.aborted, true);
  });

  test("ends the response, also if fetch ignores its signal", async () => {
    const server = new Server();
    const feed = await server.open();
    feed.close();
    assert.deepEqual(await feed.next(), { kind: "ended" });
    await delay(1);
    assert.deepEqual(server.cancelled, ["cancelled"]);
  });
});

test("a feed tells that nothing is new", { timeout: 20_000 }, async () => {
  const server = new Server();
  const feed = await server.open();
  server.send("id: 5\n\n");
  assert.deepEqual(await feed.next(), {
    kind: "events",
    events: [{ sequence: 5n, changes: [] }],
  });
  feed.close();
});

test("a feed keeps no more than a table takes", { timeout: 20_000 }, async () => {
  const server = new Server();
  const feed = await server.open();
  const after = {
    "odata.etag": 'W/"1"',
    Timestamp: "2026-01-01T00:00:00Z",
    a: "x".repeat(2 ** 22),
  };
  const keys = { PartitionKey: "p", RowKey: "r" };
  const change = { table: "people", partitionKey: "p", rowKey: "r", op: "update" };
  const changes = JSON.stringify([{ ...change, after: { ...keys, ...after } }]);
  for (let sequence = 6n; sequence < 16n; ++sequence)
    server.send(batch(sequence, `"changes":${changes}`));
  server.body.close();
  await delay(500);
  const counts = [];
  for (let answer = await feed.next(); answer.kind === "events"; answer = await feed.next())
    counts.push(answer.events.length);
  assert.equal(counts[0], 4);
  assert.equal(
    counts.reduce((a, b) => a + b),
    10,
  );
});

test("a feed stays open while a table takes no more", { timeout: 20_000 }, async () => {
  let body!: ReadableStreamDefaultController<Uint8Array>;
  const start = (controller: typeof body) => {
    body = controller;
  };
  const fetched = async () => new Response(new ReadableStream({ start }));
  const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
  const http = new Http({ url: "https://account.example", fetch: fetched, now });
  const stream = await http.open({ method: "GET", path: "_changes" }, 100);
  assert(typeof stream === "object" && "read" in stream);
  const send = (text: string) => body.enqueue(new TextEncoder().encode(text));
  send("1");
  assert.equal(await stream.read(), "1");
  await delay(400);
  send("2");
  assert.equal(await stream.read(), "2");
  assert.equal(await stream.read(), undefined); // nothing arrives
});

describe("a feed ends", { timeout: 20_000 }, () => {
  for (const [what, text] of [
    ["a change", batch(6n, '"changes":[null]')],
    ["a table", batch(6n, '"changes":[],"tables":[null]')],
  ] as const) {
    test(`with ${what} that is none`, async () => {
      const server = new Server();
      const feed = await server.open();
      server.send(text);
      assert.deepEqual(await feed.next(), { kind: "ended" });
    });
  }

  test("with a body that something else reads", async () => {
    const server = new Server();
    server.onResponse = (response) => {
      response.body?.getReader();
      return response;
    };
    assert.equal((await server.feed.open("people", undefined, undefined)).kind, "failed");
  });
});

describe("a feed whose credential is replaced", { timeout: 20_000 }, () => {
  const narrow = { signature: "sig=1&spk=a&epk=b" };
  const wide = { signature: "sig=2&spk=a&epk=z" };

  test("begins again as soon as a request may read other keys", async () => {
    const credential = { ...narrow };
    const server = new Server(credential);
    const feed = await server.open();
    credential.signature = wide.signature;
    void server.http.send({ method: "GET", path: "people()" });
    assert.deepEqual(await feed.next(), { kind: "truncated" });
  });

  test("begins again also if no request is sent", async () => {
    const credential = { ...narrow };
    const server = new Server(credential);
    const feed = await server.open();
    credential.signature = wide.signature;
    server.send("id: 5\n\n");
    assert.deepEqual(await feed.next(), { kind: "truncated" });
  });

  test("begins again by the credential that is fetched after a rejection", async () => {
    const credentials = [narrow, wide];
    const server = new Server(async () => credentials.shift() ?? wide);
    const feed = await server.open();
    server.onResponse = () => forbidden();
    await server.http.send({ method: "GET", path: "people()" });
    server.http.refresh();
    void server.http.send({ method: "GET", path: "people()" });
    assert.deepEqual(await feed.next(), { kind: "truncated" });
  });

  test("stays open while no other credential is known", async () => {
    const credentials = [Promise.resolve(narrow), new Promise<typeof narrow>(() => {})];
    const server = new Server(() => credentials.shift() as Promise<typeof narrow>);
    const feed = await server.open();
    const { body } = server;
    server.onResponse = () => forbidden();
    await server.http.send({ method: "GET", path: "people()" });
    server.http.refresh();
    void server.http.send({ method: "GET", path: "people()" });
    body.enqueue(new TextEncoder().encode("id: 6\n\n"));
    assert.equal((await feed.next()).kind, "events");
    feed.close();
  });

  test("stays open if the other one is for the same keys", async () => {
    const credential = { ...narrow };
    const server = new Server(credential);
    const feed = await server.open();
    credential.signature = "spk=a&epk=b&sig=3";
    const { body } = server;
    void server.http.send({ method: "GET", path: "people()" });
    body.enqueue(new TextEncoder().encode("id: 6\n\n"));
    assert.equal((await feed.next()).kind, "events");
    feed.close();
  });
});

function forbidden(): Response {
  const error = { "odata.error": { code: "AuthorizationFailure" } };
  return Response.json(error, { status: 403 });
}
