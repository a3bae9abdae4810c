// Tests what waits for a client that listens and does not read, with a simulated host.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ListenerServer } from "../../web/src/tabs/listener-server.ts";
import type { ChangeListener } from "../../web/src/transport.ts";
import { requestKind } from "../../web/src/util/engine-message-kinds.ts";

test("a client that does not read the past changes that it requests is reset", () => {
  let listener: ChangeListener | undefined;
  let closed = 0;
  const host = {
    listen(client: ChangeListener) {
      listener = client;
      return {
        send: (_: Uint8Array, respond: (response: Uint8Array) => void) =>
          respond(new Uint8Array(8 << 20)),
        close() {
          closed += 1;
        },
      };
    },
  };
  const leavesToNextOwner = () => false;
  const server = new ListenerServer({ host, client: undefined, leavesToNextOwner, onNews() {} });
  const request = (kind: number, number: number) =>
    server.receive({ number, kind: "listen", request: Uint8Array.of(kind), resets: 0 });
  request(requestKind.readWatch, 0);
  listener?.onChanges(new Uint8Array(1));
  assert.equal(server.takeNews().length, 2); // the client has not read it
  for (let number = 1; number <= 8; ++number) {
    request(requestKind.readPast, number);
    assert.equal(closed, 0);
  }
  request(requestKind.readPast, 9); // 72 MiB
  assert.equal(closed, 1);
  server.onRead();
  assert.deepEqual(server.takeNews(), [{ reset: true }]);
  server.end();
});
