// Tests `entitable serve` and `entitable/server` with real stores, over HTTP and HTTPS, with fetch
// and with the official client, until the process is stopped or killed.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import * as http from "node:http";
import * as https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  AzureNamedKeyCredential,
  generateTableSas,
  TableClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { openStore, packageFolder } from "./support/package.ts";
import {
  describeSurface,
  environmentWithKey,
  resolveEveryHostToLoopback,
} from "./support/sdk-environments.ts";
import { runCheck } from "./support/sdk-surface/index.ts";
import {
  connectionString,
  type ExitResult,
  emulatorKey,
  killAllServers,
  run,
  type ServerProcess,
  start,
} from "./support/server-process.ts";
import { until } from "./support/until.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);
const pemFile = fileURLToPath(new URL("support/localhost.pem", import.meta.url));
const pem = readFileSync(pemFile, "utf8");
const once: TableServiceClientOptions = {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
};

let root: string;
let folders = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "entitable-"));
});
after(async () => {
  await killAllServers();
  await rm(root, { recursive: true });
});
const newFolder = () => join(root, String(++folders));

const stopped: ExitResult = { code: 0, out: "", err: "" };
async function stop(
  served: ServerProcess,
  signal: "SIGTERM" | "SIGINT" = "SIGTERM",
): Promise<void> {
  const { code, err } = await served.signal(signal);
  assert.deepEqual({ code, err }, { code: stopped.code, err: stopped.err });
}

function table(served: ServerProcess, name: string, account = 0, key?: string): TableClient {
  return TableClient.fromConnectionString(connectionString(served, account, key), name, once);
}

async function rowsOf(client: TableClient): Promise<string[]> {
  const rows: string[] = [];
  for await (const { rowKey } of client.listEntities()) rows.push(String(rowKey));
  return rows;
}

// Sends only the head of a request with a body. Returns the status of the first response.
function statusBeforeBody(
  url: string,
  method: string,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, "Content-Length": 4 * 1024 * 1024, Expect: "100-continue" };
    const request = http.request(url, { method, headers: all });
    const done = (status: number) => {
      resolve(status);
      request.destroy();
    };
    request.on("continue", () => done(100));
    request.on("response", ({ statusCode = 0 }) => done(statusCode));
    request.on("error", reject);
    request.flushHeaders();
  });
}

// The headers of a request to the table "people" of "acct", signed with the emulator's key.
function signedHeaders(scheme: "SharedKey" | "SharedKeyLite", method: string) {
  const date = new Date().toUTCString();
  const resource = "/acct/acct/people";
  const text = scheme === "SharedKey" ? [method, "", "", date, resource] : [date, resource];
  const signature = createHmac("sha256", Buffer.from(emulatorKey, "base64"))
    .update(text.join("\n"))
    .digest("base64");
  return { "x-ms-date": date, Authorization: `${scheme} acct:${signature}` };
}

const withStatus = (statusCode: number) => (error: unknown) => {
  assert.equal((error as { statusCode?: number }).statusCode, statusCode);
  return true;
};

for (const kind of ["http", "https"] as const) {
  describeSurface(`the official client over ${kind.toUpperCase()}`, kind, async () => {
    const secret = kind === "https" ? ["--cert", pemFile, "--key", pemFile] : [];
    const served = await start(["--in-memory", "--auth", "strict", ...secret]);
    const options = { ...once, ...(kind === "https" ? { tlsOptions: { ca: pem } } : {}) };
    const key = new AzureNamedKeyCredential("devstoreaccount1", emulatorKey);
    const host = `${key.name}.table.${kind === "https" ? "core.windows.net" : "localhost"}`;
    const hostStyle = {
      endpoint: `${kind}://${host}:${served.port}`,
      options: { ...once, ...resolveEveryHostToLoopback(kind === "https" ? pem : undefined) },
    };
    const place = environmentWithKey(
      kind,
      { endpoint: served.endpoint(), options },
      key,
      hostStyle,
    );
    return { run: (check) => runCheck(check, place), close: () => stop(served) };
  });
}

describe("authorization", () => {
  test("accepts only an account's own key, unless it is off", async () => {
    const wrong = Buffer.from("wrong").toString("base64");
    for (const [auth, isRejected] of [
      ["development", true],
      ["strict", true],
      ["off", false],
    ] as const) {
      const served = await start(["--in-memory", "--auth", auth]);
      const creating = table(served, "people", 0, wrong).createTable();
      if (isRejected) await assert.rejects(creating, withStatus(403));
      else await creating;
      await table(served, "others").createTable();
      await stop(served);
    }
  });
});

