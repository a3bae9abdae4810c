// Tests `entitable serve` with fault rules from a file, with latency and with throttling.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { readFaultFile } from "../../web/src/server/fault-file.ts";
import {
  connectionString,
  killAllServers,
  run,
  type ServerProcess,
  start,
} from "./support/server-process.ts";

const root = mkdtempSync(join(tmpdir(), "entitable-faults-"));
after(async () => {
  await killAllServers();
  rmSync(root, { recursive: true });
});

let written = 0;

function file(rules: unknown): string {
  const path = join(root, `rules-${++written}.json`);
  writeFileSync(path, typeof rules === "string" ? rules : JSON.stringify(rules));
  return path;
}

const busy = { on: "get", respond: { code: "ServerBusy", retryAfter: 0 } };

describe("fault rules from a file", () => {
  test("have the format of entitable/testing, with /regular expressions/", async () => {
    const rules = [
      { ...busy, table: "/^log/i", rowKey: "/a\\/b|c/", partitionKey: "/", times: 2 },
      {
        on: ["insert", "batch"],
        network: "truncate",
        delayMs: { lognormal: { median: 1, p99: 2 } },
      },
    ];
    assert.deepEqual(await readFaultFile(file(`\ufeff${JSON.stringify(rules)}`)), [
      { ...busy, table: /^log/i, rowKey: /a\/b|c/, partitionKey: "/", times: 2 },
      rules[1],
    ]);
    assert.deepEqual(await readFaultFile(file([])), []);
  });

  const bad: [rules: unknown, message: RegExp][] = [
    ["[", /rules-\d+\.json: .*JSON/],
    [busy, /\.json is no array of fault rules/],
    [[busy, 7], /\.json\[1\] is no object/],
    [[{ ...busy, time: 1 }], /\.json\[0\] has time, which is none of on, table, /],
    [[{ ...busy, when: "x" }], /\.json\[0\] has when, which is none of/],
    [[{ on: "get", respond: { codes: "x" } }], /\[0\]\.respond has codes, which is none of code, /],
    [[{ on: "get", respond: "ServerBusy" }], /\[0\]\.respond is no object/],
    [[{ ...busy, on: "gets" }], /\[0\]: Fault rule: on: there is no operation gets/],
    [[{ ...busy, times: "2" }], /\[0\]: Fault rule: times must be a whole number, not 2/],
    [[{ ...busy, table: 7 }], /\[0\]: Fault rule: table must be a text/],
    [[{ ...busy, rowKey: "/(/" }], /\[0\]: rowKey: Invalid regular expression/],
    [[{ ...busy, rowKey: "/a/q" }], /\[0\]: rowKey: Invalid flags/],
    [[{ on: "*" }], /\[0\]: Fault rule: A fault has respond, network or delayMs/],
  ];
  for (const [rules, message] of bad) {
    test(`are rejected: ${JSON.stringify(rules)}`, () =>
      assert.rejects(readFaultFile(file(rules)), { code: "ValidationFailed", message }));
  }

  test("are rejected if the file is missing or not readable as rules", async () => {
    const code = "ValidationFailed";
    const missing = readFaultFile(join(root, "missing"));
    await assert.rejects(missing, { code, message: /missing can't be read \(ENOENT\)/ });
    mkdirSync(join(root, "folder"));
    const folder = readFaultFile(join(root, "folder"));
    await assert.rejects(folder, { code, message: /folder can't be read \(EISDIR\)/ });
  });
});

describe("entitable serve", () => {
  function official(served: ServerProcess, maxRetries = 3): TableClient {
    return TableClient.fromConnectionString(connectionString(served), "lamps", {
      allowInsecureConnection: true,
      retryOptions: { maxRetries, retryDelayInMs: 1, maxRetryDelayInMs: 1 },
    });
  }

  const lamp = (rowKey: string) => ({ partitionKey: "desk", rowKey });
  const fixtures = join(root, "fixtures");
  mkdirSync(fixtures);
  writeFileSync(join(fixtures, "lamps.json"), JSON.stringify([lamp("1"), lamp("2")]));
  const data = ["--seed-data", fixtures];

  test("--faults: requests fail, and retries succeed", async () => {
    const rules = file([
      { on: "get", rowKey: "/^[12]$/", times: 2, respond: { code: "ServerBusy", retryAfter: 0 } },
      { on: "insert", network: "reset", times: 1 },
      { on: "query", network: "truncate", times: 1 },
    ]);
    const served = await start([...data, "--faults", rules]);
    const client = official(served);
    assert.equal((await client.getEntity("desk", "1")).rowKey, "1");
    await client.createEntity(lamp("3"));
    await assert.rejects(client.listEntities().next(), { code: "PARSE_ERROR" });
    const rows: unknown[] = [];
    for await (const { rowKey } of client.listEntities()) rows.push(rowKey);
    assert.deepEqual(rows, ["1", "2", "3"]);
    const { code, err } = await served.signal("SIGTERM");
    assert.deepEqual([code, err], [0, ""]);
  });

  test("--faults: an invalid file is reported before serving begins", async () => {
    const rules = file([busy, { ...busy, probability: 2 }]);
    const { code, out, err } = await run(["serve", "--port", "0", "--faults", rules]);
    assert.equal(code, 1);
    assert.equal(out, "");
    assert.match(err, /^entitable: .*\.json\[1\]: Fault rule: probability must be from 0 to 1/);
  });

  test("--faults: a rule without a valid response is reported before serving begins", async () => {
    const rules = file([busy, { on: "get", respond: { code: "Odd" } }]);
    const { code, out, err } = await run(["serve", "--port", "0", "--faults", rules]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^entitable: faults\[1\]: Fault rule: respond: .*needs a status/);
  });

  test("keeps no requests in memory, however many there are", async () => {
    const env = { NODE_OPTIONS: "--max-old-space-size=64" };
    const served = await start([...data, "--seed", "1", "--auth", "off"], { env });
    const filter = encodeURIComponent(`name eq '${"x".repeat(60_000)}'`);
    let answered = 0;
    for (let i = 0; i < 2000; ++i) {
      const answer = await fetch(`${served.endpoint()}/lamps()?$filter=${filter}`);
      await answer.arrayBuffer();
      if (answer.status === 200) answered += 1;
    }
    assert.equal(answered, 2000, "and their 120 MB of filters");
    await served.signal("SIGTERM");
  });

  test("--latency delays responses, on the real clock or on a stopped one", async () => {
    const took = async (words: string[]) => {
      const served = await start([...data, "--latency", "120", ...words]);
      const client = official(served);
      await client.getEntity("desk", "1"); // opens the connection
      const before = performance.now();
      const { date } = (await client.deleteEntity("desk", "1")) as { date?: Date };
      const ms = performance.now() - before;
      await served.signal("SIGTERM");
      return { ms, date };
    };
    const real = await took([]);
    assert(real.ms >= 119, `${real.ms}`); // timers may fire slightly early by another clock
    const { date } = await took(["--seed", "1"]);
    assert.equal(date?.toISOString(), "2026-01-01T00:00:00.000Z", "240 ms later");
  });

  test("--throttle rejects excess requests, and the official client retries", async () => {
    const served = await start([...data, "--throttle", "2,100"]);
    const client = official(served, 0);
    const codes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        client.createEntity(lamp(`x${i}`)).then(
          () => 204,
          (error) => error.statusCode,
        ),
      ),
    );
    assert(codes.includes(204) && codes.includes(503), `${codes}`);
    // Succeeds after a second, by which time the limit has reset.
    assert.equal((await official(served).getEntity("desk", "2")).rowKey, "2");
    await served.signal("SIGTERM");
  });

  test("--scans azure ends a page at the end of its partition", async () => {
    const pagesOf = async (options: string[]) => {
      const served = await start([...data, ...options]);
      await official(served).createEntity({ partitionKey: "floor", rowKey: "1" });
      const pages: (string | undefined)[][] = [];
      const queryOptions = { filter: "RowKey eq '2'" };
      for await (const page of official(served).listEntities({ queryOptions }).byPage()) {
        pages.push(page.map(({ partitionKey }) => partitionKey));
      }
      await served.signal("SIGTERM");
      return pages;
    };
    assert.deepEqual(await pagesOf(["--scans", "azure"]), [["desk"], []]);
    assert.deepEqual(await pagesOf([]), [["desk"]]);
  });

  test("--empty-pages makes pages with continuations, which clients follow", async () => {
    const served = await start([...data, "--empty-pages", "1"]);
    const pages: unknown[][] = [];
    for await (const page of official(served).listEntities().byPage()) {
      pages.push(page.map(({ rowKey }) => rowKey));
    }
    assert.deepEqual(pages.flat(), ["1", "2"]);
    await served.signal("SIGTERM");
  });
});
