// Tests that a store in a worker calls the functions in the options of its page.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { isTokenCredential } from "../../../web/src/data-tables/credentials.ts";
import type { Credential, TokenCredential } from "../../../web/src/data-tables/types.ts";
import { StoreError } from "../../../web/src/errors.ts";
import { settingsOf } from "../../../web/src/start-sync/options.ts";
import {
  servePageFunctions,
  settingsFromPage,
  settingsToSend,
} from "../../../web/src/start-sync/page-functions.ts";
import { PortCalls } from "../../../web/src/start-sync/port-calls.ts";
import type { SyncRemote, SyncTableOptions } from "../../../web/src/start-sync/types.ts";
import { Http } from "../../../web/src/sync-remote/http.ts";

const url = "https://lamps.table.core.windows.net";

/** Returns the settings that the worker has. */
function sent(
  t: TestContext,
  remote: Partial<SyncRemote>,
  table: SyncTableOptions = {},
  onSent: (calls: number) => void = () => {},
): ReturnType<typeof settingsFromPage> {
  const settings = settingsOf({ remote: { url, ...remote }, tables: { people: table } });
  const { port1, port2 } = new MessageChannel();
  const page = new PortCalls(port1 as unknown as MessagePort, servePageFunctions(settings));
  const worker = new PortCalls(port2 as unknown as MessagePort, {});
  const post = port2.postMessage.bind(port2);
  let calls = 0;
  port2.postMessage = (message: unknown) => {
    post(message);
    calls += 1;
    onSent(calls);
  };
  t.after(() => {
    page.close(new Error("The test has ended."));
    worker.close(new Error("The test has ended."));
  });
  return settingsFromPage(structuredClone(settingsToSend(settings)), worker);
}

async function credentialOf(t: TestContext, credential: SyncRemote["credential"]) {
  const source = sent(t, credential === undefined ? {} : { credential }).remote.credential;
  return await (source as () => Promise<Credential>)();
}

describe("a credential", () => {
  test("is that of the page: an object, or what a function returns", async (t) => {
    const signature = { signature: "sv=1" };
    assert.deepEqual(await credentialOf(t, signature), signature);
    assert.deepEqual(await credentialOf(t, async () => signature), signature);
    const official = new (class {
      get name() {
        return "devstoreaccount1";
      }
      get key() {
        return "a2V5";
      }
    })();
    const named = { name: "devstoreaccount1", key: "a2V5" };
    assert.deepEqual(await credentialOf(t, official), named);
    assert.equal(sent(t, {}).remote.credential, undefined);
  });

  test("with tokens stays in the page", async (t) => {
    const scopes: string[] = [];
    const tokens: TokenCredential = {
      getToken: async (scope) => {
        scopes.push(String(scope));
        return { token: "t", expiresOnTimestamp: 7 };
      },
    };
    const credential = await credentialOf(t, async () => tokens);
    assert(isTokenCredential(credential));
    assert.deepEqual(await credential.getToken("scope"), { token: "t", expiresOnTimestamp: 7 });
    assert.deepEqual(scopes, ["scope"]);
  });

  test("with tokens is replaced by the next one", async (t) => {
    let calls = 0;
    const source = sent(t, {
      credential: async () => {
        calls += 1;
        const token = `${calls}`;
        return { getToken: async () => ({ token, expiresOnTimestamp: 7 }) };
      },
    }).remote.credential as () => Promise<TokenCredential>;
    const credentials = [await source(), await source(), await source()];
    const tokens = credentials.map(async ({ getToken }) => (await getToken("scope"))?.token);
    assert.deepEqual(await Promise.all(tokens), [undefined, "2", "3"]);
  });

  test("can fail, with the error of the page", async (t) => {
    const failing = async () => {
      throw new StoreError("ValidationFailed", "no credential");
    };
    await assert.rejects(credentialOf(t, failing), { code: "ValidationFailed" });
  });
});

test("a function decides about conflicts in the page", async (t) => {
  const { tables } = sent(t, {}, { conflict: ({ local }) => ({ ...local, n: 2n }) as never });
  const { conflict } = tables.get("people") ?? {};
  assert(typeof conflict === "function");
  const local = { partitionKey: "p", rowKey: "1", at: new Date(1), bytes: new Uint8Array([1]) };
  assert.deepEqual(await conflict({ table: "people", local }), { ...local, n: 2n });
  assert.equal(sent(t, {}, { conflict: "merge" }).tables.get("people")?.conflict, "merge");
});

describe("fetch", () => {
  test("is called in the page, and its response arrives in chunks", async (t) => {
    const seen: unknown[] = [];
    const { remote } = sent(t, {
      fetch: async (input, init) => {
        seen.push(String(input), init?.method, init?.body);
        return new Response("[1,2]", { status: 201, headers: { "x-ms-a": "1" } });
      },
    });
    const response = await remote.fetch?.(new URL(`${url}/people()`), {
      method: "POST",
      body: "b",
    });
    assert.deepEqual(seen, [`${url}/people()`, "POST", "b"]);
    assert.deepEqual([response?.status, response?.headers.get("x-ms-a")], [201, "1"]);
    assert.equal(await response?.text(), "[1,2]");
  });

  test("has responses without a body, and none to a request that was redirected", async (t) => {
    let answer = new Response(null, { status: 204 });
    const { remote } = sent(t, { fetch: async () => answer });
    assert.equal((await remote.fetch?.(url))?.status, 204);
    answer = Response.error();
    await assert.rejects(async () => await remote.fetch?.(url), /redirected/);
  });

  test("ends in the page if it is aborted", async (t) => {
    let signal: AbortSignal | null | undefined;
    const { remote } = sent(t, {
      fetch: (_, init) => {
        ({ signal } = init ?? {});
        return new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(new TypeError("aborted")));
        });
      },
    });
    const abort = new AbortController();
    const answer = remote.fetch?.(url, { signal: abort.signal });
    setTimeout(() => abort.abort(), 5);
    await assert.rejects(async () => await answer, /aborted/);
    assert.equal(signal?.aborted, true);
  });
});

