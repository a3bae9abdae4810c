// Tests shared access signatures with a real server, which compares their protocol and address with
// those of the connection.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { describe, type TestContext, test } from "node:test";
import {
  AzureNamedKeyCredential,
  generateTableSas,
  type TableSasSignatureValues,
} from "@azure/data-tables";
import type { TableServer } from "../../web/src/server/serve.ts";
import { openStore, packageFolder } from "./support/package.ts";
import { emulatorKey } from "./support/server-process.ts";

const { serve }: typeof import("../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);
// A certificate and a key for tests.
const pem = readFileSync(new URL("support/localhost.pem", import.meta.url), "utf8");

describe("a shared access signature", () => {
  const credential = new AzureNamedKeyCredential("acct", emulatorKey);
  const expiresOn = new Date(Date.now() + 3_600_000);
  const permissions = { query: true };

  interface Answer {
    status: number | undefined;
    code: string | undefined;
    text: string;
  }
  // Queries the table with a signature. Resolves to the server's response.
  function queryWith(server: TableServer, options: TableSasSignatureValues): Promise<Answer> {
    const sas = generateTableSas("people", credential, { permissions, expiresOn, ...options });
    const { get } = server.url.startsWith("https:") ? https : http;
    return new Promise((resolve, reject) => {
      const request = get(`${server.url}/acct/people?${sas}`, { ca: pem }, async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        const code = response.headers["x-ms-error-code"] as string | undefined;
        resolve({ status: response.statusCode, code, text });
      });
      request.on("error", reject);
    });
  }

  async function servers(t: TestContext): Promise<{ plain: TableServer; secure: TableServer }> {
    const account = { name: "acct", keys: [emulatorKey], authorize: true };
    const store = await openStore({ persistence: "memory", account });
    await store.table("people").createTable();
    const plain = await serve(store, { port: 0 });
    const secure = await serve(store, { port: 0, cert: pem, key: pem });
    t.after(async () => {
      await plain.close();
      await secure.close();
      await store.close();
    });
    return { plain, secure };
  }

  test("for HTTPS only is valid over HTTPS only", async (t) => {
    const { plain, secure } = await servers(t);
    const rejected = await queryWith(plain, { protocol: "https" });
    assert.deepEqual([rejected.status, rejected.code], [403, "AuthorizationProtocolMismatch"]);
    assert.equal((await queryWith(secure, { protocol: "https" })).status, 200);
    assert.equal((await queryWith(plain, { protocol: "https,http" })).status, 200);
    assert.equal((await queryWith(plain, {})).status, 200);
  });

  test("for HTTPS is not made valid over HTTP by the scheme in the request line", async (t) => {
    const { plain } = await servers(t);
    const sas = generateTableSas("people", credential, {
      permissions,
      expiresOn,
      protocol: "https",
    });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const path = `https://127.0.0.1:${plain.port}/acct/people?${sas}`;
      const request = http.get({ port: plain.port, path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
    });
    assert.equal(status, 403);
  });

  test("for some addresses is valid for those only", async (t) => {
    const { plain, secure } = await servers(t);
    for (const ipRange of [
      { start: "10.0.0.1" },
      { start: "127.0.0.2", end: "127.0.0.9" },
      { start: "126.0.0.0", end: "127.0.0.0" },
    ]) {
      for (const server of [plain, secure]) {
        const rejected = await queryWith(server, { ipRange });
        assert.deepEqual([rejected.status, rejected.code], [403, "AuthorizationSourceIPMismatch"]);
        assert.match(rejected.text, /using this source IP 127\.0\.0\.1\.\n/);
      }
    }
    for (const ipRange of [
      { start: "127.0.0.1" },
      { start: "127.0.0.0", end: "127.255.255.255" },
      { start: "127.0.0.1", end: "127.0.0.1" },
    ]) {
      assert.equal((await queryWith(plain, { ipRange })).status, 200);
    }
  });
});
