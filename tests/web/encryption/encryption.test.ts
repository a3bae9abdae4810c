// Tests encrypted properties: what is stored, what is rejected, and how manipulation is detected.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as official from "@azure/data-tables";
import {
  type EncryptedTable,
  EntityCipher,
  type EntityCipherOptions,
  encryptedTable,
} from "../../../web/src/encryption/index.ts";
import { type MockStore, mockStore } from "../../../web/src/testing/index.ts";
import type { ListTableEntitiesOptions, TableClient, TableEntity } from "../../../web/src/types.ts";

const newKey = async () =>
  (await crypto.subtle.generateKey({ name: "AES-KW", length: 256 }, false, [
    "wrapKey",
    "unwrapKey",
  ])) as CryptoKey;
const key = await newKey();
const options: EntityCipherOptions = { key, keyId: "2026", properties: ["Ssn", "Note"] };

const ann = { partitionKey: "p", rowKey: "ann", Name: "Ann", Ssn: "078-05-1120", Age: 31 };

const open = () => mockStore({ name: "acme", fixtures: { people: [] } });
const clients: Readonly<Record<string, (store: MockStore) => TableClient>> = {
  "a store's table": (store) => store.tableClient("people"),
  "the official client": (store) =>
    new official.TableClient("https://acme.table.core.windows.net", "people", {
      httpClient: store.httpClient,
    }) as unknown as TableClient,
};

async function listed(
  table: Pick<TableClient, "listEntities"> | EncryptedTable,
  listOptions: ListTableEntitiesOptions,
): Promise<object[]> {
  const found: object[] = [];
  for await (const one of table.listEntities(listOptions)) found.push(one);
  return found;
}