describe("the body of a response that fetch returns", () => {
  /** Sends a request whose response has begun. Returns what its page does, in order. */
  async function begin(t: TestContext, signal?: AbortSignal) {
    const events: string[] = [];
    let body!: ReadableStreamDefaultController<Uint8Array>;
    const { remote } = sent(t, {
      fetch: async (_, init) => {
        init?.signal?.addEventListener("abort", () => events.push("aborted"));
        return new Response(
          new ReadableStream({
            start: (controller) => {
              body = controller;
            },
            cancel: () => void events.push("cancelled"),
          }),
        );
      },
    });
    const response = await (remote.fetch as typeof fetch)(url, { signal: signal ?? null });
    const reader = response.body?.getReader();
    assert(reader);
    body.enqueue(new Uint8Array([1]));
    assert.deepEqual((await reader.read()).value, new Uint8Array([1]));
    return { body, events, reader };
  }

  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

  test("is cancelled in the page if the request is aborted, also if fetch ignores that", async (t) => {
    const abort = new AbortController();
    const { events, reader } = await begin(t, abort.signal);
    const next = reader.read();
    abort.abort();
    await assert.rejects(next, { name: "AbortError" });
    await settled();
    assert.deepEqual(events, ["aborted", "cancelled"]);
  });

  test("is cancelled in the page if it is not read to its end", async (t) => {
    const { events, reader } = await begin(t);
    await reader.cancel();
    await settled();
    assert.deepEqual(events, ["aborted", "cancelled"]);
  });

  test("can fail, and the page forgets it", async (t) => {
    const { body, events, reader } = await begin(t);
    const next = reader.read();
    body.error(new TypeError("The connection was lost."));
    await assert.rejects(next, /lost/);
    await settled();
    assert.deepEqual(events, ["aborted"]);
  });

  test("is forgotten once, at its end", async (t) => {
    let ends = 0;
    const port = { postMessage: () => {}, close: () => {} } as unknown as MessagePort;
    const worker = new PortCalls(port, {});
    t.mock.method(worker, "tell", () => {
      ends += 1;
    });
    const answers = [{ id: 1, status: 200, type: "basic", headers: [] }, undefined];
    t.mock.method(worker, "call", async () => answers.shift());
    const sentSettings = settingsToSend(
      settingsOf({ remote: { url, fetch }, tables: { people: {} } }),
    );
    const { remote } = settingsFromPage(sentSettings, worker);
    const abort = new AbortController();
    const response = await (remote.fetch as typeof fetch)(url, { signal: abort.signal });
    assert.equal(await response.text(), "");
    abort.abort();
    assert.equal(ends, 1);
  });
});

describe("a request with a time limit", () => {
  /** Blocks the thread, as alert() does in a page. Messages wait. */
  const block = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };

  /** Sends a push whose time is over in 100 ms. Calls `onSent` when a call to the page was sent. */
  async function push(t: TestContext, onSent: (calls: number) => void) {
    let requests = 0;
    const { remote } = sent(
      t,
      {
        fetch: async () => {
          requests += 1;
          return new Response("", { status: 202 });
        },
      },
      {},
      onSent,
    );
    const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
    const http = new Http({ url, fetch: remote.fetch as typeof fetch, now });
    const sendBefore = performance.now() + 100;
    const result = await http.send({ method: "POST", path: "$batch", body: "b", sendBefore });
    return { result: typeof result === "object" ? result.status : result, requests };
  }

  test("is sent by the page within it", async (t) => {
    assert.deepEqual(await push(t, () => {}), { result: 202, requests: 1 });
  });

  test("is not sent by a page that was frozen before it gets the call", async (t) => {
    for (const frozenCall of [1, 2]) {
      const freeze = (calls: number) => {
        if (calls === frozenCall) block(150);
      };
      assert.deepEqual(await push(t, freeze), { result: "notSent", requests: 0 });
    }
  });
});

describe("calls over a port", () => {
  test("reject when the port is closed, and if the other end fails", async () => {
    const { port1, port2 } = new MessageChannel();
    const calls = new PortCalls(port1 as unknown as MessagePort, {});
    const waiting = calls.call("any");
    calls.close(new StoreError("StoreClosed", "closed"));
    await assert.rejects(waiting, { code: "StoreClosed" });
    await assert.rejects(calls.call("any"), { code: "StoreClosed" });
    calls.tell("any");
    port2.close();
    const other = new MessageChannel();
    const failing = new PortCalls(other.port1 as unknown as MessagePort, {});
    const answer = failing.call("any");
    other.port2.postMessage({ failed: { name: "Error", message: "no script" } });
    await assert.rejects(answer, /no script/);
  });
});
