// Tests the server's limits with real sockets and a fake store: authorization before the body, the
// memory for bodies, connections, requests and time-outs. serve-store.test.ts tests the same with a
// real store's authorization.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import type { RestEntryPoint, RestRequest } from "../../web/src/rest/entry-point.ts";
import type { HttpResponse } from "../../web/src/rest/http-message.ts";
import { BodyBudget } from "../../web/src/server/body-budget.ts";
import {
  completeLimits,
  limitDefaults,
  limitNames,
  limitRanges,
  type ServerLimits,
} from "../../web/src/server/limits.ts";
import { handleRequest } from "../../web/src/server/request-handler.ts";
import { type ServedRequest, serve } from "../../web/src/server/serve.ts";
import { Turns } from "../../web/src/server/turns.ts";
import type { Store } from "../../web/src/types.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { until } from "./support/until.ts";

const max = 4 * 1024 * 1024;

function textResponse(status: number, text: string): HttpResponse {
  return { status, reason: text, headers: [], body: new TextEncoder().encode(text) };
}
const rejection = textResponse(403, "rejected");

// A store whose requests wait until the test lets them end. Rejects requests to /secret.
class FakeStore {
  readonly heads: Omit<RestRequest, "body">[] = [];
  readonly requests: RestRequest[] = [];
  onHead: () => Promise<void> | void = () => {};
  onRequest: () => Promise<void> | void = () => {};
  response: HttpResponse | undefined; // instead of the length of the body

  readonly restEntryPoint: Pick<RestEntryPoint, "random" | "sendHead" | "send"> = {
    random: platformRandom,
    sendHead: async (head) => {
      this.heads.push(head);
      await this.onHead();
      return head.url.includes("/secret") ? rejection : undefined;
    },
    send: async (request) => {
      this.requests.push(request);
      await this.onRequest();
      return this.response ?? textResponse(200, String(request.body.length));
    },
  };

  fetch(): void {} // marks a store
}

// A function that waits until `open()` is called.
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, wait: () => opened };
}

async function serving(
  t: TestContext,
  store: FakeStore,
  limits: Partial<ServerLimits> = {},
  onRequest: (served: ServedRequest) => void = () => {},
) {
  const server = await serve(store as unknown as Store, { port: 0, limits, onRequest });
  t.after(() => server.close());
  return server;
}

// A server whose budget the test can read.
async function servingWithBudget(
  t: TestContext,
  store: FakeStore,
  budget: BodyBudget,
  responses = new BodyBudget(64 * 1024 * 1024),
  responseMs = 120_000,
) {
  const entryPoints = new Map([["", store.restEntryPoint as RestEntryPoint]]);
  const sending = { responses, responseMs, turns: new Turns() };
  const options = { entryPoints, scheme: "http", authority: "x", budget, ...sending } as const;
  const server: Server = createServer((request, response) => {
    const rest = { stopping: () => false, onRequest: undefined, onReset: undefined };
    void handleRequest(request, response, { ...options, ...rest });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}

// A client that collects what it receives.
class Client {
  readonly socket: Socket;
  text = "";
  readonly closed: Promise<string>; // resolves to the text

  constructor({ port }: { port: number }) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("latin1").on("data", (text) => {
      this.text += text;
    });
    this.socket.on("error", () => {}); // the server may reset the connection
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve(this.text)));
  }

  send(data: string | Uint8Array): this {
    this.socket.write(data);
    return this;
  }

  post(path: string, ...headers: string[]): this {
    return this.send(`POST ${path} HTTP/1.1\r\n${["Host: x", ...headers].join("\r\n")}\r\n\r\n`);
  }

  get(path: string): this {
    return this.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  // Resolves when the text matches. Rejects if the connection closes before.
  async receives(pattern: RegExp): Promise<string> {
    let isClosed = false;
    void this.closed.then(() => {
      isClosed = true;
    });
    await until(() => pattern.test(this.text) || isClosed);
    assert.match(this.text, pattern);
    return this.text;
  }
}

const length = (bytes: number) => `Content-Length: ${bytes}`;
const chunked = "Transfer-Encoding: chunked";
const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;

