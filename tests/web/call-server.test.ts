// Tests how an owner passes changes to a client that listens: CallServer with a simulated host and
// a simulated channel.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CallServer, workerServerPolicy } from "../../web/src/tabs/call-server.ts";
import type { CallResponse, RemoteCall, ToClient, ToOwner } from "../../web/src/tabs/messages.ts";
import type { ChangeListener, Host, ListenerConnection } from "../../web/src/transport.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";

const closeRequest = Uint8Array.of(requestKind.closeListeners);
const readRequest = Uint8Array.of(requestKind.readWatch);

let server: CallServer;
let session: number;
let startSession: (number: number) => void;
let listener: ChangeListener | undefined; // of the open connection
let opened: number; // how many connections were opened
let posted: CallResponse[][]; // the responses in each message to the client
let lastNumber: number;

// The host responds to a request with the request.
class Connection implements ListenerConnection {
  send(request: Uint8Array, respond: (response: Uint8Array) => void): void {
    respond(request);
  }
  close(): void {
    listener = undefined;
  }
}

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  listener = undefined;
  opened = 0;
  posted = [];
  lastNumber = 0;
  const host = {
    status: {},
    flush: async () => {},
    on: () => () => {},
    listen(added: ChangeListener): ListenerConnection {
      listener = added;
      opened += 1;
      return new Connection();
    },
  };
  const post = (message: unknown) => {
    const toClient = message as ToClient;
    if (toClient.type === "responses") posted.push(toClient.responses);
  };
  const channel = { post, close() {} };
  startSession = (number) => {
    session = number;
    const served = host as unknown as Host;
    server = new CallServer(served, "owner", channel, workerServerPolicy, session);
  };
  startSession(0);
});

afterEach(() => mock.timers.reset());

function send(message: Partial<ToOwner & { type: "calls" }>): void {
  server.receive({ to: "owner", type: "calls", session, calls: [], ...message });
}

async function listen(request: Uint8Array, resets = 0): Promise<void> {
  const call: RemoteCall = { number: ++lastNumber, kind: "listen", request, resets };
  send({ calls: [call] });
  await turn();
}

// Returns the messages since the last call, each as a text.
function messages(): string[] {
  const textOf = (news: CallResponse) => {
    if ("changes" in news) return `changes ${news.changes[0]}`;
    if ("reset" in news) return "reset";
    if ("closed" in news) return `closed: ${news.closed.message}`;
    return "value" in news ? `response ${news.number}` : news.error.message;
  };
  return posted.splice(0).map((responses) => responses.map(textOf).join(", "));
}

// The store tells its listener of a change.
async function change(number: number, size = 100): Promise<void> {
  listener?.onChanges(new Uint8Array(size).fill(number));
  listener?.onChangesEnd();
  await turn();
}

async function turns(): Promise<void> {
  for (let i = 0; i < 5; ++i) await turn();
}

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  await turns();
}

// The client has read the last message with changes.
async function acknowledge(): Promise<void> {
  send({ hasReadChanges: true });
  await turn();
}

