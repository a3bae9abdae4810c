// Tests the HTTP server with a fake store whose responses the test chooses. serve-store.test.ts
// tests it with real stores and real clients.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { type AddressInfo, connect, Server, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { StoreError } from "../../web/src/errors.ts";
import type { RestEntryPoint, RestRequest } from "../../web/src/rest/entry-point.ts";
import type { HttpResponse } from "../../web/src/rest/http-message.ts";
import { BodyBudget } from "../../web/src/server/body-budget.ts";
import { handleRequest, type RequestHandlerOptions } from "../../web/src/server/request-handler.ts";
import {
  type ServedRequest,
  type ServeOptions,
  serve,
  type TableServer,
} from "../../web/src/server/serve.ts";
import { Turns } from "../../web/src/server/turns.ts";
import type { Store } from "../../web/src/types.ts";
import type { NodeHttp, NodeProcess, NodeRequest, NodeResponse } from "../../web/src/util/node.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { collectGarbage } from "./support/collect-garbage.ts";

// The compiler checks the package's declarations against Node's own types.
http satisfies NodeHttp;
https satisfies NodeHttp;
process satisfies NodeProcess;

// A certificate and a key for tests.
const pem = readFileSync(new URL("support/localhost.pem", import.meta.url), "utf8");
const bytes = (text: string) => new TextEncoder().encode(text);

type Answer = (request: RestRequest) => Promise<HttpResponse> | HttpResponse;

function ok(body = "", headers: [string, string][] = []): HttpResponse {
  return { status: 200, reason: "OK", headers, body: bytes(body) };
}

function storeOf(answer: Answer): Store {
  const restEntryPoint = {
    random: platformRandom,
    sendHead: async () => undefined,
    send: async (request: RestRequest) => await answer(request),
  };
  return { fetch() {}, restEntryPoint } as unknown as Store;
}

async function serving(t: TestContext, answer: Answer, options: ServeOptions = {}) {
  const server = await serve(storeOf(answer), { port: 0, ...options });
  t.after(() => server.close());
  return server;
}

// Responds with the request itself, as JSON.
const echo: Answer = ({ method, url, headers, body, clientIp }) =>
  ok(JSON.stringify({ method, url, headers, body: body.length, clientIp }));

async function receivedRequest(server: TableServer, raw: string): Promise<RestRequest> {
  const text = await exchanged(server, raw);
  return JSON.parse(Buffer.from(text, "latin1").toString().split("\r\n\r\n")[1] ?? "");
}

function open({ port }: TableServer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });
}

// Sends `raw`. Resolves to the bytes that arrive until the server closes the connection.
async function exchanged(server: TableServer, raw: string): Promise<string> {
  const socket = await open(server);
  socket.write(raw, "latin1");
  let text = "";
  socket.setEncoding("latin1");
  for await (const chunk of socket) text += chunk;
  return text;
}

// ---- Without a connection -----------------------------------------------------------------------

function requestOf(parts: Partial<NodeRequest>): NodeRequest {
  const none = { rawHeaders: [], headers: {}, socket: {}, on() {}, off() {}, resume() {} };
  return { ...none, destroyed: false, ...parts };
}

const responseToNobody: NodeResponse = {
  writeContinue() {},
  flushHeaders() {},
  writeHead() {},
  write(_, done) {
    done?.();
    return true;
  },
  end: (_, done) => done?.(),
  on() {},
  destroy() {},
};

function handlerOptions(store: Store): RequestHandlerOptions {
  const entryPoints = new Map([
    ["acct", (store as unknown as { restEntryPoint: RestEntryPoint }).restEntryPoint],
  ]);
  return {
    entryPoints,
    scheme: "http",
    authority: "x",
    budget: new BodyBudget(4 * 1024 * 1024),
    responses: new BodyBudget(64 * 1024 * 1024),
    responseMs: 120_000,
    turns: new Turns(),
    stopping: () => false,
    onRequest: undefined,
    onReset: undefined,
  };
}

// ---- With one -----------------------------------------------------------------------------------