for (const [name, clientOf] of Object.entries(clients)) {
  describe(`over ${name}`, () => {
    test("decrypts what it encrypted; other clients read bytes", async () => {
      await using store = await open();
      const people = encryptedTable<typeof ann>(clientOf(store), options);
      await people.createEntity(ann);
      const { etag, timestamp, ...found } = await people.getEntity("p", "ann");
      const { "odata.metadata": _, ...properties } = found as Record<string, unknown>;
      assert.deepEqual(properties, ann);

      const raw = await store.table("people").getEntity("p", "ann");
      assert(raw["Ssn"] instanceof Uint8Array);
      assert.equal(raw["Ssn"].length, 12 + ann.Ssn.length + 16);
      assert.deepEqual([raw["Name"], raw["Age"]], ["Ann", 31]);
      const info = JSON.parse(raw["_Encryption"] as string);
      assert.deepEqual([info.v, info.key, info.names], [2, "2026", ["Ssn"]]);
    });

    test("supports listing, selecting, replacing and transactions", async () => {
      await using store = await open();
      const people = encryptedTable<typeof ann>(clientOf(store), options);
      await people.submitTransaction([
        ["create", ann],
        ["upsert", { ...ann, rowKey: "bob", Ssn: "2" }, "Replace"],
        ["create", { partitionKey: "p", rowKey: "none", Name: "No secrets" }],
      ]);
      await people.updateEntity({ ...ann, Ssn: "3" }, "Replace", { etag: "*" });
      await people.upsertEntity({ ...ann, rowKey: "cid", Ssn: "\ufeff\u{1f600}" }, "Replace");
      const found: unknown[] = [];
      for await (const { rowKey, Ssn } of people.listEntities({
        queryOptions: { filter: "Name ne 'Ssn eq'", select: ["Ssn"] },
      })) {
        found.push([rowKey, Ssn ?? "none"]);
      }
      assert.deepEqual(found, [
        ["ann", "3"],
        ["bob", "2"],
        ["cid", "\ufeff\u{1f600}"],
        ["none", "none"],
      ]);
      await people.submitTransaction([["delete", { partitionKey: "p", rowKey: "bob" }]]);
      await people.deleteEntity("p", "cid");
      assert.equal((await store.stats()).rows, 2);
    });

    test("rejects merges, and filters on encrypted properties", async () => {
      await using store = await open();
      const people = encryptedTable(clientOf(store), options);
      const expectedError = { name: "StoreError", code: "NotSupported" };
      await assert.rejects(people.updateEntity(ann), expectedError);
      await assert.rejects(people.updateEntity(ann, "Merge"), expectedError);
      await assert.rejects(people.upsertEntity(ann), expectedError);
      await assert.rejects(people.submitTransaction([["upsert", ann, "Merge"]]), expectedError);
      assert.equal((await store.stats()).rows, 0);
      for (const filter of ["Ssn eq 'x'", "not (Name eq 'it''s' or Ssn ne '')"]) {
        await assert.rejects(listed(people, { queryOptions: { filter } }), {
          code: "EncryptedProperty",
          message: "No filter can look into Ssn: it is encrypted.",
        });
      }
    });

    test("returns and accepts typed values without type conversion", async () => {
      await using store = await open();
      const people = encryptedTable(clientOf(store), options);
      await people.createEntity(ann);
      const typed = await people.getEntity("p", "ann", { disableTypeConversion: true });
      const { etag, timestamp, "odata.metadata": _, ...rest } = typed as Record<string, unknown>;
      const properties = rest as TableEntity;
      assert.deepEqual(properties, {
        partitionKey: "p",
        rowKey: "ann",
        Name: { type: "String", value: "Ann" },
        Ssn: { type: "String", value: ann.Ssn },
        Age: { type: "Int32", value: "31" },
      });
      const [first] = await listed(people, { disableTypeConversion: true });
      assert.deepEqual((first as TableEntity)["Ssn"], { type: "String", value: ann.Ssn });
      await people.upsertEntity({ ...properties, rowKey: "copy" }, "Replace");
      assert.equal((await people.getEntity("p", "copy"))["Ssn"], ann.Ssn);
    });

    test("detects a row copied from another table", async () => {
      await using store = await open();
      const people = encryptedTable(clientOf(store), options);
      await people.createEntity(ann);
      const { etag, timestamp, ...raw } = await store.table("people").getEntity("p", "ann");
      await store.table("leavers").createTable();
      await store.tableClient("leavers").createEntity(raw as TableEntity);
      const leavers = encryptedTable(store.tableClient("leavers"), options);
      await assert.rejects(leavers.getEntity("p", "ann"), { code: "DecryptionFailed" });
      // Upper and lower case in table names are equal.
      const shouted = encryptedTable(store.tableClient("PEOPLE"), options);
      assert.equal((await shouted.getEntity("p", "ann"))["Ssn"], ann.Ssn);
    });

    test("rejects clear text in place of an encrypted value, unless it is allowed", async () => {
      await using store = await open();
      const client = clientOf(store);
      await client.createEntity(ann);
      const people = encryptedTable(client, options);
      const expectedError = {
        code: "DecryptionFailed",
        message: /Ssn is not encrypted, and should be\.$/,
      };
      await assert.rejects(people.getEntity("p", "ann"), expectedError);
      await assert.rejects(listed(people, { queryOptions: { select: ["Ssn"] } }), expectedError);
      await assert.rejects(
        people.getEntity("p", "ann", { disableTypeConversion: true }),
        expectedError,
      );
      const before = encryptedTable(client, { ...options, clearText: "allow" });
      assert.equal((await before.getEntity("p", "ann"))["Ssn"], ann.Ssn);
      assert.equal((await listed(people, { queryOptions: { select: ["Name"] } })).length, 1);
    });

    test("rejects filters on properties that a function encrypts", async () => {
      await using store = await open();
      const properties: EntityCipherOptions["properties"] = (partitionKey, rowKey, name) =>
        name === "Ssn" ? partitionKey !== "public" : name === "Note" && rowKey === "it's";
      const people = encryptedTable(clientOf(store), { ...options, properties });
      await people.createEntity(ann);
      await people.createEntity({ ...ann, partitionKey: "public" });
      const expectedError = { code: "EncryptedProperty" };
      for (const filter of [
        "Ssn eq '078-05-1120'",
        "'x' eq Ssn",
        "PartitionKey eq 'p' and Ssn eq 'x'",
        "PartitionKey eq 'public' and Name eq 'a' or 'p' eq PartitionKey and Ssn eq 'x'",
        "RowKey eq 'it''s' and Note ne 'x'",
      ]) {
        await assert.rejects(listed(people, { queryOptions: { filter } }), expectedError, filter);
      }
      for (const filter of [
        "PartitionKey eq 'public' and Ssn eq '078-05-1120'",
        "Name eq 'Ann' and PartitionKey eq 'public'",
      ]) {
        assert.equal((await listed(people, { queryOptions: { filter } })).length, 1, filter);
      }
      const all = encryptedTable(clientOf(store), { ...options, properties: () => true });
      const queryOptions = { filter: "PartitionKey eq 'q' and Timestamp gt datetime'2020-01-01'" };
      assert.deepEqual(await listed(all, { queryOptions }), []);
    });
  });
}

