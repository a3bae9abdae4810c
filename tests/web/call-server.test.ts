// Tests how an owner passes changes to a client that listens: CallServer with a simulated host and
// a simulated channel.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CallServer, workerServerPolicy } from "../../web/src/tabs/call-server.ts";
import type { CallResponse, RemoteCall, ToClient, ToOwner } from "../../web/src/tabs/messages.ts";
import type { ChangeListener, Host, ListenerConnection } from "../../web/src/transport.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";

const readRequest = Uint8Array.of(requestKind.readWatch);

let server: CallServer;
let listeners: ChangeListener[]; // of the connections that were opened; the last one may be open
let open: number; // connections
let posted: CallResponse[][]; // the responses in each message to the client
let lastNumber: number;

// The host responds to a request with the request.
class Connection implements ListenerConnection {
  send(request: Uint8Array, respond: (response: Uint8Array) => void): void {
    respond(request);
  }
  close(): void {
    open -= 1;
  }
}

beforeEach(() => {
  listeners = [];
  open = 0;
  posted = [];
  lastNumber = 0;
  const host = {
    status: {},
    on: () => () => {},
    listen(listener: ChangeListener): ListenerConnection {
      listeners.push(listener);
      open += 1;
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

describe("a client that listens", () => {
  test("can listen again after the store has closed its listeners", async () => {
    await listen(readRequest);
    listeners.at(-1)?.onClosed(new Error("broken"));
    await turn();
    assert.deepEqual(messages(), ["response 1", "closed: broken"]);
    await listen(readRequest);
    assert.equal(listeners.length, 2);
    assert.deepEqual(messages(), ["response 2"]);
  });
});
