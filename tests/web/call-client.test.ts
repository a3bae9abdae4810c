// Tests how a client that listens gets the owner's news: CallClient with a simulated owner.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { CallClient } from "../../web/src/tabs/call-client.ts";
import type { ClientCalls, ToOwner } from "../../web/src/tabs/messages.ts";
import type { ChangeListener } from "../../web/src/transport.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";

let client: CallClient;
let heard: string[]; // by the listener
let throws: string; // what it throws at
let sent: ClientCalls[];

const hear = (what: string) => {
  heard.push(what);
  if (what === throws) throw new Error("no listener");
};
const listener: ChangeListener = {
  onChanges: (message) => hear(`changes ${message[0]}`),
  onChangesEnd: () => hear("end"),
  onReset: () => hear("reset"),
  onClosed: ({ message }) => hear(`closed: ${message}`),
};

beforeEach(() => {
  client = new CallClient();
  heard = [];
  throws = "";
  sent = [];
  const post = (message: ToOwner) => void sent.push(message as ClientCalls);
  client.connect({ owner: "owner", session: 1, lastCommit: undefined, post });
});

const changes = (number: number) => ({ changes: Uint8Array.of(number) });

describe("a client that listens", () => {
  test("reports that it has read changes, once for each message", async () => {
    client.listen(listener);
    client.settleCalls([changes(1), changes(2)]);
    await turn();
    assert.deepEqual(heard, ["changes 1", "changes 2", "end"]);
    assert.deepEqual(
      sent.map(({ hasReadChanges }) => hasReadChanges),
      [true],
    );
  });

  for (const what of ["changes 1", "end", "reset"]) {
    test(`ends if the listener throws at "${what}", and can begin again`, async () => {
      client.listen(listener);
      throws = what;
      const flushed = client.callWithoutContent("flush", 7);
      const news = [changes(1), { reset: true } as const];
      client.settleCalls([...news, { number: 7, value: "flushed" }]);
      assert.equal(await flushed, "flushed");
      await turn();
      assert.equal(heard.at(-1), "closed: no listener");
      const calls = sent.flatMap((message) => message.calls);
      const requests = calls.flatMap(({ kind, request }) => (kind === "listen" ? [request] : []));
      assert.deepEqual(requests, [Uint8Array.of(requestKind.closeListeners)]);
      assert.equal(sent.filter(({ hasReadChanges }) => hasReadChanges).length, 1);

      throws = "";
      client.listen(listener);
      client.settleCalls([changes(2)]);
      assert.deepEqual(heard.slice(-2), ["changes 2", "end"]);
    });
  }
});