describe("an entity's cipher", () => {
  const cipher = new EntityCipher("people", options);

  test("encrypts the same text differently each time, with a key for each entity", async () => {
    const [a, b] = [await cipher.encrypt(ann), await cipher.encrypt(ann)];
    assert.notDeepEqual(a["Ssn"], b["Ssn"]);
    const wrapped = (entity: TableEntity) => JSON.parse(entity["_Encryption"] as string).wrapped;
    assert.notEqual(wrapped(a), wrapped(b));
  });

  test("chooses by keys and property name", async () => {
    const chosen: unknown[] = [];
    const choosing = new EntityCipher("people", {
      ...options,
      properties: (...place) => {
        chosen.push(place);
        return place[2] === "Name";
      },
    });
    const entity = await choosing.encrypt({ ...ann, etag: "x", timestamp: "y", Gone: null });
    assert.deepEqual(chosen, [
      ["p", "ann", "Name"],
      ["p", "ann", "Ssn"],
      ["p", "ann", "Age"],
    ]);
    assert(entity["Name"] instanceof Uint8Array);
    assert.equal(entity["Ssn"], ann.Ssn);
    assert.deepEqual(await choosing.decrypt(entity), {
      ...ann,
      etag: "x",
      timestamp: "y",
      Gone: null,
    });
  });

  test("detects every change and every move", async () => {
    const stored = await cipher.encrypt({ ...ann, Note: "n" });
    const ssn = stored["Ssn"] as Uint8Array;
    const flipped = (at: number) => ssn.map((byte, i) => (i === at ? byte ^ 1 : byte));
    const broken: Record<string, object> = {
      "another row": { ...stored, rowKey: "bob" },
      "another partition": { ...stored, partitionKey: "q" },
      "another property": { ...stored, Note: ssn },
      "the nonce": { ...stored, Ssn: flipped(0) },
      "the text": { ...stored, Ssn: flipped(12) },
      "the tag": { ...stored, Ssn: flipped(ssn.length - 1) },
      "nothing left": { ...stored, Ssn: new Uint8Array(3) },
      "no keys": { ...stored, partitionKey: undefined },
      "no JSON": { ...stored, _Encryption: "{" },
    };
    for (const [what, entity] of Object.entries(broken)) {
      await assert.rejects(
        cipher.decrypt(entity),
        {
          name: "StoreError",
          code: "DecryptionFailed",
          message: /Its key is another one, or it was changed\.$/,
        },
        what,
      );
    }
    await assert.rejects(new EntityCipher("leavers", options).decrypt(stored), {
      code: "DecryptionFailed",
    });
    for (const version of [1, 3]) {
      const info = (stored["_Encryption"] as string).replace('"v":2', `"v":${version}`);
      await assert.rejects(
        cipher.decrypt({ ...stored, _Encryption: info }),
        new RegExp(`Its version is ${version}, and 2 is the only one known\\.$`),
      );
    }
    const unnamed = (stored["_Encryption"] as string).replace('"Ssn",', "");
    await assert.rejects(
      cipher.decrypt({ ...stored, _Encryption: unnamed }),
      /Ssn is not encrypted, and should be\.$/,
    );
    assert.deepEqual(await cipher.decrypt(stored), { ...ann, Note: "n" });
  });

  test("supports key rotation: old keys are requested by name", async () => {
    const stored = await cipher.encrypt(ann);
    const other = await newKey();
    const next: EntityCipherOptions = { ...options, key: other, keyId: "2027" };
    await assert.rejects(
      new EntityCipher("people", next).decrypt(stored),
      /There is no key "2026"\.$/,
    );
    const keyResolver = async (id: string) => (id === "2026" ? key : undefined);
    assert.deepEqual(
      await new EntityCipher("people", { ...next, keyResolver }).decrypt(stored),
      ann,
    );
    const wrong = new EntityCipher("people", { ...next, keyResolver: () => other });
    await assert.rejects(wrong.decrypt(stored), { code: "DecryptionFailed" });
  });

  test("accepts strings, up to the size of a Binary", async () => {
    await assert.rejects(cipher.encrypt({ ...ann, Ssn: 7 }), {
      name: "TypeError",
      message: "Only strings are encrypted; Ssn is a number.",
    });
    await assert.rejects(cipher.encrypt({ ...ann, Ssn: { type: "Int64", value: "7" } }), {
      message: "Only strings are encrypted; Ssn is of type Int64.",
    });
    const most = "x".repeat(65_536 - 28);
    const stored = await cipher.encrypt({ ...ann, Ssn: most });
    assert.equal((stored["Ssn"] as Uint8Array).length, 65_536);
    assert.equal((await cipher.decrypt({ ...ann, ...stored })).Ssn, most);
    await assert.rejects(cipher.encrypt({ ...ann, Ssn: `${most}x` }), {
      name: "RangeError",
      message: "Ssn has 65509 bytes; at most 65508 can be encrypted.",
    });
    await assert.rejects(cipher.encrypt({ ...ann, Ssn: "ab\ud83d" }), {
      name: "RangeError",
      message: "Ssn is not well-formed text: half a surrogate pair at 2.",
    });
    assert.deepEqual(await cipher.encrypt({ partitionKey: "p", rowKey: "r", Ssn: null }), {
      partitionKey: "p",
      rowKey: "r",
      Ssn: null,
    });
  });
});
