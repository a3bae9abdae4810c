// Runs libraries of Node that keep their data in tables against `entitable serve`: an adapter of
// Auth.js, the module of Nest, a session store of Express, and another client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import * as tls from "node:tls";
import { fileURLToPath } from "node:url";
import { TableClient } from "@azure/data-tables";
import {
  connectionString,
  emulatorKey,
  killAllServers,
  type ServerProcess,
  start,
} from "../web/support/server-process.ts";
import {
  type Account,
  authAdapter,
  call,
  nestRepository,
  type Row,
  type SessionStore,
  sessionStore,
  type TableNodeClient,
  tableNode,
} from "./libraries.ts";

let served: ServerProcess;
before(async () => {
  served = await start(["--in-memory", "--auth", "strict"]);
});
after(killAllServers);

describe("@auth/azure-tables-adapter", () => {
  const day = 86_400_000;
  const ann = {
    name: "Ann",
    email: "ann@example.com",
    emailVerified: new Date("2026-01-02T03:04:05.678Z"),
  };
  const open = async (table: string) => {
    const options = { allowInsecureConnection: true };
    const client = TableClient.fromConnectionString(connectionString(served), table, options);
    await client.createTable();
    return authAdapter(client);
  };
  const accountOf = (userId: string): Account => ({
    provider: "github",
    providerAccountId: "42",
    type: "oauth",
    userId,
    access_token: "token",
    expires_at: 1767323045,
  });

  test("users", async () => {
    const adapter = await open("authUsers");
    const user = await adapter.createUser(ann);
    assert.deepEqual(await adapter.getUser(user.id), { ...ann, id: user.id });
    assert.deepEqual(await adapter.getUserByEmail(ann.email), { ...ann, id: user.id });
    assert.equal(await adapter.getUser("unknown"), null);
    assert.equal((await adapter.updateUser({ id: user.id, name: "Anna" })).email, ann.email);
    assert.equal((await adapter.getUser(user.id))?.name, "Anna");
  });

  test("accounts", async () => {
    const adapter = await open("authAccounts");
    const { id } = await adapter.createUser(ann);
    const account = accountOf(id);
    assert.deepEqual(await adapter.linkAccount(account), account);
    assert.equal(await adapter.linkAccount(account), null); // it exists
    assert.equal((await adapter.getUserByAccount(account))?.id, id);
    await adapter.unlinkAccount(account);
    assert.equal(await adapter.getUserByAccount(account), null);
  });

  test("sessions", async () => {
    const adapter = await open("authSessions");
    const { id: userId } = await adapter.createUser(ann);
    const session = { sessionToken: "s1", userId, expires: new Date(Date.now() + day) };
    await adapter.createSession(session);
    const found = await adapter.getSessionAndUser("s1");
    assert.deepEqual(found, { session, user: { ...ann, id: userId } });
    const expires = new Date(Date.now() + 2 * day);
    assert.deepEqual(
      (await adapter.updateSession({ sessionToken: "s1", expires })).expires,
      expires,
    );
    assert.deepEqual((await adapter.getSessionAndUser("s1"))?.session.expires, expires);
    assert.equal((await adapter.deleteSession("s1"))?.userId, userId);
    assert.equal(await adapter.getSessionAndUser("s1"), null);
  });

  test("verification tokens", async () => {
    const adapter = await open("authTokens");
    const token = { identifier: ann.email, token: "t1", expires: new Date("2030-01-01T00:00:00Z") };
    await adapter.createVerificationToken(token);
    assert.equal(await adapter.useVerificationToken({ identifier: "other", token: "t1" }), null);
    assert.deepEqual(await adapter.useVerificationToken(token), token);
    assert.equal(await adapter.useVerificationToken(token), null);
  });

  test("deleting a user with an account and a session", async () => {
    const adapter = await open("authDeletions");
    const { id } = await adapter.createUser(ann);
    await adapter.linkAccount(accountOf(id));
    await adapter.createSession({ sessionToken: "s1", userId: id, expires: new Date() });
    assert.equal((await adapter.deleteUser(id))?.id, id);
    assert.equal(await adapter.getUser(id), null);
    assert.equal(await adapter.getUserByEmail(ann.email), null);
    assert.equal(await adapter.getUserByAccount(accountOf(id)), null);
    assert.equal(await adapter.getSessionAndUser("s1"), null);
  });
});

