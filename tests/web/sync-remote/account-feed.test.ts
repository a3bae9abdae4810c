// Tests the connection to a feed of changes that the tables of an account share.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Feed } from "../../../web/src/sync/remote.ts";
import { AccountFeed } from "../../../web/src/sync-remote/account-feed.ts";
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
  readonly feed: AccountFeed;

  constructor() {
    const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
    const fetched: typeof fetch = (_, init) => this.#answer(init?.signal ?? undefined);
    const http = new Http({ url: "https://account.example", fetch: fetched, now });
    http.feedPath = "_changes";
    this.feed = new AccountFeed(http);
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