describe("a client that listens", () => {
  test("can listen again after the store has closed its listeners", async () => {
    await listen(readRequest);
    listener?.onClosed(new Error("broken"));
    await turn();
    assert.deepEqual(messages(), ["response 1", "closed: broken"]);
    await listen(readRequest);
    assert.equal(opened, 2);
    assert.deepEqual(messages(), ["response 2"]);
  });

  test("gets changes one message at a time, once it has read the one before", async () => {
    await listen(readRequest);
    await change(1);
    assert.deepEqual(messages(), ["response 1", "changes 1"]);
    await change(2);
    await change(3);
    await listen(readRequest);
    assert.deepEqual(messages(), []);
    await acknowledge();
    assert.deepEqual(messages(), ["changes 2, changes 3, response 2"]);
    await change(4);
    assert.deepEqual(messages(), []);
    await acknowledge();
    assert.deepEqual(messages(), ["changes 4"]);
    await acknowledge();
    assert.deepEqual(messages(), []);
    await change(5);
    assert.deepEqual(messages(), ["changes 5"]);
  });

  test("gets responses to other calls although it does not read changes", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    const flush: RemoteCall = { number: ++lastNumber, kind: "flush" };
    send({ calls: [flush] });
    await turn();
    assert.deepEqual(messages(), ["response 2"]);
  });

  test("loses nothing if much changes before it could read", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    for (let i = 0; i < 100; ++i) {
      listener?.onChanges(new Uint8Array(100_000).fill(2));
      listener?.onChangesEnd();
    }
    await acknowledge();
    const [read = "", ...more] = messages();
    assert.deepEqual([read.split(", ").length, more], [100, []]);
    for (let i = 0; i < 100; ++i) await change(3, 100_000);
    await pass(4999);
    await acknowledge();
    await pass(4999); // the next message is unread for less than 5 seconds
    for (let i = 0; i < 100; ++i) await change(4, 100_000);
    await acknowledge();
    const texts = messages().map((text) => new Set(text.split(", ")));
    assert.deepEqual(texts, [new Set(["changes 3"]), new Set(["changes 4"])]);
    assert.equal(opened, 1);
  });

  test("begins again if very much changes before it could read", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    for (let i = 0; i < 67; ++i) await change(2, 1_000_000);
    assert.notEqual(listener, undefined);
    await change(2, 1_000_000); // more than 64 MiB
    assert.equal(listener, undefined);
    await acknowledge();
    assert.deepEqual(messages(), ["reset"]);
  });

  test("begins again if much waits for it when it turns out to be slow", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    for (let i = 0; i < 100; ++i) await change(2, 100_000);
    assert.notEqual(listener, undefined);
    await pass(5000);
    assert.equal(listener, undefined);
    await acknowledge();
    assert.deepEqual(messages(), ["reset"]);
  });

  test("is not slow if its report is received right after the timer", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    for (let i = 0; i < 100; ++i) await change(2, 100_000);
    mock.timers.tick(5000);
    await acknowledge();
    await turns();
    assert.equal(opened, 1);
    assert.notEqual(listener, undefined);
  });

  test("begins again once it reads, if it is slow and too much waits for it", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    await pass(5000);
    for (let i = 0; i < 100; ++i) await change(2, 100_000);
    assert.equal(listener, undefined);
    await listen(readRequest); // an old request
    assert.deepEqual(messages(), []);
    await acknowledge();
    assert.deepEqual(messages(), ["reset"]);
    await listen(readRequest); // an old request, again
    await listen(readRequest, 1);
    assert.deepEqual(messages(), ["response 4"]);
    await change(3);
    assert.deepEqual(messages(), ["changes 3"]);
    assert.equal(opened, 2);
  });

  test("gets a large change as a whole", async () => {
    await listen(readRequest);
    await change(1, 10_000_000);
    assert.deepEqual(messages(), ["response 1", "changes 1"]);
    assert.equal(opened, 1);
  });

  test("in a new session, gets changes although it has not read those of the last one", async () => {
    await listen(readRequest);
    await change(1);
    await change(2);
    assert.deepEqual(messages(), ["response 1", "changes 1"]);
    server.close();
    assert.equal(listener, undefined);
    startSession(1);
    await listen(readRequest);
    await change(3);
    assert.deepEqual(messages(), ["response 2", "changes 3"]);
    await change(4);
    send({ session: 0, hasReadChanges: true }); // of the last session
    await turn();
    assert.deepEqual(messages(), []);
    await acknowledge();
    assert.deepEqual(messages(), ["changes 4"]);
  });

  test("that reads nothing keeps no session going", async () => {
    await listen(readRequest);
    await change(1);
    server.close();
    await pass(5000);
    await acknowledge();
    assert.deepEqual(messages(), ["response 1", "changes 1"]);
    assert.equal(opened, 1);
  });

  test("learns that the store has closed or reset its listeners once it reads", async () => {
    await listen(readRequest);
    await change(1);
    await change(2);
    messages();
    listener?.onReset();
    await listen(readRequest); // an old request
    await change(3);
    listener?.onReset();
    await listen(readRequest, 1); // an old request, too
    await change(4);
    listener?.onClosed(new Error("broken"));
    await turn();
    assert.deepEqual(messages(), []);
    await acknowledge();
    assert.deepEqual(messages(), ["reset, reset, changes 4, closed: broken"]);
    await listen(readRequest, 2);
    assert.equal(opened, 2);
    assert.deepEqual(messages(), []); // "changes 4" is unread
    await acknowledge();
    assert.deepEqual(messages(), ["response 4"]);
  });

  test("learns of a reset although it has closed its listeners meanwhile", async () => {
    await listen(readRequest);
    await change(1);
    messages();
    await change(2);
    listener?.onReset();
    await listen(closeRequest);
    await listen(readRequest); // an old request: the client has not received the reset
    await acknowledge();
    assert.deepEqual(messages(), ["reset"]);
    await listen(readRequest, 1);
    assert.equal(opened, 2);
    assert.deepEqual(messages(), ["response 4"]);
  });

  test("gets nothing after it has closed its listeners, and then begins again", async () => {
    await listen(readRequest);
    await change(1);
    await change(2);
    messages();
    await listen(closeRequest);
    assert.equal(listener, undefined);
    await listen(readRequest);
    await acknowledge();
    assert.deepEqual(messages(), ["response 3"]);
  });
});