describe("accounts", () => {
  test("each have their own data and keys, which survive a restart", async () => {
    const [first, second] = ["first", "second"].map((key) => Buffer.from(key).toString("base64"));
    const env = { AZURITE_ACCOUNTS: `one:${first};two:${first}:${second}` };
    const location = newFolder();
    const options = { env, accounts: 2 };
    let served = await start(["--location", location], options);
    assert.deepEqual(served.lines, [
      `http://127.0.0.1:${served.port}/one (in ${location})`,
      `http://127.0.0.1:${served.port}/two (in ${location})`,
      ...["one", "two"].map(
        (name) =>
          `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=<its key in AZURITE_ACCOUNTS>;` +
          `TableEndpoint=http://127.0.0.1:${served.port}/${name};`,
      ),
    ]);
    await table(served, "people", 0, first).createTable();
    await table(served, "people", 1, second).createTable();
    await table(served, "people", 1, first).createEntity({ partitionKey: "p", rowKey: "two" });
    await assert.rejects(table(served, "other", 0, second).createTable(), withStatus(403));
    await stop(served, "SIGINT");
    assert.deepEqual((await readdir(location)).sort(), ["one", "two"]);

    served = await start(["--location", location], options);
    assert.deepEqual(await rowsOf(table(served, "people", 0, first)), []);
    assert.deepEqual(await rowsOf(table(served, "people", 1, second)), ["two"]);
    const stranger = await fetch(`http://127.0.0.1:${served.port}/three/Tables`);
    assert(stranger.status >= 400, String(stranger.status));
    await stop(served);
  });

  test("are recognised by host name, as in production", async () => {
    const served = await start([
      "--in-memory",
      "--auth",
      "off",
      "--cert",
      pemFile,
      "--key",
      pemFile,
    ]);
    const Host = "devstoreaccount1.table.core.windows.net";
    const get = (path: string) =>
      new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        const options = {
          port: served.port,
          path,
          ca: pem,
          servername: Host,
          headers: { Host, Accept: "application/json;odata=fullmetadata" },
        };
        const request = https.get(options, async (response) => {
          let body = "";
          for await (const chunk of response) body += chunk;
          resolve({ status: response.statusCode, body });
        });
        request.on("error", reject);
      });
    const { status, body } = await get("/Tables");
    assert.equal(status, 200);
    assert.equal(JSON.parse(body)["odata.metadata"], `https://${Host}/$metadata#Tables`);
    await stop(served);
  });
});

describe("serve()", () => {
  test("serves an open store over HTTP, and leaves it open", async () => {
    const account = { name: "acct" };
    await using store = await openStore({ persistence: "memory", account });
    await store.table("people").createTable();
    await store.table("people").createEntity({ partitionKey: "p", rowKey: "r", age: 39 });
    const server = await serve(store, { port: 0 });
    const client = new TableClient(`${server.url}/acct`, "people", once);
    assert.equal((await client.getEntity("p", "r"))["age"], 39);
    const raw = await fetch(`${server.url}/acct/people()?$select=age`, {
      headers: { Accept: "application/json;odata=nometadata" },
    });
    assert.deepEqual(await raw.json(), { value: [{ age: 39 }] });
    await server.close();
    await store.table("people").getEntity("p", "r");
    const after = await serve({ acct: store }, { port: server.port });
    await store.close();
    assert.equal((await fetch(`${after.url}/acct/Tables`)).status, 503);
    await after.close();
  });

  test("authorizes a request before its body arrives, with each kind of credentials", async () => {
    const account = { name: "acct", keys: [emulatorKey], authorize: true };
    await using store = await openStore({ persistence: "memory", account });
    await store.table("people").createTable();
    await using server = await serve(store, { port: 0 });
    const key = new AzureNamedKeyCredential("acct", emulatorKey);
    const query = generateTableSas("people", key, { permissions: { add: true } });
    const begun = (method: string, path: string, headers: Record<string, string> = {}) =>
      statusBeforeBody(`${server.url}/acct/${path}`, method, headers);
    assert.equal(await begun("POST", "people"), 403);
    assert.equal(await begun("POST", "people", { Authorization: "SharedKey acct:wrong" }), 403);
    assert.equal(await begun("POST", `people?${query.replace("sig=", "sig=x")}`), 403);
    assert.equal(await begun("PUT", `people(PartitionKey='p',RowKey='r')?${query}`), 403);
    assert.equal(await begun("POST", `people?${query}`), 100);
    for (const scheme of ["SharedKey", "SharedKeyLite"] as const) {
      assert.equal(await begun("POST", "people", signedHeaders(scheme, "POST")), 100);
    }
  });

  test("rejects a body of more than 4 MiB as the service does", async () => {
    await using store = await openStore({ persistence: "memory", account: { name: "acct" } });
    await using server = await serve(store, { port: 0 });
    const response = await fetch(`${server.url}/acct/Tables`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: new Uint8Array(4 * 1024 * 1024 + 1).fill(0x20),
    });
    assert.equal(response.status, 413);
    assert.match(await response.text(), /RequestBodyTooLarge/);
  });
});