describe("a request", () => {
  test("reaches the store unchanged: method, path, query, headers", async (t) => {
    const server = await serving(t, echo);
    const target = "/acct/t(PartitionKey='o''x',RowKey='%c3%bc%201')?a='b'&%24top=1";
    const head = ["Host: 127.0.0.1:10002", "X-Ms-Thing: gr\xfcn", "Connection: close"];
    const request = await receivedRequest(
      server,
      `MERGE ${target} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`,
    );
    assert.equal(request.method, "MERGE");
    assert.equal(request.url, `http://127.0.0.1:10002${target}`);
    assert.deepEqual(request.headers[1], ["X-Ms-Thing", "gr\xfcn"]);
    assert.equal(request.clientIp, "127.0.0.1");
  });

  test("may name its host in the target, or not at all", async (t) => {
    const server = await serving(t, echo);
    const proxied = await receivedRequest(
      server,
      "GET https://acct.table.core.windows.net/t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert.equal(proxied.url, "http://acct.table.core.windows.net/t", "by its connection");
    const old = await receivedRequest(server, "GET /t HTTP/1.0\r\n\r\n");
    assert.equal(old.url, "http://127.0.0.1/t");
  });

  test("of a client that has disconnected has an address that no client has", async () => {
    let clientIp: string | undefined;
    const store = storeOf((request) => {
      clientIp = request.clientIp;
      return ok();
    });
    const request = requestOf({ method: "DELETE", url: "/t" });
    await handleRequest(request, responseToNobody, handlerOptions(store));
    assert.equal(clientIp, "unknown");
  });

  for (const host of ["a/b", "a b", "a?b", "u@a", "a:b", "", "a\r\nHost: b"]) {
    test(`from an invalid host is rejected: ${JSON.stringify(host)}`, async (t) => {
      const server = await serving(t, () => assert.fail("it must not get there"));
      const text = await exchanged(
        server,
        `GET /t HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      assert.match(text, /^HTTP\/1\.1 400 /);
    });
  }

  test("may have a request line and headers of up to 128 KiB", async (t) => {
    const server = await serving(t, echo);
    const get = (length: number) => fetch(`${server.url}/t?$filter=${"x".repeat(length)}`);
    assert.equal((await get(120 * 1024)).status, 200);
    assert.equal((await get(130 * 1024)).status, 431);
  });

  test("is one of several on a connection that stays open", async (t) => {
    const server = await serving(t, echo);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number>();
    for (let i = 0; i < 3; ++i) {
      const response = await new Promise<http.IncomingMessage>((resolve) => {
        const request = http.request(`${server.url}/t`, { agent, method: "POST" }, resolve);
        request.end("body");
      });
      ports.add(response.socket.localPort as number);
      for await (const _ of response);
    }
    agent.destroy();
    assert.equal(ports.size, 1);
  });

  test("that breaks off before its end has no effect", async (t) => {
    let requests = 0;
    const server = await serving(t, () => {
      ++requests;
      return ok();
    });
    const socket = await open(server);
    socket.write("POST /t HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.destroy();
    assert.equal((await fetch(`${server.url}/t`)).status, 200);
    assert.equal(requests, 1);
  });
});

describe("a body", () => {
  const max = 4 * 1024 * 1024;
  const sized: Answer = ({ body }) =>
    body.length > max
      ? { status: 413, reason: "Too Large", headers: [], body: bytes("too large") }
      : ok(String(body.length));

  test("of 4 MiB is accepted, one byte more is rejected", async (t) => {
    const server = await serving(t, sized);
    const send = (length: number) =>
      fetch(server.url, { method: "POST", body: new Uint8Array(length) });
    assert.equal(await (await send(max)).text(), String(max));
    const rejected = await send(max + 1);
    assert.deepEqual([rejected.status, await rejected.text()], [413, "too large"]);
  });

  test("in chunks is joined, and has the same maximum length", async (t) => {
    const server = await serving(t, sized);
    const send = (chunks: number) =>
      fetch(server.url, {
        method: "POST",
        body: new ReadableStream({
          pull(controller) {
            if (chunks-- > 0) controller.enqueue(new Uint8Array(64 * 1024));
            else controller.close();
          },
        }),
        ...{ duplex: "half" }, // missing in the platform's types
      });
    assert.equal(await (await send(64)).text(), String(max));
    assert.equal((await send(65)).status, 413);
  });

  test("in millions of chunks takes no more memory than its bytes", async () => {
    const listeners: Record<string, (chunk: Uint8Array<ArrayBuffer>) => void> = {};
    let body: Uint8Array | undefined;
    const store = storeOf((request) => {
      body = request.body;
      return ok();
    });
    const request = requestOf({
      method: "POST",
      headers: { "transfer-encoding": "chunked" },
      on: (event, listener) => (listeners[event] = listener),
    });
    const served = handleRequest(request, responseToNobody, handlerOptions(store));
    await new Promise(setImmediate); // the body is read once the request is authorized
    const send = (byte: number) => {
      const chunk = Uint8Array.of(byte);
      listeners["data"]?.(chunk);
      return new WeakRef(chunk);
    };
    const chunks = Array.from("a body", (character) => send(character.charCodeAt(0)));
    await new Promise(setImmediate); // weak references keep their targets until the next turn
    collectGarbage();
    assert.deepEqual(
      chunks.slice(1).map((chunk) => chunk.deref()),
      [undefined, undefined, undefined, undefined, undefined],
    );
    listeners["end"]?.(new Uint8Array());
    await served;
    assert.deepEqual(body, bytes("a body"));
  });

  test("that declares too large a length is rejected without being read", async (t) => {
    const server = await serving(t, sized);
    const text = await exchanged(
      server,
      "POST /t HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000000\r\n\r\n",
    );
    assert.match(text, /^HTTP\/1\.1 413 Too Large\r\n.*Connection: close\r\n.*too large$/s);
  });

  test("that never ends is cut off shortly after it was rejected", async (t) => {
    const server = await serving(t, sized);
    const socket = await open(server);
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => {}); // the server may reset the connection
    socket.resume();
    socket.write("POST /t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const sending = setInterval(() => {
      for (let i = 0; i < 16 && socket.writableLength < 1e7; ++i) socket.write(chunk);
    }, 5);
    await closed;
    clearInterval(sending);
  });

  test("that waits for 100-continue gets it, unless the body is too long", async (t) => {
    const server = await serving(t, sized);
    for (const [length, expected] of [
      [4, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /],
      [max + 1, /^HTTP\/1\.1 413 /],
    ] as const) {
      const socket = await open(server);
      const head = `Host: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: ${length}`;
      socket.write(`POST /t HTTP/1.1\r\n${head}\r\n\r\n`);
      let text = "";
      for await (const chunk of socket) {
        text += chunk;
        if (text.startsWith("HTTP/1.1 100") && text.length < 40) socket.write("body");
      }
      assert.match(text, expected);
    }
  });
});

describe("a response", () => {
  test("is sent as the store returned it", async (t) => {
    const answer: HttpResponse = {
      status: 201,
      reason: "Made",
      headers: [
        ["ETag", `W/"datetime'x'"`],
        ["x-ms-Thing", "gr\xfcn"],
      ],
      body: bytes('{"ü":1}'),
    };
    const server = await serving(t, () => answer);
    const text = await exchanged(server, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert.match(text, /^HTTP\/1\.1 201 Made\r\n/);
    assert.match(
      text,
      /\r\nETag: W\/"datetime'x'"\r\nx-ms-Thing: gr\xfcn\r\nContent-Length: 8\r\n/,
    );
    assert.match(text, /\r\nDate: /);
    assert.equal(text.slice(-12), '\r\n\r\n{"\xc3\xbc":1}');
  });

  test("to HEAD, or without a body, sends none", async (t) => {
    const server = await serving(t, ({ method, url }) => {
      if (method !== "HEAD") return { ...ok(), status: 204, reason: "No Content" };
      return ok(url.endsWith("/left-out") ? "" : "12345");
    });
    const rest = "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const head = await exchanged(server, `HEAD ${rest}`);
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n.*Content-Length: 5\r\n.*\r\n\r\n$/s);
    const leftOut = await exchanged(server, `HEAD /left-out${rest.slice(1)}`);
    assert(!/Content-Length/.test(leftOut), "it would be the length of what GET sends");
    const none = await exchanged(server, `PUT ${rest}`);
    assert.match(none, /^HTTP\/1\.1 204 No Content\r\n/);
    assert(!/Content-Length/.test(none) && none.endsWith("\r\n\r\n"));
  });

  test("that the store failed to produce is an error that clients know", async (t) => {
    const errors = {
      "/closed": new StoreError("StoreClosed", "It is closed."),
      "/full": new StoreError("QuotaExceeded", "There is no room left."),
    };
    const server = await serving(t, ({ url }) => {
      throw errors[new URL(url).pathname as keyof typeof errors];
    });
    const closed = await fetch(`${server.url}/closed`);
    assert.deepEqual([closed.status, closed.headers.get("x-ms-error-code")], [503, "ServerBusy"]);
    assert.match(closed.headers.get("x-ms-request-id") ?? "", /^[0-9a-f-]{36}$/);
    const full = await fetch(`${server.url}/full`);
    assert.equal(full.status, 500);
    const body = (await full.json()) as Record<string, { code: string; message: object }>;
    assert.deepEqual(body["odata.error"], {
      code: "InternalError",
      message: { lang: "en-US", value: "There is no room left." },
    });
  });

  test("that cannot be sent closes its connection only", async (t) => {
    const server = await serving(t, ({ url }) =>
      ok("", url.endsWith("/bad") ? [["a b", "\n"]] : []),
    );
    await assert.rejects(fetch(`${server.url}/bad`));
    assert.equal((await fetch(`${server.url}/good`)).status, 200);
  });
});

describe("several accounts", () => {
  const stores = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, storeOf(() => ok(name))]));

  test("are distinguished by host or path, including the secondary address", async (t) => {
    const server = await serve(stores("one", "two"), { port: 0 });
    t.after(() => server.close());
    const who = async (host: string, path: string) => {
      const text = await exchanged(
        server,
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      return text.slice(text.indexOf("\r\n\r\n") + 4);
    };
    assert.equal(await who("127.0.0.1:10002", "/one/Tables"), "one");
    assert.equal(await who("127.0.0.1:10002", "/two/Tables?x=/one"), "two");
    assert.equal(await who("127.0.0.1", "/two-secondary"), "two");
    assert.equal(await who("127.0.0.1", "//two//Tables"), "two", "clients join addresses");
    assert.equal(await who("two.table.core.windows.net", "/one"), "two");
    assert.equal(await who("TWO-secondary.table.localhost:10002", "/one"), "two");
    assert.equal(await who("two:10002", "/one/Tables"), "one", "a machine may be called anything");
    assert.equal(await who("127.0.0.1", "/three/Tables"), "one", "which refuses it");
  });

  test("at least one is required", async () => {
    await assert.rejects(serve({}), { code: "ValidationFailed" });
    const notStores = { port: 0 } as unknown as Record<string, Store>;
    await assert.rejects(serve(notStores), {
      code: "ValidationFailed",
      message: "serve was given no store for account port.",
    });
    const promised = Promise.resolve({}) as unknown as Store;
    await assert.rejects(serve(promised), { hint: "Await the store: serve(await mockStore())." });
    const misspelled = { prot: 0 } as object;
    await assert.rejects(serve({}, misspelled), {
      message: "serve has no option prot.",
      hint: /port/,
    });
  });
});

describe("the server", () => {
  test("speaks HTTPS with a certificate, and says so", async (t) => {
    const server = await serving(t, echo, { cert: pem, key: pem });
    assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const { body, headers } = await new Promise<{ body: string; headers: object }>((resolve) => {
      https.get(`${server.url}/t`, { ca: pem }, async (response) => {
        let body = "";
        for await (const chunk of response) body += chunk;
        resolve({ body, headers: response.headers });
      });
    });
    assert.equal(JSON.parse(body).url, `${server.url}/t`);
    assert("date" in headers);
  });

  test("requires both the key and the certificate", async () => {
    await assert.rejects(serve(storeOf(echo), { cert: pem }), { code: "ValidationFailed" });
    await assert.rejects(serve(storeOf(echo), { cert: pem, key: "no" }), Error);
  });

  test("reports a port in use, and an address that this machine does not have", async (t) => {
    const { port } = await serving(t, echo);
    await assert.rejects(serve(storeOf(echo), { port }), { code: "EADDRINUSE" });
    await assert.rejects(serve(storeOf(echo), { port: 0, host: "192.0.2.1" }), {
      code: "EADDRNOTAVAIL",
    });
  });

  test("logs each request, but not its signature", async (t) => {
    const served: ServedRequest[] = [];
    const server = await serving(t, () => ok("answer"), { onRequest: (one) => served.push(one) });
    await fetch(`${server.url}/t?sv=1&sig=secret%2B&x=1`, { method: "POST", body: "body" });
    const [{ at, milliseconds, ...one }] = served as [ServedRequest];
    assert(at instanceof Date && milliseconds >= 0);
    assert.deepEqual(one, {
      client: "127.0.0.1",
      method: "POST",
      url: `${server.url}/t?sv=1&sig=…&x=1`,
      status: 200,
      requestBytes: 4,
      responseBytes: 6,
    });
  });

  test("survives a connection that could not be accepted", async (t) => {
    const { url, port } = await serving(t, () => ok("here"));
    const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
    const server = handles
      .call(process)
      .find(
        (handle) =>
          handle instanceof Server && (handle.address() as AddressInfo | null)?.port === port,
      );
    // Node emits this error when the process has no file descriptors left.
    (server as Server).emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
    assert.equal(await (await fetch(url)).text(), "here");
  });

  test("closes when pending requests are answered, and keeps no connection", async () => {
    let answer = () => {};
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const server = await serve(
      storeOf(async ({ url }) => {
        if (!url.endsWith("/slow")) return ok();
        arrive();
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return ok("done");
      }),
      { port: 0 },
    );
    const agent = new http.Agent({ keepAlive: true });
    const get = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const request = http.get(server.url + path, { agent }, async (response) => {
          let body = "";
          for await (const chunk of response) body += chunk;
          resolve(`${response.headers.connection} ${body}`);
        });
        request.on("error", reject);
      });
    assert.equal(await get("/quick"), "keep-alive "); // the connection is now idle
    const slow = get("/slow");
    await arrived;
    let ended = false;
    const closing = server.close().then(() => {
      ended = true;
    });
    await assert.rejects(fetch(`${server.url}/late`));
    assert(!ended);
    answer();
    assert.equal(await slow, "close done");
    await closing;
    await server.close(); // may be called again
    agent.destroy();
  });
});
