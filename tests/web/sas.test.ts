// Compares shared access signatures with those of the official functions. For the same input and
// clock they must have the same bytes.

import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import * as official from "@azure/data-tables";
import { dataTables as ours } from "./support/data-tables.ts";
import { seededRandom } from "./support/random.ts";
import { refusalOf } from "./support/refusal.ts";

const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const credential = new ours.AzureNamedKeyCredential("devstoreaccount1", key);
const startsOn = new Date("2024-01-01T00:00:00.789Z");
const expiresOn = new Date("2030-01-01T00:00:00Z");
const signatureIn = (query: string) => new URLSearchParams(query).get("sig");

describe("generateTableSas", () => {
  test("produces the service's test vectors", () => {
    const ranged = ours.generateTableSas("MyTable", credential, {
      permissions: { query: true, add: true, update: true, delete: true },
      startsOn,
      expiresOn,
      startPartitionKey: "a",
      startRowKey: "1",
      endPartitionKey: "b",
      endRowKey: "9",
    });
    assert.equal(signatureIn(ranged), "Seotp/ZH8jm144JB7QavGuoD4g5zQRRIKhw14IQqxj4=");
    const stored = ours.generateTableSas("MyTable", credential, { identifier: "pol1" });
    assert.equal(signatureIn(stored), "axYq4ImqDamyfi65Fs65/r9XSVgqfDrgjxTtJMr2hPA=");
  });

  test("without options allows queries for an hour", (t) => {
    mock.timers.enable({ apis: ["Date"], now: startsOn });
    t.after(() => mock.timers.reset());
    const query = ours.generateTableSas("people", credential);
    const { sp, se } = Object.fromEntries(new URLSearchParams(query));
    assert.deepEqual([sp, se], ["r", "2024-01-01T01:00:00Z"]);
    assert.equal(query, official.generateTableSas("people", credential));
  });

  test("rejects an invalid key and an invalid table", () => {
    for (const [table, given] of [
      ["people", { signature: "sig=x" }],
      ["people", undefined],
      ["", credential],
    ] as const) {
      const refusal = refusalOf(() => official.generateTableSas(table, given as never));
      assert.throws(() => ours.generateTableSas(table, given as never), refusal);
    }
  });
});

describe("generateAccountSas", () => {
  test("produces the service's test vector", () => {
    const query = ours.generateAccountSas(credential, {
      permissions: { query: true, write: true, delete: true, list: true, add: true, update: true },
      startsOn,
      expiresOn,
    });
    assert.equal(signatureIn(query), "48nWiz5f64EphgXUgglDER3ZA9urKITdec+1mjH/DWE=");
  });

  test("without options allows querying and listing for an hour", (t) => {
    mock.timers.enable({ apis: ["Date"], now: startsOn });
    t.after(() => mock.timers.reset());
    const query = ours.generateAccountSas(credential);
    const { sp, srt, ss, se } = Object.fromEntries(new URLSearchParams(query));
    assert.deepEqual([sp, srt, ss, se], ["rl", "sco", "t", "2024-01-01T01:00:00Z"]);
    assert.equal(query, official.generateAccountSas(credential));
  });

  test("rejects an invalid key and unknown resource types", () => {
    for (const [given, options] of [
      [{ getToken: () => {} }, {}],
      [credential, { resourceTypes: "sx" }],
    ] as const) {
      const refusal = refusalOf(() => official.generateAccountSas(given as never, options));
      assert.throws(() => ours.generateAccountSas(given as never, options), refusal);
    }
  });
});

describe("a thousand random signatures equal the official ones", () => {
  const seed = Number(process.env.ENTITABLE_SEED ?? Date.now() % 1e9);
  const { below } = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  // Returns an object with this property, or at random without it.
  function maybe<N extends string, T>(name: N, value: () => T): { [K in N]?: T } {
    return below(2) === 0 ? {} : ({ [name]: value() } as { [K in N]?: T });
  }
  const text = () => pick(["", "a", "o'x", "\u00fc 1", "a/b&c=d+e%", "\ud83d\ude00"]);
  const date = () => new Date(below(4e9) * 1000 + below(1000));
  const flags = <N extends string>(...names: N[]) =>
    Object.fromEntries(names.map((name) => [name, below(2) === 1])) as Record<N, boolean>;
  const common = () => ({
    ...maybe("version", () => pick(["2019-02-02", "2020-12-06", ""])),
    ...maybe("protocol", () => pick(["https", "https,http"] as const)),
    ...maybe("startsOn", date),
    ...maybe("expiresOn", date),
    ...maybe("ipRange", () => ({ start: "1.2.3.4", ...maybe("end", () => "1.2.3.9") })),
  });
  const keyOf = (entry: typeof official | typeof ours) =>
    new entry.AzureNamedKeyCredential(
      pick(["acct", "devstoreaccount1"]),
      pick([key, "a2V5", "a2V", "-_-_", "no base64!"]),
    );

  test(`tables, seed ${seed}`, (t) => {
    mock.timers.enable({ apis: ["Date"], now: startsOn });
    t.after(() => mock.timers.reset());
    for (let i = 0; i < 1000; ++i) {
      const options: official.TableSasSignatureValues = {
        ...common(),
        ...maybe("permissions", () => flags("query", "add", "update", "delete")),
        ...maybe("identifier", text),
        ...maybe("startPartitionKey", text),
        ...maybe("startRowKey", text),
        ...maybe("endPartitionKey", text),
        ...maybe("endRowKey", text),
      };
      const table = pick(["people", "MyTable"]);
      const by = keyOf(pick([official, ours]));
      const expected = official.generateTableSas(table, by, options);
      assert.equal(ours.generateTableSas(table, by, options), expected);
    }
  });

  test(`accounts, seed ${seed}`, (t) => {
    mock.timers.enable({ apis: ["Date"], now: startsOn });
    t.after(() => mock.timers.reset());
    for (let i = 0; i < 1000; ++i) {
      const permissions = () => flags("query", "write", "delete", "list", "add", "update");
      const options: official.AccountSasOptions = {
        ...common(),
        ...maybe("permissions", permissions),
        ...maybe("resourceTypes", () => pick(["", "o", "sco", "ocs", "cc"])),
        ...maybe("services", () => flags("blob", "file", "queue", "table")),
      };
      const by = keyOf(pick([official, ours]));
      const expected = official.generateAccountSas(by, options);
      assert.equal(ours.generateAccountSas(by, options), expected);
    }
  });
});