describe("the command", () => {
  test("stores everything that it acknowledged when it is asked to stop", async () => {
    for (const durability of ["strict", "relaxed", "deferred"]) {
      const where = ["--location", newFolder(), "--durability", durability];
      let served = await start(where);
      await table(served, "people").createTable();
      const writes = Array.from({ length: 20 }, (_, i) =>
        table(served, "people").createEntity({ partitionKey: "p", rowKey: String(i) }),
      );
      await Promise.all(writes);
      await stop(served);
      served = await start(where);
      assert.equal((await rowsOf(table(served, "people"))).length, 20);
      await stop(served);
    }
  });

  for (const durability of ["strict", "relaxed"]) {
    test(`loses nothing that it acknowledged when it is killed (${durability})`, async () => {
      const where = ["--location", newFolder(), "--durability", durability];
      const served = await start(where);
      const client = table(served, "people");
      await client.createTable();
      const acknowledged: string[] = [];
      const writing = async (writer: number) => {
        for (let i = 0; ; ++i) {
          const rowKey = `${writer}-${String(i).padStart(6, "0")}`;
          await client.createEntity({ partitionKey: "p", rowKey });
          acknowledged.push(rowKey);
        }
      };
      const writers = [1, 2, 3, 4].map((writer) => writing(writer).catch(() => {}));
      await until(() => acknowledged.length > 200);
      await served.signal("SIGKILL");
      await Promise.all(writers);
      const again = await start(where);
      const rows = new Set(await rowsOf(table(again, "people")));
      assert.deepEqual(
        acknowledged.filter((rowKey) => !rows.has(rowKey)),
        [],
      );
      assert(rows.size <= acknowledged.length + writers.length);
      await stop(again);
    });
  }

  test("allows one process per folder, and says which process has it", async () => {
    const location = newFolder();
    const served = await start(["--location", location]);
    const { code, out, err } = await run(["serve", "--port", "0", "--location", location]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^entitable: The folder .* is open in process \d+\. /);
    await stop(served);
  });

  test("reports that a port is in use", async () => {
    const served = await start(["--in-memory"]);
    const { code, err } = await run(["serve", "--port", String(served.port), "--in-memory"]);
    assert.equal(code, 1);
    const said = `entitable: port ${served.port} of 127.0.0.1 is in use; say another one with --port.\n`;
    assert.equal(err, said);
    await stop(served);
  });

  test("keeps its data in .entitable, or only in memory", async () => {
    const cwd = await mkdtemp(join(root, "cwd-"));
    await stop(await start(["--in-memory"], { cwd }));
    assert.deepEqual(await readdir(cwd), []);
    await stop(await start([], { cwd }));
    assert.deepEqual(await readdir(join(cwd, ".entitable")), ["devstoreaccount1"]);
  });

  test("logs requests only on request, and never secrets", async () => {
    const request = (served: ServerProcess) => fetch(`${served.endpoint()}/Tables?sv=x&sig=secret`);
    const silent = await start(["--in-memory"]);
    await request(silent);
    await stop(silent);
    assert.equal(silent.lines.length, 2);
    const loud = await start(["--in-memory", "--debug"]);
    await request(loud);
    await stop(loud);
    assert.match(
      loud.lines[2] ?? "",
      /^\S+Z 127\.0\.0\.1 GET http\S+&sig=… \d{3} 0 \d+ [\d.]+ ms$/,
    );
    const file = join(root, "log");
    const filing = await start(["--in-memory", "--debug", file]);
    await request(filing);
    await request(filing);
    await stop(filing);
    const log = await readFile(file, "utf8");
    assert.equal(log.split("\n").length, 3);
    assert(!log.includes("secret"));
  });

  test("prints its help and its version", async () => {
    const help = await run(["--help"]);
    assert.deepEqual([help.code, help.err], [0, ""]);
    assert.match(help.out, /^entitable serve \[options\]\n.*--location/s);
    const { version } = JSON.parse(await readFile(new URL("package.json", packageFolder), "utf8"));
    assert.deepEqual(await run(["--version"]), { code: 0, out: `${version}\n`, err: "" });
  });

  test("reports wrong arguments", async () => {
    const wrong = await run(["serve", "--prot", "1"]);
    assert.deepEqual([wrong.code, wrong.out], [2, ""]);
    assert.equal(wrong.err, "entitable: There is no option --prot. (entitable --help)\n");
    const accounts = await run(["serve"], { env: { AZURITE_ACCOUNTS: "one:secret!" } });
    assert.equal(accounts.code, 2);
    assert(!accounts.err.includes("secret"));
    const missing = await run(["serve", "--in-memory", "--cert", "no-file", "--key", "no-file"]);
    assert.equal(missing.code, 1);
    assert.match(missing.err, /no-file/);
  });
});