describe("a request that is not authorized", () => {
  for (const how of [length(max), length(max + 1), chunked]) {
    test(`is rejected before its body arrives (${how})`, async (t) => {
      const store = new FakeStore();
      const served: ServedRequest[] = [];
      const server = await serving(t, store, {}, (one) => served.push(one));
      const client = new Client(server).post("/secret", how);
      const text = await client.closed;
      assert.match(text, /^HTTP\/1\.1 403 .*\r\nConnection: close\r\n.*rejected$/s);
      assert.deepEqual(store.requests, []);
      assert.deepEqual(
        served.map(({ status, requestBytes }) => [status, requestBytes]),
        [[403, 0]],
      );
    });
  }

  test("gets its response even if the client first sends the whole body", async (t) => {
    const server = await serving(t, new FakeStore());
    const client = new Client(server).post("/secret", length(max));
    client.socket.pause();
    await new Promise((resolve) => client.socket.write(new Uint8Array(max), resolve));
    client.socket.resume();
    assert.match(await client.closed, /^HTTP\/1\.1 403 .*rejected$/s);
  });

  test("is not asked for the body", async (t) => {
    const server = await serving(t, new FakeStore());
    const expecting = new Client(server).post("/secret", length(4), "Expect: 100-continue");
    assert.match(await expecting.closed, /^HTTP\/1\.1 403 /);
  });

  test("takes no memory for bodies, whatever many clients send", async (t) => {
    const store = new FakeStore();
    const budget = new BodyBudget(max);
    const server = await servingWithBudget(t, store, budget);
    const used = new Set<number>();
    store.onHead = () => void used.add(budget.used);
    const body = new Uint8Array(max);
    const clients = Array.from({ length: 50 }, () =>
      new Client(server).post("/secret", length(max)).send(body),
    );
    for (const client of clients) assert.match(await client.closed, /^HTTP\/1\.1 403 /);
    assert.equal(store.heads.length, clients.length);
    assert.deepEqual([...used, budget.used], [0, 0]);
  });
});

describe("a request that is authorized", () => {
  test("has the same id with and without its body", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store);
    await new Client(server)
      .post("/t", length(4))
      .send("body")
      .receives(/200 4\r\n.*4$/s);
    assert.deepEqual(store.heads[0]?.id, store.requests[0]?.id);
    assert.equal(store.heads[0]?.id?.length, 16);
  });

  test("is authorized once if it has no body", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store);
    const client = new Client(server).get("/t").post("/t", length(0));
    await client.receives(/(200 0.*){2}/s);
    assert.deepEqual([store.heads.length, store.requests.length], [0, 2]);
  });

  for (const [when, head] of [
    ["before its body is read", "onHead"],
    ["before its body ends", undefined],
    ["while the store handles it", "onRequest"],
  ] as const) {
    test(`returns its memory if the client disconnects ${when}`, async (t) => {
      const store = new FakeStore();
      const budget = new BodyBudget(max);
      const server = await servingWithBudget(t, store, budget);
      const { open, wait } = gate();
      if (head !== undefined) store[head] = wait;
      const client = new Client(server).post("/t", length(4));
      if (head === "onRequest") client.send("body");
      await until(() => (head === "onHead" ? store.heads.length > 0 : budget.used === 4));
      if (head === "onRequest") await until(() => store.requests.length > 0);
      client.socket.destroy();
      await client.closed;
      if (head === undefined) await until(() => budget.used === 0);
      open();
      await until(() => budget.used === 0);
      // Another request passes through the same server, after the first one ended.
      store.onHead = () => {};
      store.onRequest = () => {};
      await new Client(server).post("/t", length(max)).send(new Uint8Array(max)).receives(/ 200 /);
      assert.equal(store.requests.length, head === "onRequest" ? 2 : 1);
    });
  }
});

