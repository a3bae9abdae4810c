// The checks of the soak of sync find what they should: violations of clients, and a service that
// does not keep its promises.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "../web/support/fault-proxy.ts";
import { ClientLedger, type ReportedLost } from "./support/sync-soak/client-ledger.ts";
import { RemoteHistory } from "./support/sync-soak/remote-history.ts";
import type { Row, Rows } from "./support/sync-soak/rows.ts";
import type { Write } from "./support/sync-soak/workload.ts";

/** A remote that executes what the test says. */
class FakeRemote {
  readonly #rows = new Map<string, Row>();
  #versions = 0;
  readonly history: RemoteHistory;

  constructor(isReliable = true) {
    this.history = new RemoteHistory({
      read: async (): Promise<Rows> => new Map(this.#rows),
      isReliable,
      createsAgain: (client) => client === "b",
    });
  }

  put(key: string, properties: Record<string, string>, etag = `${++this.#versions}`): void {
    const texts = Object.entries(properties);
    this.#rows.set(key, { etag, timestamp: etag, properties: new Map(texts) });
  }

  delete(key: string): void {
    this.#rows.delete(key);
  }

  /** `operations`: each as its method, its key and its marker. */
  async send(client: string, operations: readonly string[], execute: () => void, status = 204) {
    const parts = operations.map((operation) => {
      const [method, key = "", marker] = operation.split(" ");
      const [partition, row] = key.split("/");
      const body = JSON.stringify(marker === undefined ? {} : { [marker]: 1 });
      const url = `http://host/people(PartitionKey='${partition}',RowKey='${row}')`;
      return `Content-Type: application/http\r\n\r\n${method} ${url} HTTP/1.1\r\n\r\n${body}\r\n`;
    });
    const message: Message = {
      status: 202,
      headers: {},
      body: Buffer.from(`HTTP/1.1 ${status} It\r\n`),
    };
    await this.history.through(client)(
      { method: "POST", path: "/account/$batch", body: Buffer.from(parts.join("")) },
      async () => {
        execute();
        return message;
      },
    );
  }
}

describe("the history of a remote", () => {
  test("finds a transaction that is torn", async () => {
    const remote = new FakeRemote();
    await remote.send("a", ["POST p/pair-0 m_a_1", "POST p/pair-1 m_a_1"], () => {
      remote.put("p/pair-0", { m_a_1: "Int32 1", pair: "String 1" });
      remote.put("p/pair-1", { m_a_1: "Int32 1", pair: "String 1" });
    });
    assert.deepEqual(remote.history.violations, []);
    await remote.send("a", ["MERGE p/pair-0 m_a_2"], () => {
      remote.put("p/pair-0", { m_a_1: "Int32 1", m_a_2: "Int32 1", pair: "String 2" });
    });
    assert.match(
      remote.history.violations.join(),
      /^a tears a transaction of p\/pair-0 and p\/pair-1: /,
    );
  });

  test("finds a write that is executed twice", async () => {
    const remote = new FakeRemote();
    const write = () =>
      remote.send("a", ["POST p/row-1 m_a_1"], () => remote.put("p/row-1", { m_a_1: "Int32 1" }));
    await write();
    await remote.send("node", ["DELETE p/row-1"], () => remote.delete("p/row-1"));
    assert.deepEqual(remote.history.violations, []);
    await write();
    assert.match(remote.history.violations.join(), /^a writes p\/row-1 m_a_1 twice: a 1, 3$/);
  });

  test("lets a client create an entity again that others have deleted", async () => {
    const remote = new FakeRemote();
    const write = () =>
      remote.send("b", ["POST p/row-1 m_b_1"], () => remote.put("p/row-1", { m_b_1: "Int32 1" }));
    await write();
    await remote.send("node", ["DELETE p/row-1"], () => remote.delete("p/row-1"));
    await write();
    assert.deepEqual(remote.history.violations, []);
  });

  for (const isReliable of [true, false]) {
    test(`blames a ${isReliable ? "" : "un"}reliable service for its own defects`, async () => {
      const remote = new FakeRemote(isReliable);
      const operations = ["PUT p/row-1 m_a_1", "PUT p/row-2 m_a_1"];
      await remote.send("a", operations, () => remote.put("p/row-1", { m_a_1: "Int32 1" }), 412);
      await remote.send("a", operations, () => {});
      await remote.send("a", ["PUT p/row-1 m_a_2"], () => {
        remote.put("p/row-1", { m_a_2: "Int32 1" }, "1");
      });
      const defects = [
        "a refused batch was executed in part",
        "an accepted batch was not executed",
        "two versions of an entity have the same ETag",
      ];
      assert.deepEqual([...remote.history.defects.keys()], defects);
      assert.equal(remote.history.violations.length, isReliable ? 3 : 0);
    });
  }
});

describe("the ledger of a client", () => {
  const writeTo = (rowKey: string, number: number): Write => {
    const marker = `m_a_${number}`;
    const operation = { kind: "merge", partitionKey: "p", rowKey } as const;
    const operations = [{ ...operation, properties: { [marker]: 1 } }];
    return { marker, isOwn: rowKey.startsWith("own-"), operations };
  };
  const rowsWith = (...markers: string[]): Rows => {
    const properties = new Map(markers.map((marker) => [marker, "Int32 1"]));
    return new Map([["p/own-a-1", { etag: "1", timestamp: "1", properties }]]);
  };

  test("finds that an acknowledged write of own rows is gone", () => {
    const ledger = new ClientLedger("a");
    for (const number of [1, 2]) ledger.acknowledge(writeTo("own-a-1", number));
    assert.deepEqual(ledger.check(rowsWith("m_a_1", "m_a_2")), []);
    assert.match(ledger.check(rowsWith("m_a_1")).join(), /^a p\/own-a-1: written .*, found /);
    assert.match(ledger.check(new Map()).join(), /found absent$/);
  });

  test("accepts that a write without an answer was stored, or that it was not", () => {
    for (const isStored of [true, false]) {
      const ledger = new ClientLedger("a");
      ledger.acknowledge(writeTo("own-a-1", 1));
      ledger.onUncertain(writeTo("own-a-1", 2));
      const rows = isStored ? rowsWith("m_a_1", "m_a_2") : rowsWith("m_a_1");
      assert.deepEqual(ledger.check(rows), []);
      assert.deepEqual(ledger.check(rows), []);
    }
  });

  test("accepts that a write without an answer has replaced earlier ones", () => {
    const { history } = new FakeRemote();
    const ledger = new ClientLedger("a");
    const { marker, ...remove } = writeTo("row-1", 2);
    const operations = remove.operations.map((one) => ({ ...one, kind: "delete" as const }));
    ledger.acknowledge(writeTo("row-1", 1));
    ledger.onUncertain({ ...remove, marker, operations });
    ledger.acknowledge(writeTo("row-1", 3));
    const violations = ledger.settle([], history);
    assert.deepEqual(violations, ["a p/row-1 m_a_3 is silently lost"]);
  });

  test("finds a write that is silently lost, and accepts one that is reported", async () => {
    const { history } = new FakeRemote();
    const lost = (names: string[]): ReportedLost[] => [
      { key: "p/row-1", kind: "edit", outcome: "notApplied", names },
    ];
    const ledger = new ClientLedger("a");
    ledger.acknowledge(writeTo("row-1", 1));
    assert.deepEqual(ledger.settle(lost(["m_a_1"]), history), []);
    ledger.acknowledge(writeTo("row-1", 2));
    const violations = ledger.settle(lost(["m_a_1"]), history);
    assert.deepEqual(violations, ["a p/row-1 m_a_2 is silently lost"]);
    assert.match(
      ledger.settle([{ ...(lost([])[0] as ReportedLost), key: "p/own-a-1" }], history).join(),
      /reports p\/own-a-1 as lost/,
    );
  });
});
