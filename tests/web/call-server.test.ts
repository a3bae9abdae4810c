// Tests how an owner passes changes to a client that listens: CallServer with a simulated host and
// a simulated channel.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CallServer, workerServerPolicy } from "../../web/src/tabs/call-server.ts";
import type { CallResponse, RemoteCall, ToClient, ToOwner } from "../../web/src/tabs/messages.ts";
import type { ChangeListener, Host, ListenerConnection } from "../../web/src/transport.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";

const closeRequest = Uint8Array.of(requestKind.closeListeners);
const readRequest = Uint8Array.of(requestKind.readWatch);

let server: CallServer;
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
  server = new CallServer(host as unknown as Host, "owner", channel, workerServerPolicy);
});

function send(message: Partial<ToOwner & { type: "calls" }>): void {
  server.receive({ to: "owner", type: "calls", session: 0, calls: [], ...message });
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

  test("begins again once it reads, if too much waits for it", async () => {
    await listen(readRequest);
    await change(1);
    messages();
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