describe("the memory for bodies", () => {
  test("is enough for bodies up to its limit; one byte more gets 503 until memory is free", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { bodyBytes: max + 100 });
    const { open, wait } = gate();
    store.onRequest = wait;
    const large = new Client(server).post("/t", length(max)).send(new Uint8Array(max));
    const small = new Client(server).post("/t", length(100)).send(new Uint8Array(100));
    await until(() => store.requests.length === 2);
    const refused = await new Client(server).post("/t", length(1)).send("x").closed;
    assert.match(refused, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
    assert.match(refused, /\r\nx-ms-error-code: ServerBusy\r\n.*\r\nRetry-After: 1\r\n/s);
    assert.match(refused, /"odata.error":{"code":"ServerBusy"/);
    const bodyless = new Client(server).get("/t");
    await until(() => store.requests.length === 3);
    open();
    await Promise.all([large, small, bodyless].map((client) => client.receives(/ 200 /)));
    await new Client(server).post("/t", length(max)).send(new Uint8Array(max)).receives(/ 200 /);
  });

  test("counts a body of unknown length as it arrives, up to the longest body", async (t) => {
    const store = new FakeStore();
    const budget = new BodyBudget(2 * max);
    const server = await servingWithBudget(t, store, budget);
    const client = new Client(server).post("/t", chunked);
    await until(() => store.heads.length === 1);
    assert.equal(budget.used, 0);
    client.send(chunk(1000));
    await until(() => budget.used === 1000);
    client.send(chunk(max - 1000)).send("0\r\n\r\n");
    await client.receives(new RegExp(` 200 ${max}`));
    assert.equal(budget.used, 0);
  });

  test("may run out during a body of unknown length", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { bodyBytes: max });
    const { open, wait } = gate();
    store.onRequest = wait;
    const first = new Client(server).post("/t", length(max - 10)).send(new Uint8Array(max - 10));
    await until(() => store.requests.length === 1);
    const fits = new Client(server).post("/t", chunked).send(chunk(10));
    const refused = await new Client(server).post("/t", chunked).send(chunk(11)).closed;
    assert.match(refused, /^HTTP\/1\.1 503 .*\r\nRetry-After: 1\r\n/s);
    fits.send("0\r\n\r\n");
    await until(() => store.requests.length === 2);
    open();
    await Promise.all([first.receives(/ 200 /), fits.receives(/ 200 10/)]);
  });

  test("counts a body that is too long like the longest one", async (t) => {
    const store = new FakeStore();
    const budget = new BodyBudget(max);
    const server = await servingWithBudget(t, store, budget);
    store.onRequest = () => assert.equal(budget.used, max);
    const text = await new Client(server).post("/t", length(max + 1)).closed;
    assert.match(text, new RegExp(`^HTTP/1.1 200 ${max + 1}`));
  });

  test("asks for a body only if there is memory", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { bodyBytes: max });
    const { open, wait } = gate();
    store.onRequest = wait;
    const first = new Client(server).post("/t", length(max), "Expect: 100-continue");
    await first.receives(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    const second = new Client(server).post("/t", length(1), "Expect: 100-continue");
    assert.match(await second.closed, /^HTTP\/1\.1 503 /);
    open();
    first.send(new Uint8Array(max));
    await first.receives(/ 200 /);
  });
});

