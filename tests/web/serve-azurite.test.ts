// Tests the server in Azurite's place: its command line, messages, certificates and bearer tokens,
// with the official client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  AzureNamedKeyCredential,
  TableClient,
  TableServiceClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { bearerToken, storageClaims } from "./support/bearer-token.ts";
import { resolveEveryHostToLoopback } from "./support/sdk-environments.ts";
import {
  azuriteCommand,
  emulatorKey,
  killAllServers,
  run,
  ServerProcess,
  start,
} from "./support/server-process.ts";

const fileOf = (name: string) => fileURLToPath(new URL(`support/${name}`, import.meta.url));
const pemFile = fileOf("localhost.pem");
const pem = readFileSync(pemFile, "utf8");
const once: TableServiceClientOptions = {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
};
const secure: TableServiceClientOptions = { ...once, tlsOptions: { ca: pem } };

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(async () => {
  await killAllServers();
  await rm(root, { recursive: true });
});

const startAzurite = (args: readonly string[], cwd = root): Promise<ServerProcess> =>
  new ServerProcess(args, { command: azuriteCommand, cwd }).printed(/successfully started/);

const connectionOf = (served: ServerProcess) =>
  served.lines.find((line) => line.startsWith("DefaultEndpointsProtocol=")) ?? "";

// Writes a row to a new table and reads it back, as a client that knows the connection string.
async function checkTable(connection: string, name: string, options = once): Promise<void> {
  const client = TableClient.fromConnectionString(connection, name, options);
  await client.createTable();
  await client.createEntity({ partitionKey: "p", rowKey: "r", age: 3 });
  assert.equal((await client.getEntity("p", "r"))["age"], 3);
}

const withStatus = (statusCode: number, code: string) => (error: unknown) => {
  const { message } = error as Error;
  assert.equal((error as { statusCode?: number }).statusCode, statusCode, message);
  assert(message.includes(code), message);
  return true;
};

describe("Azurite's command line", () => {
  test("with the arguments of its Docker image keeps tables and reports the start", async () => {
    const folder = join(root, "workspace");
    const log = join(root, "debug.log");
    const args =
      `-l ${folder} -d ${log} --blobPort 7777 --blobHost 0.0.0.0 --blobKeepAliveTimeout 5 ` +
      "--queuePort 8888 --queueHost 0.0.0.0 --queueKeepAliveTimeout 5 --tablePort 0 " +
      "--tableHost 0.0.0.0 --tableKeepAliveTimeout 5 --loose --skipApiVersionCheck " +
      "--disableProductStyleUrl --disableTelemetry";
    const served = await startAzurite(args.split(" "));
    assert.deepEqual(served.lines, [
      "Azurite Table service is starting on 0.0.0.0:0",
      `http://0.0.0.0:${served.port}/devstoreaccount1 (in ${folder})`,
      `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=${emulatorKey};` +
        `TableEndpoint=http://127.0.0.1:${served.port}/devstoreaccount1;`,
      `Azurite Table service is successfully listening at http://0.0.0.0:${served.port}`,
      `Azurite Table service successfully started on 0.0.0.0:${served.port}`,
    ]);
    await checkTable(connectionOf(served), "people");
    const { code, err } = await served.signal("SIGTERM");
    assert.deepEqual([code, err.split("\n").length], [0, 2]);
    assert.match(
      err,
      /^entitable: only the Table service is served, .*: --blobHost, .*--queueKeep/,
    );
    assert.match(readFileSync(log, "utf8"), / POST http:\S+\/devstoreaccount1\/Tables 201 /);

    const again = await startAzurite(["-l", folder, "--tablePort", "0", "-s"]);
    const people = TableClient.fromConnectionString(connectionOf(again), "people", once);
    assert.equal((await people.getEntity("p", "r"))["age"], 3);
    assert.deepEqual((await again.signal("SIGINT")).err, "");
  });

  test("in memory writes no files", async () => {
    const cwd = await mkdtemp(join(root, "cwd-"));
    const args = "--silent --inMemoryPersistence --extentMemoryLimit 50 --tablePort 0".split(" ");
    const served = await startAzurite(args, cwd);
    await checkTable(connectionOf(served), "people");
    await served.signal("SIGTERM");
    assert.deepEqual(await readdir(cwd), []);
  });

  test("is accepted by `entitable serve`, which reports the start only with --azurite", async () => {
    const plain = await start(["--inMemoryPersistence", "-s", "-L"]);
    assert.deepEqual((await plain.signal("SIGTERM")).out.match(/Azurite/), null);
    const served = await start(["--inMemoryPersistence", "--azurite"]);
    await served.printed(/^Azurite Table service successfully started on 127\.0\.0\.1:\d+$/);
    await served.signal("SIGTERM");
  });

  test("names what is wrong", async () => {
    const wrong = await run(["--tablePort", "x"], { command: azuriteCommand });
    assert.deepEqual([wrong.code, wrong.out], [2, ""]);
    assert.match(wrong.err, /must be a number from 0 to 65535, not x/);
  });

  test("--skipApiVersionCheck accepts every version in the strict mode too", async () => {
    const versions = async (args: string[]) => {
      const served = await start(["--in-memory", "--auth", "strict", ...args]);
      const key = new AzureNamedKeyCredential("devstoreaccount1", emulatorKey);
      const options = { ...once, version: "2099-01-01" };
      const client = new TableServiceClient(served.endpoint(), key, options);
      const created = client.createTable("people").then(
        () => "ok",
        ({ statusCode }) => statusCode,
      );
      const outcome = await created;
      await served.signal("SIGTERM");
      return outcome;
    };
    assert.equal(await versions([]), 400);
    assert.equal(await versions(["--skipApiVersionCheck"]), "ok");
  });
});