describe("@nestjs/azure-database", () => {
  class Contact {
    partitionKey = "";
    rowKey = "";
    name = "";
  }
  const certificate = fileURLToPath(new URL("../web/support/localhost.pem", import.meta.url));

  test("a repository of entities", async () => {
    // The module cannot be told to use HTTP, or to trust a certificate.
    const secure = await start(["--in-memory", "--cert", certificate, "--key", certificate]);
    tls.setDefaultCACertificates([readFileSync(certificate, "utf8")]);
    process.env["AZURE_STORAGE_CONNECTION_STRING"] = connectionString(secure);
    const { repository, close } = await nestRepository<Contact>(Contact, "contacts");
    const ann: Contact = { partitionKey: "Sales", rowKey: "1", name: "Ann" };
    assert.notEqual(await repository.create(ann), null);
    assert.equal(await repository.createTableIfNotExists("contacts"), true); // though it exists
    assert.equal(await repository.create(ann), null); // it exists
    assert.equal((await repository.find("Sales", "1"))?.name, "Ann");
    assert.equal(await repository.find("Sales", "2"), null);
    assert.notEqual(await repository.update("Sales", "1", { name: "Anna" }), null);
    assert.equal(await repository.update("Sales", "2", { name: "x" }), null);
    assert.deepEqual(
      (await repository.findAll()).map(({ name }) => name),
      ["Anna"],
    );
    await repository.delete("Sales", "1");
    assert.deepEqual(await repository.findAll(), []);
    await close();
  });
});

describe("connect-azuretables", () => {
  test("sessions, and the removal of expired ones", async () => {
    process.env["AZURE_STORAGE_CONNECTION_STRING"] = connectionString(served);
    const lines: string[] = [];
    let arrived = () => {};
    const until = async (pattern: RegExp) => {
      while (!lines.some((line) => pattern.test(line)))
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
    };
    const store: SessionStore = sessionStore("sessions", (line) => {
      lines.push(line);
      arrived();
    });
    await until(/created table sessions/);
    const kept = { cookie: { originalMaxAge: 60_000 }, user: "Ann" };
    const expired = { cookie: { originalMaxAge: -60_000 }, user: "Bob" };
    await call(store, "set", "id-1", kept);
    await call(store, "set", "id-2", expired);
    assert.deepEqual(await call(store, "get", "id-1"), [kept]);
    await call(store, "touch", "id-1", { ...kept, visits: 2 });
    assert.deepEqual(await call(store, "get", "id-1"), [{ ...kept, visits: 2 }]);
    store.cleanUp();
    await until(/cleaned up session id2/);
    assert.deepEqual(await call(store, "get", "id-2"), [undefined]);
    await call(store, "destroy", "id-1");
    assert.deepEqual(await call(store, "get", "id-1"), [undefined]);
    assert.deepEqual(
      lines.filter((line) => line.startsWith("error")),
      [],
    );
  });
});