describe("a client that does not read its responses", () => {
  const large = { ...textResponse(200, "large"), body: new Uint8Array(16 * 1024 * 1024) };

  // A client whose connection takes nothing beyond the buffers of the sockets.
  const paused = (server: { port: number }) => {
    const client = new Client(server);
    client.socket.pause();
    return client;
  };

  test("makes the server keep one of them, whatever many requests it sends", async (t) => {
    const store = new FakeStore();
    store.response = large;
    const responses = new BodyBudget(64 * 1024 * 1024);
    const server = await servingWithBudget(t, store, new BodyBudget(max), responses);
    const client = paused(server);
    for (let i = 0; i < 50; ++i) client.get(`/${i}`);
    await until(() => responses.used > 0);
    const other = new Client(server).get("/other"); // is handled although the first one waits
    await until(() => store.requests.some(({ url }) => url.endsWith("/other")));
    other.socket.destroy();
    await until(() => responses.used === large.body.length);
    assert.deepEqual(
      store.requests.map(({ url }) => url).filter((url) => !url.endsWith("/other")),
      ["http://x/0"],
    );
    client.socket.destroy();
    await until(() => responses.used === 0);
    assert.equal(store.requests.length, 2, "requests of a closed connection are not handled");
  });

  test("gets them in order once it reads, up to 64 waiting requests", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store);
    const { open, wait } = gate();
    store.onRequest = wait;
    const client = new Client(server);
    for (let i = 0; i < 65; ++i) client.get(`/${i}`);
    await until(() => store.requests.length === 1);
    open();
    await until(() => client.text.split("HTTP/1.1 200 0").length === 66);
    assert.deepEqual(
      store.requests.map(({ url }) => url),
      Array.from({ length: 65 }, (_, i) => `http://x/${i}`),
    );
  });

  test("is disconnected if more requests wait", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store);
    const { open, wait } = gate();
    store.onRequest = wait;
    const client = new Client(server);
    for (let i = 0; i < 66; ++i) client.get(`/${i}`);
    assert.equal(await client.closed, "");
    await until(() => store.requests[0]?.signal?.aborted === true);
    open();
    await new Client(server).get("/t").receives(/ 200 /);
    assert.equal(store.requests.length, 2);
  });

  test("is disconnected after a while", async (t) => {
    const store = new FakeStore();
    store.response = large;
    const responses = new BodyBudget(64 * 1024 * 1024);
    const server = await servingWithBudget(t, store, new BodyBudget(max), responses, 50);
    const client = paused(server).get("/t");
    await until(() => responses.used > 0);
    await until(() => responses.used === 0);
    client.socket.resume();
    assert((await client.closed).length < large.body.length);
  });

  test("makes others get 503 once the responses take too much memory", async (t) => {
    const store = new FakeStore();
    store.response = large;
    const responses = new BodyBudget(2 * large.body.length);
    const server = await servingWithBudget(t, store, new BodyBudget(max), responses);
    const clients = [paused(server).get("/1"), paused(server).get("/2")];
    await until(() => responses.isExhausted);
    const refused = await new Client(server).get("/3").receives(/^HTTP\/1\.1 503 .*}$/s);
    assert.match(refused, /\r\nx-ms-error-code: ServerBusy\r\n.*\r\nRetry-After: 1\r\n/s);
    assert.equal(store.requests.length, 2, "the store does not get the request");
    clients[0]?.socket.destroy();
    await until(() => !responses.isExhausted);
    store.response = { ...large, body: new Uint8Array(large.body.length + 1) };
    await new Client(server).get("/4").receives(/^HTTP\/1\.1 503 .*}$/s);
    const written = new Client(server).post("/5", length(0));
    await written.receives(/^HTTP\/1\.1 200 /);
    for (const { socket } of [...clients, written]) socket.destroy();
    await until(() => responses.used === 0);
  });
});

describe("time-outs", () => {
  test("close a connection whose headers are late", async (t) => {
    const server = await serving(t, new FakeStore(), { headersMs: 50 });
    const partial = new Client(server).send("GET /t HTTP/1.1\r\nHost: x\r\n");
    assert.match(await partial.closed, /^HTTP\/1\.1 408 /);
    const silent = new Client(server);
    assert.match(await silent.closed, /^(HTTP\/1\.1 408 .*)?$/s);
  });

  test("close a connection whose body is late, and return its memory", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { requestMs: 500, bodyBytes: max });
    for (const how of [[length(max)], [chunked]]) {
      const late = new Client(server).post("/t", ...how);
      assert.match(await late.closed, /^HTTP\/1\.1 408 /);
    }
    assert.deepEqual(store.requests, []);
    await new Client(server).post("/t", length(max)).send(new Uint8Array(max)).receives(/ 200 /);
  });

  test("allow what is in time, and do not limit the store", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { headersMs: 1000 });
    const pause = () => new Promise((resolve) => setTimeout(resolve, 1200));
    store.onRequest = async () => void (await pause());
    const client = new Client(server).post("/t", length(4)).send("bo");
    await pause(); // longer than headersMs, which does not include the body
    await client.send("dy").receives(/ 200 4/);
    const inTime = await serving(t, store);
    const slow = new Client(inTime).send("GET /t HTTP/1.1\r\n");
    await pause();
    await slow.send("Host: x\r\n\r\n").receives(/ 200 0/);
  });

  test("close an idle connection", async (t) => {
    const server = await serving(t, new FakeStore(), { idleMs: 50 });
    const client = new Client(server).get("/t");
    assert.match(await client.closed, /^HTTP\/1\.1 200 /);
  });
});