test("a host name with the account's name may have the account in the path too", async () => {
  const served = await start(["--in-memory"]);
  const options = { ...once, ...resolveEveryHostToLoopback() };
  for (const [i, host] of ["devstoreaccount1.lan", "machine.lan", "tables.table.svc"].entries()) {
    const endpoint = `http://${host}:${served.port}/devstoreaccount1`;
    const connection = `DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=${emulatorKey};TableEndpoint=${endpoint}`;
    await checkTable(connection, `people${i}`, options);
  }
  await served.signal("SIGTERM");
});

describe("a .pfx certificate", () => {
  const pfx = fileOf("localhost.pfx");

  test("serves HTTPS", async () => {
    const served = await start(["--in-memory", "--cert", pfx, "--pwd", "entitable"]);
    assert.match(served.endpoint(), /^https:/);
    const key = new AzureNamedKeyCredential("devstoreaccount1", emulatorKey);
    const client = new TableServiceClient(served.endpoint(), key, secure);
    await client.createTable("people");
    assert.match(connectionOf(served), /^DefaultEndpointsProtocol=https;/);
    await served.signal("SIGTERM");
  });

  test("with a wrong password is reported", async () => {
    const { code, err } = await run(["serve", "--in-memory", "--cert", pfx, "--pwd", "other"]);
    assert.equal(code, 1);
    assert.match(err, /^entitable: The certificate can't be used \(wrong file or password\?\)/);
  });
});

describe("--oauth basic", () => {
  const client = (served: ServerProcess, token: string) =>
    new TableServiceClient(
      served.endpoint(),
      { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3600_000 }) },
      secure,
    );
  const https = ["--in-memory", "--cert", pemFile, "--key", pemFile];

  test("accepts bearer tokens over HTTPS, except for access policies", async () => {
    const served = await start([...https, "--oauth", "basic", "--auth", "strict"]);
    const token = bearerToken(storageClaims());
    await client(served, token).createTable("people");
    const credential = { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 1e6 }) };
    const people = new TableClient(served.endpoint(), "people", credential, secure);
    await people.createEntity({ partitionKey: "p", rowKey: "r" });
    await assert.rejects(people.getAccessPolicy(), withStatus(403, "AuthorizationFailure"));
    const key = new AzureNamedKeyCredential("devstoreaccount1", emulatorKey);
    await new TableServiceClient(served.endpoint(), key, secure).createTable("others");
    await served.signal("SIGTERM");
  });

  test("rejects tokens for another audience, from another issuer or out of date", async () => {
    const served = await start([...https, "--oauth", "basic"]);
    const now = Math.floor(Date.now() / 1000);
    for (const claims of [
      { aud: "https://other.table.core.windows.net" },
      { iss: "https://sts.example/" },
      { exp: now - 60 },
      { nbf: now + 60 },
    ]) {
      const creating = client(served, bearerToken({ ...storageClaims(), ...claims })).createTable(
        "t01",
      );
      await assert.rejects(creating, withStatus(403, "AuthenticationFailed"));
    }
    await served.signal("SIGTERM");
  });

  test("is off by default", async () => {
    const served = await start(https);
    const creating = client(served, bearerToken(storageClaims())).createTable("people");
    await assert.rejects(creating, withStatus(403, "AuthenticationFailed"));
    await served.signal("SIGTERM");
  });

  test("has no effect over HTTP, and says so", async () => {
    const served = await start(["--in-memory", "--oauth", "basic"]);
    const response = await fetch(`${served.endpoint()}/Tables`, {
      headers: { Authorization: `Bearer ${bearerToken(storageClaims())}` },
    });
    assert.equal(response.status, 403);
    assert.match((await served.signal("SIGTERM")).err, /bearer tokens need HTTPS/);
  });
});
