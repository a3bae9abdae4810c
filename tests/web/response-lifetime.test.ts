// Tests that clients use a response only while it is valid: here its memory is overwritten as soon
// as the call has returned and pending microtasks run, earlier than any store does.

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { ResponseDecoder } from "../../web/src/client/rpc-codec.ts";
import { TableHandle } from "../../web/src/client/table-client.ts";
import { ServiceHandle } from "../../web/src/client/table-service-client.ts";
import { RestEntryPoint } from "../../web/src/rest/entry-point.ts";
import type { Transport } from "../../web/src/transport.ts";
import type { RawEntity } from "../../web/src/types.ts";
import { platformRandom } from "../../web/src/util/random.ts";
import { assertLoaded } from "./support/assert-loaded.ts";
import { collectGarbage } from "./support/collect-garbage.ts";
import { encodeQuery } from "./support/copied-messages.ts";
import { RpcStore, table } from "./support/rpc-store.ts";
import { until } from "./support/until.ts";

let store: RpcStore;
before(async () => {
  store = await RpcStore.open();
});

function shortLived(response: Uint8Array): Uint8Array {
  const memory = new Uint8Array(response.length + 64); // like wasm memory, more than the message
  memory.set(response, 8);
  queueMicrotask(() => memory.fill(0xff));
  return memory.subarray(8, 8 + response.length);
}

const transport: Transport = {
  read: (request) => shortLived(assertLoaded(store.engine.read(request))),
  write: (request) =>
    shortLived(assertLoaded(store.engine.stageAndPublishOne(request, store.now)).response),
  readHttp: (request) => shortLived(assertLoaded(store.engine.readHttp(request, store.now))),
  listen: () => assert.fail("nobody listens"),
  now: () => store.now,
};
const people = new TableHandle(transport, table);
const key = (rowKey: string) => ({ partitionKey: "p", rowKey });

describe("a response is decoded before its memory is overwritten", () => {
  test("by reads and writes of a table", async () => {
    const { etag } = await people.createEntity({ ...key("1"), text: "ä".repeat(300) });
    assert.match(etag ?? "", /^W\//);
    await assert.rejects(people.createEntity(key("1")), { code: "EntityAlreadyExists" });
    const updated = await people.updateEntity({ ...key("1"), n: 1.5 }, "Merge", {
      etag: etag ?? "",
    });
    await people.upsertEntity({ ...key("2"), bytes: new Uint8Array(1000).fill(7) });
    const { subResponses } = await people.submitTransaction([
      ["create", key("3")],
      ["create", key("4")],
    ]);
    assert.ok(subResponses.every((response) => response.etag?.startsWith("W/")));
    await people.deleteEntity("p", "4");
    const read = await people.getEntity("p", "1");
    assert.deepEqual([read["text"], read["n"], read.etag], ["ä".repeat(300), 1.5, updated.etag]);
    await assert.rejects(people.getEntity("p", "none"), { code: "ResourceNotFound" });
    const { value: page } = await people.listEntities().byPage().next();
    assert.deepEqual(
      page?.map((entity: RawEntity) => entity.rowKey),
      ["1", "2", "3"],
    );
    assert.deepEqual(
      new Uint8Array(page?.[1]?.["bytes"] as Uint8Array),
      new Uint8Array(1000).fill(7),
    );
    assert.equal((await people.explain()).kind, "table");
  });

  test("by the operations on tables", async () => {
    const service = new ServiceHandle(transport);
    await service.createTable("others");
    await service.createTable("others");
    const names: unknown[] = [];
    for await (const { name } of service.listTables()) names.push(name);
    assert.deepEqual(names, ["others", table]);
    await service.deleteTable("others");
    await service.deleteTable("others");
  });

  test("by the REST entry point", async () => {
    const entryPoint = new RestEntryPoint(transport, { account: "a", random: platformRandom });
    const send = (method: string, url: string, body = "") =>
      entryPoint.send({
        method,
        url,
        headers: [["Content-Type", "application/json"]],
        body: new TextEncoder().encode(body),
        trusted: true,
      });
    const account = "http://127.0.0.1:10002/devstoreaccount1";
    const entity = JSON.stringify({ PartitionKey: "rest", RowKey: "1" });
    assert.equal((await send("POST", `${account}/${table}`, entity)).status, 201);
    const { status, body } = await send(
      "GET",
      `${account}/${table}(PartitionKey='rest',RowKey='1')`,
    );
    assert.equal(status, 200);
    assert.equal(JSON.parse(new TextDecoder().decode(body)).RowKey, "1");
  });
});

test("a resolver may call the store while a page is returned", async () => {
  await people.upsertEntity({ ...key("r1"), other: "r2" });
  await people.upsertEntity({ ...key("r2"), other: "r1" });
  const reads: Promise<unknown>[] = [];
  const resolving = new TableHandle(transport, table, {
    resolver: {
      discriminator: () => "any",
      schemas: {
        any: (entity: RawEntity) => {
          reads.push(people.getEntity("p", entity["other"] as string));
          return { rowKey: entity.rowKey, other: entity["other"] };
        },
      },
    },
  });
  const filter = "RowKey ge 'r1' and RowKey le 'r2'";
  const { value: page } = await resolving
    .listEntities({ queryOptions: { filter } })
    .byPage()
    .next();
  const pairs = (rows: readonly unknown[]) =>
    rows.map((row) => [(row as RawEntity).rowKey, (row as RawEntity)["other"]]);
  assert.deepEqual(pairs(page ?? []), [
    ["r1", "r2"],
    ["r2", "r1"],
  ]);
  assert.deepEqual(pairs(await Promise.all(reads)), [
    ["r2", "r1"],
    ["r1", "r2"],
  ]);
});

test("a released decoder keeps no view of the store's memory", async () => {
  const decoder = new ResponseDecoder();
  const decoded = (): WeakRef<ArrayBufferLike> => {
    const message = assertLoaded(store.engine.read(encodeQuery(table, {})));
    const memory = new Uint8Array(message.length + 64);
    memory.set(message, 8);
    decoder.page(memory.subarray(8, 8 + message.length));
    return new WeakRef(memory.buffer);
  };
  const buffers = [decoded()];
  decoder.dropCaches();
  buffers.push(decoded());
  await until(() => {
    collectGarbage();
    return buffers.every((buffer) => buffer.deref() === undefined);
  });
  decoder.dropCaches(); // the decoder itself is still referenced
});