describe("connections", () => {
  test("beyond the limit are closed, until another one has ended", async (t) => {
    const server = await serving(t, new FakeStore(), { connections: 2 });
    const clients = [new Client(server).get("/1"), new Client(server).get("/2")];
    for (const client of clients) await client.receives(/ 200 /);
    assert.equal(await new Client(server).get("/3").closed, "");
    for (const client of clients) {
      client.text = "";
      await client.get("/again").receives(/ 200 /);
    }
    clients[0]?.socket.destroy();
    for (let text = ""; text === ""; ) {
      const client = new Client(server).get("/4");
      void client.closed;
      await until(() => client.text !== "" || client.socket.closed);
      text = client.text;
    }
  });

  test("serve requests up to the limit, and reject more", async (t) => {
    const store = new FakeStore();
    const server = await serving(t, store, { requestsPerConnection: 2 });
    const client = new Client(server).get("/1");
    assert.match(await client.receives(/\r\n\r\n0$/), /\r\nConnection: keep-alive\r\n/);
    client.text = "";
    assert.match(await client.get("/2").receives(/\r\n\r\n0$/), /\r\nConnection: close\r\n/);
    client.text = "";
    await client.get("/3").receives(/^HTTP\/1\.1 503 /);
    assert.equal(store.requests.length, 2);
  });
});

describe("a client that disconnects", () => {
  test("cancels its request", async (t) => {
    const store = new FakeStore();
    const { open, wait } = gate();
    store.onRequest = wait;
    const server = await serving(t, store);
    for (const send of [
      (client: Client) => client.get("/things"),
      (client: Client) => client.post("/things", length(1)).send("x"),
    ]) {
      store.requests.length = 0;
      const client = send(new Client(server));
      await until(() => store.requests.length === 1);
      const { signal } = store.requests[0] as RestRequest;
      assert.equal(signal?.aborted, false);
      client.socket.destroy();
      await until(() => signal?.aborted === true);
    }
    open();
  });

  test("cancels also the authorization of a request with a body", async (t) => {
    const store = new FakeStore();
    const { open, wait } = gate();
    store.onHead = wait;
    const server = await serving(t, store);
    const client = new Client(server).post("/things", length(1));
    await until(() => store.heads.length === 1);
    client.socket.destroy();
    await until(() => store.heads[0]?.signal?.aborted === true);
    open();
  });
});

describe("the limits", () => {
  const code = "ValidationFailed";
  for (const name of limitNames) {
    test(`include ${name}, from its least to its greatest value`, () => {
      const [least, most] = limitRanges[name];
      const others = name === "headersMs" ? { requestMs: most } : {};
      for (const value of [least, most]) {
        assert.equal(completeLimits({ ...others, [name]: value })[name], value);
      }
      for (const value of [least - 1, most + 1, least + 0.5, Number.NaN]) {
        assert.throws(() => completeLimits({ ...others, [name]: value }), { code });
      }
    });
  }

  test("have defaults", () => {
    assert.deepEqual(completeLimits(), limitDefaults);
    assert.deepEqual(completeLimits({ requestMs: 10 }), {
      ...limitDefaults,
      headersMs: 10,
      requestMs: 10,
    });
  });

  test("leave no less time for a request than for its headers", async () => {
    assert.equal(completeLimits({ headersMs: 9, requestMs: 9 }).headersMs, 9);
    const store = new FakeStore() as unknown as Store;
    await assert.rejects(serve(store, { port: 0, limits: { headersMs: 9, requestMs: 8 } }), {
      code,
    });
  });
});
