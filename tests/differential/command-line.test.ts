// Starts this package's server with the command lines of Azurite's own documentation, and drives it
// with the official client. Compares bearer tokens with a running Azurite.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";
import { bearerToken, type Claims, storageClaims } from "../web/support/bearer-token.ts";
import { azuriteCommand, killAllServers, ServerProcess } from "../web/support/server-process.ts";
import { spawnAzurite } from "./backends.ts";
import { account, key } from "./sign.ts";

const fileOf = (name: string) => fileURLToPath(new URL(`../web/support/${name}`, import.meta.url));
const pemFile = fileOf("localhost.pem");
const pem = await readFile(pemFile, "utf8");

// The documentation's certificates, and those to use in their place.
const certificates: Readonly<Record<string, string>> = {
  "--cert": pemFile,
  "--key": pemFile,
  "--cert pfx": fileOf("localhost.pfx"),
  "--pwd": "entitable",
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

// Returns the arguments of every command in the documentation and in the Docker image that starts
// all of Azurite, or its Table service.
async function documentedCommands(): Promise<string[][]> {
  const folder = dirname(createRequire(import.meta.url).resolve("azurite/package.json"));
  const texts = await Promise.all(
    ["README.md", "Dockerfile.Windows"].map((name) => readFile(join(folder, name), "utf8")),
  );
  return [...texts.join("\n").matchAll(/\bazurite(?:-table)? (-[^`\n]*)/gi)].map(
    ([, options = ""]) => options.trim().split(/\s+/),
  );
}

// Replaces folders, certificates and the port by those of this test.
function adapted(words: readonly string[], folder: string): string[] {
  const isPfx = words.includes("--pwd");
  const replaced = words.map((word, i) => {
    const option = words[i - 1] ?? "";
    if (option === "--cert" && isPfx) return certificates["--cert pfx"] ?? "";
    return certificates[option] ?? word.replace(/^(?:c:)?[\\/]\w+\b/, folder).replace("\\", "/");
  });
  return [...replaced, "--tablePort", "0"];
}

describe("the commands of Azurite's documentation", async () => {
  const commands = await documentedCommands();

  test("are found", () => {
    assert(commands.length >= 6, `${commands.length} commands`);
    const text = commands.map((words) => words.join(" ")).join("\n");
    for (const option of ["-l", "-d", "--silent", "--tableHost", "--cert", "--pwd", "--oauth"])
      assert(text.includes(`${option} `), option);
  });

  for (const words of commands) {
    test(words.join(" "), async () => {
      const cwd = join(root, String(++folders));
      await mkdir(cwd);
      const served = new ServerProcess(adapted(words, join(cwd, "data")), {
        command: azuriteCommand,
        cwd,
      });
      await served.printed(/^Azurite Table service successfully started on /);
      const endpoint = served.endpoint().replace("//0.0.0.0:", "//127.0.0.1:");
      const client = new TableClient(
        endpoint,
        "people",
        new AzureNamedKeyCredential(account, key),
        {
          allowInsecureConnection: true,
          tlsOptions: { ca: pem },
        },
      );
      await client.createTable();
      await client.createEntity({ partitionKey: "p", rowKey: "r" });
      assert.equal((await client.getEntity("p", "r")).rowKey, "r");
      assert.equal((await served.signal("SIGTERM")).code, 0);
    });
  }
});

async function statusWith(url: string, token: string): Promise<number> {
  const asked = request(url, {
    ca: pem,
    headers: { Authorization: token, Accept: "application/json", "x-ms-version": "2019-02-02" },
  }).end();
  const [response] = await once(asked, "response");
  response.resume();
  return response.statusCode;
}

test("bearer tokens are checked as Azurite does", async (t) => {
  const secure = ["--cert", pemFile, "--key", pemFile, "--oauth", "basic"];
  const azurite = await spawnAzurite(secure);
  t.after(() => azurite.child.kill("SIGKILL"));
  const ours = await new ServerProcess([...secure, "--inMemoryPersistence", "--tablePort", "0"], {
    command: azuriteCommand,
  }).listening();
  const now = Math.floor(Date.now() / 1000);
  const own = (suffix: string) => `https://${account}.table.core.${suffix}`;
  const changes: [status: number, changes: Claims][] = [
    [200, {}],
    [200, { aud: "https://storage.azure.com/" }],
    [200, { aud: "e406a681-f3d4-42a8-90b6-c2b029497af1" }],
    [200, { aud: own("windows.net") }],
    [200, { aud: own("windows.net/") }],
    [200, { aud: own("chinacloudapi.cn") }],
    [200, { iss: "https://sts.chinacloudapi.cn/tenant/" }],
    [200, { iss: "https://sts.windows-ppe.net/tenant/" }],
    [403, { aud: "https://other.table.core.windows.net" }],
    [403, { aud: `https://${account}.blob.core.windows.net` }],
    [403, { aud: "https://management.azure.com" }],
    [403, { aud: undefined }],
    [403, { iss: "https://login.microsoftonline.com/tenant/v2.0" }],
    [403, { iss: undefined }],
    [403, { nbf: now + 300 }],
    [403, { nbf: undefined }],
    [403, { exp: now - 300 }],
    [403, { exp: undefined }],
    [403, { iat: undefined }],
  ];
  const tokens = changes.map(([status, changed]): [string, number, string] => [
    JSON.stringify(changed),
    status,
    `Bearer ${bearerToken({ ...storageClaims(), ...changed })}`,
  ]);
  tokens.push(["no token", 403, "Bearer x"], ["not JSON", 403, "Bearer eA.eA.eA"]);
  for (const [name, status, token] of tokens) {
    assert.equal(await statusWith(`${azurite.base}/Tables`, token), status, `Azurite: ${name}`);
    assert.equal(await statusWith(`${ours.endpoint()}/Tables`, token), status, name);
  }
  await ours.signal("SIGTERM");
});
