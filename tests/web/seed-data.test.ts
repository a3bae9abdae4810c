// Tests seed data from files: how `entitable serve --seed-data` reads and serves them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";
import { readSeedFolder } from "../../web/src/server/seed-folder.ts";
import { mockStore } from "../../web/src/testing/index.ts";
import {
  connectionString,
  emulatorKey,
  killAllServers,
  run,
  type ServerProcess,
  start,
} from "./support/server-process.ts";

const root = mkdtempSync(join(tmpdir(), "entitable-seed-"));
after(async () => {
  await killAllServers();
  rmSync(root, { recursive: true });
});

function folder(files: Record<string, string>): string {
  const made = mkdtempSync(join(root, "fixtures-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

const officials = { partitionKey: "p", rowKey: "ann", big: { type: "Int64", value: "7" }, age: 40 };
const services = {
  "odata.etag": "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"",
  "PartitionKey@odata.type": "Edm.String",
  PartitionKey: "p",
  RowKey: "bob",
  "Timestamp@odata.type": "Edm.DateTime",
  Timestamp: "2020-01-01T00:00:00Z",
  "big@odata.type": "Edm.Int64",
  big: "7",
  "ratio@odata.type": "Edm.Double",
  ratio: "NaN",
  gone: null,
  done: true,
};

// Reads the seed data. The clone has ordinary prototypes, which deepEqual requires.
async function read(made: string): Promise<object> {
  return structuredClone(await readSeedFolder(made));
}

const ann = { ...officials, age: { type: "Int32", value: "40" } };

describe("fixtures from files", () => {
  test("contain entities in the official client's format, or in the service's", async () => {
    const made = folder({ "people.json": JSON.stringify([officials, services]) });
    assert.deepEqual(await read(made), {
      people: [
        ann,
        {
          partitionKey: "p",
          rowKey: "bob",
          big: { type: "Int64", value: "7" },
          ratio: { type: "Double", value: "NaN" },
          done: { type: "Boolean", value: "true" },
        },
      ],
    });
  });

  test("are an array, one entity on each line, or CSV", async () => {
    const line = JSON.stringify(officials);
    const made = folder({
      "empty.json": "[]",
      "lines.ndjson": `\ufeff${line}\r\n\n${line}\n`,
      "rows.typed.csv": "PartitionKey,RowKey,big,big@type,age,age@type\np,ann,7,Int64,40,Int32\n",
      "README.md": "What this is.",
      ".hidden.json": "no JSON",
    });
    assert.deepEqual(await read(made), { empty: [], lines: [ann, ann], rows: [ann] });
  });

  test("keep property names that are special in JavaScript", async () => {
    const made = folder({
      "odd.ndjson":
        '{"partitionKey":"p","rowKey":"r","constructor":"c","__proto__":"p","toString@odata.type":"Edm.Int32","toString":1}',
    });
    const [odd] = (await readSeedFolder(made))["odd"] ?? [];
    assert.deepEqual(Object.entries(odd ?? {}), [
      ["partitionKey", "p"],
      ["rowKey", "r"],
      ["constructor", { type: "String", value: "c" }],
      ["__proto__", { type: "String", value: "p" }],
      ["toString", { type: "Int32", value: "1" }],
    ]);
  });

  const keys = '"partitionKey":"p","rowKey":"r"';
  const bad: [files: Record<string, string>, message: RegExp][] = [
    [{}, /has no <table>\.json, no <table>\.ndjson and no <table>\.csv/],
    [{ "t.json": "[" }, /^t\.json:1: The array of entities is not complete/],
    [{ "t.json": "{}" }, /^t\.json:1: Expected "value"/],
    [{ "t.json": `[{${keys}},\n7]` }, /^t\.json:2: Invalid JSON: expected "\{" before/],
    [{ "t.ndjson": `{${keys}}\n\n{` }, /^t\.ndjson:3: /],
    [{ "t.ndjson": "[]" }, /^t\.ndjson:1: Invalid JSON: expected "\{" before/],
    [{ "t.ndjson": '{"partitionKey":"p"}' }, /^t\.ndjson:1: RowKey is missing or not a string/],
    [{ "t.ndjson": '{"PartitionKey":1,"rowKey":"r"}' }, /^t\.ndjson:1: PartitionKey is missing/],
    [{ "t.ndjson": `{${keys},"a@odata.type":"Edm.Int","a":1}` }, /a has an unknown type/],
    [
      { "t.ndjson": `{${keys},"a@odata.type":"Edm.Int32"}` },
      /: a@odata\.type has no matching property/,
    ],
    [{ "t.csv": "PartitionKey\np\n" }, /^t\.csv:1: There is no column RowKey/],
    [{ "t.csv": "PartitionKey,RowKey\np\n" }, /^t\.csv:2: The row has 1 cells/],
    [{ "T.json": "[]", "t.ndjson": "" }, /^T\.json and t\.ndjson are for the same table/],
  ];
  for (const [files, message] of bad) {
    test(`are rejected: ${JSON.stringify(files)}`, () =>
      assert.rejects(readSeedFolder(folder(files)), { code: "ValidationFailed", message }));
  }

  test("are rejected if the folder is missing or a file cannot be read", async () => {
    const code = "ValidationFailed";
    const missing = { code, message: /no folder that can be read \(ENOENT\)/ };
    await assert.rejects(readSeedFolder(join(root, "missing")), missing);
    const made = folder({});
    mkdirSync(join(made, "t.json"));
    await assert.rejects(readSeedFolder(made), {
      code,
      message: /^t\.json can't be read \(EISDIR\)/,
    });
  });
});

describe("entitable serve --seed-data", () => {
  const fixtures = folder({ "people.json": JSON.stringify([officials, services]) });

  async function people(served: ServerProcess): Promise<unknown[]> {
    const options = { allowInsecureConnection: true };
    const table = TableClient.fromConnectionString(connectionString(served), "people", options);
    const rows: unknown[] = [];
    for await (const { rowKey, big } of table.listEntities()) rows.push([rowKey, big]);
    return rows;
  }

  test("begins with them, and stores nothing", async () => {
    const served = await start(["--seed-data", fixtures]);
    assert.match(served.lines[0] ?? "", /\(in memory\)$/);
    assert.deepEqual(await people(served), [
      ["ann", 7n],
      ["bob", 7n],
    ]);
    const { code, err } = await served.signal("SIGTERM");
    assert.deepEqual([code, err], [0, ""]);
  });

  test("reports errors in them", async () => {
    const invalid = folder({ "people.ndjson": '{"partitionKey":"p","rowKey":"a/b"}' });
    const words = ["serve", "--port", "0", "--seed-data"];
    const { code, err } = await run([...words, invalid]);
    assert.equal(code, 1);
    assert.match(err, /^entitable: Fixture people\[0\]: /);
    const missing = await run([...words, join(root, "missing")]);
    assert.equal(missing.code, 1);
    assert.match(missing.err, /^entitable: .*missing is no folder that can be read/);
  });

  // Sends requests and returns every byte of the responses, without the server's own address.
  async function conversation(ask: typeof fetch, endpoint: string): Promise<string[]> {
    const said: string[] = [];
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    const body = JSON.stringify({ PartitionKey: "p", RowKey: "dan" });
    for (const [method, path] of [
      ["GET", "people()"],
      ["POST", "people"],
      ["POST", "people"],
      ["GET", "nobody()"],
    ] as const) {
      const init = { method, headers, ...(method === "POST" ? { body } : {}) };
      const answer = await ask(`${endpoint}/${path}`, init);
      const kept = [...answer.headers].filter(([name]) => !/^(connection|keep-alive)$/.test(name));
      const lines = [answer.status, ...kept.sort(), await answer.text()].join("\n");
      said.push(lines.replaceAll(endpoint, "<endpoint>"));
    }
    return said;
  }

  test("repeats its responses with --seed, byte for byte", async () => {
    const words = ["--seed-data", fixtures, "--auth", "off", "--clock", "2026-03-01T12:00:00Z"];
    const said: string[][] = [];
    for (const seed of ["42", "42", "43"]) {
      const served = await start([...words, "--seed", seed]);
      said.push(await conversation(fetch, served.endpoint()));
      await served.signal("SIGTERM");
    }
    assert.match(said[0]?.[0] ?? "", /2026-03-01T12:00:00\.0000/);
    assert.match(said[0]?.[1] ?? "", /^201\n/);
    assert.match(said[0]?.[2] ?? "", /^409\n/);
    assert.deepEqual(said[1], said[0]);
    assert.notDeepEqual(said[2], said[0]);

    const account = { name: "devstoreaccount1", keys: [emulatorKey], permissiveCors: true };
    const clock = "2026-03-01T12:00:00Z";
    const seeds = await readSeedFolder(fixtures);
    await using store = await mockStore({ seed: 42, clock, account, fixtures: seeds });
    const ask: typeof fetch = (url, init) => store.fetch(String(url), init);
    const inside = await conversation(ask, "http://127.0.0.1:10002/devstoreaccount1");
    const length = /^content-length,\d+\n/m; // only the server adds this header
    assert.deepEqual(
      inside.map((text) => text.replace(length, "")),
      said[0]?.map((text) => text.replace(length, "")),
    );
  });

  test("uses the machine's clock by default", async () => {
    const served = await start(["--seed-data", fixtures, "--auth", "off"]);
    const answer = await fetch(`${served.endpoint()}/Tables`);
    assert.ok(Math.abs(Date.parse(answer.headers.get("date") ?? "") - Date.now()) < 3_600_000);
    await served.signal("SIGTERM");
  });

  test("seeds every account", async () => {
    const env = { AZURITE_ACCOUNTS: "one:a2V5;two:a2V5" };
    const served = await start(["--seed-data", fixtures], { env, accounts: 2 });
    for (const [i, name] of ["one", "two"].entries()) {
      const credential = new AzureNamedKeyCredential(name, "a2V5");
      const options = { allowInsecureConnection: true };
      const table = new TableClient(served.endpoint(i), "people", credential, options);
      assert.equal((await table.getEntity("p", "bob"))["big"], 7n);
    }
    await served.signal("SIGTERM");
  });
});