describe("azure-table-node", () => {
  const clientWith = (settings: object): TableNodeClient =>
    tableNode().createClient({
      accountUrl: `${served.endpoint()}/`,
      accountName: "devstoreaccount1",
      retry: false,
      ...settings,
    });
  const withCode = (code: string) => (error: unknown) => {
    assert.equal((error as { code?: string }).code, code);
    return true;
  };
  let client: TableNodeClient;
  before(() => {
    client = clientWith({ accountKey: emulatorKey });
  });

  test("tables", async () => {
    await call(client, "createTable", "nodeTables");
    await call(client, "createTable", "nodeTables", { ignoreIfExists: true });
    await assert.rejects(call(client, "createTable", "nodeTables"), withCode("TableAlreadyExists"));
    const [names] = await call<[string[]]>(client, "listTables");
    assert(names.includes("nodeTables"));
    // It sends the name of a table as the continuation, without a token.
    const [rest] = await call<[string[]]>(client, "listTables", { nextTableName: "nodeTablesX" });
    assert(!rest.includes("nodeTables"));
    await call(client, "deleteTable", "nodeTables");
    await assert.rejects(call(client, "deleteTable", "nodeTables"), withCode("ResourceNotFound"));
  });

  test("entities of every type", async () => {
    await call(client, "createTable", "nodeEntities");
    const row: Row = {
      PartitionKey: "o'x",
      RowKey: "ü 1",
      text: "two words",
      whole: 7,
      long: 2 ** 40,
      half: 0.5,
      yes: true,
      when: new Date("2026-01-02T03:04:05.678Z"),
      bytes: Buffer.from([1, 2, 255]),
      id: "c9da6455-213d-42c9-9a79-3e9149a57833",
    };
    const [etag] = await call<[string]>(client, "insertEntity", "nodeEntities", row);
    const [found] = await call<[Row]>(client, "getEntity", "nodeEntities", "o'x", "ü 1");
    const { Timestamp, __etag, ...properties } = found;
    assert(Timestamp instanceof Date);
    assert.equal(__etag, etag);
    assert.deepEqual(properties, row);
    const stale = { ...row, __etag: etag };
    await call(client, "updateEntity", "nodeEntities", { ...stale, whole: 8 });
    await assert.rejects(
      call(client, "mergeEntity", "nodeEntities", stale),
      withCode("UpdateConditionNotSatisfied"),
    );
    await call(client, "mergeEntity", "nodeEntities", { ...row, whole: 9 }, { force: true });
    await call(client, "insertOrMergeEntity", "nodeEntities", { ...row, more: 1 });
    const [two] = await call<[Row]>(client, "getEntity", "nodeEntities", "o'x", "ü 1", {
      onlyFields: ["whole", "more"],
    });
    assert.deepEqual([two["whole"], two["more"]], [7, 1]);
    await call(client, "insertOrReplaceEntity", "nodeEntities", { PartitionKey: "p", RowKey: "r" });
    await call(client, "deleteEntity", "nodeEntities", row, { force: true });
    await assert.rejects(
      call(client, "getEntity", "nodeEntities", "o'x", "ü 1"),
      withCode("ResourceNotFound"),
    );
  });

  test("queries and continuation", async () => {
    await call(client, "createTable", "nodeQueries");
    for (let i = 0; i < 5; ++i)
      await call(client, "insertEntity", "nodeQueries", {
        PartitionKey: "p",
        RowKey: `${i}`,
        n: i,
      });
    const query = tableNode().Query.create("PartitionKey", "==", "p").and("n", ">=", 1);
    const rows: Row[] = [];
    let continuation: unknown;
    do {
      const options = { query, limitTo: 3, onlyFields: ["RowKey", "n"], continuation };
      const [page, next] = await call<[Row[], unknown]>(
        client,
        "queryEntities",
        "nodeQueries",
        options,
      );
      rows.push(...page);
      continuation = next;
    } while (continuation !== undefined);
    assert.deepEqual(
      rows.map(({ n }) => n),
      [1, 2, 3, 4],
    );
  });

  test("batches", async () => {
    await call(client, "createTable", "nodeBatches");
    const rowOf = (key: string): Row => ({ PartitionKey: "p", RowKey: key, n: 1 });
    const insert = client.startBatch();
    insert.insertEntity("nodeBatches", rowOf("1")).insertEntity("nodeBatches", rowOf("2"));
    const [results] = await call<[string[]]>(insert, "commit");
    assert.equal(results.length, 2);
    assert.match(results[0] ?? "", /^W\//);
    const change = client.startBatch();
    change
      .updateEntity("nodeBatches", { ...rowOf("1"), n: 2 }, { force: true })
      .deleteEntity("nodeBatches", rowOf("2"), { force: true });
    await call(change, "commit");
    const failing = client.startBatch();
    failing.insertEntity("nodeBatches", rowOf("3")).insertEntity("nodeBatches", rowOf("1"));
    await assert.rejects(call(failing, "commit"), withCode("EntityAlreadyExists"));
    const [rows] = await call<[Row[]]>(client, "queryEntities", "nodeBatches");
    assert.deepEqual(
      rows.map(({ RowKey, n }) => [RowKey, n]),
      [["1", 2]],
    );
    const [[read]] = await call<[[Row]]>(
      client.startBatch().getEntity("nodeBatches", "p", "1"),
      "commit",
    );
    assert.equal(read["n"], 2);
  });

  test("shared access signatures", async () => {
    await call(client, "createTable", "nodeSignatures");
    const expiry = new Date(Date.now() + 60_000);
    const signed = (table: string, permissions: string, options?: object) =>
      clientWith({ sas: client.generateSAS(table, permissions, expiry, options) });
    const row: Row = { PartitionKey: "p", RowKey: "r" };
    const range = { startPK: "p", startRK: "a", endPK: "p", endRK: "s" };
    const writer = signed("nodeSignatures", "ra", range);
    await call(writer, "insertEntity", "nodeSignatures", row);
    await call(writer, "getEntity", "nodeSignatures", "p", "r");
    await assert.rejects(
      call(writer, "insertEntity", "nodeSignatures", { ...row, RowKey: "t" }),
      withCode("AuthorizationFailure"),
    );
    await assert.rejects(
      call(writer, "deleteEntity", "nodeSignatures", row, { force: true }),
      withCode("AuthorizationPermissionMismatch"),
    );
    await assert.rejects(
      call(signed("others", "ra"), "getEntity", "nodeSignatures", "p", "r"),
      withCode("AuthorizationFailure"),
    );
  });
});
