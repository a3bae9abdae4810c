// Tests scans of key ranges: their filters, their pages, and how they continue.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  isInRange,
  type Key,
  keyAfter,
  keyOf,
  partitionRange,
} from "../../../web/src/sync/keys.ts";
import { stretchesOf } from "../../../web/src/sync-remote/key-stretches.ts";
import { profileOf } from "../../../web/src/sync-remote/profile.ts";
import { seededRandom } from "../support/random.ts";
import { asCosmos } from "./as-cosmos.ts";
import { openPeople, openRemote, scanAll, url, withHiddenHeaders, withQuery } from "./support.ts";

const keys: Key[] = [];
for (const partition of ["", "a", "a'b", "ab", "b", "ü"]) {
  for (const row of ["", "1", "1'", "10", "2"]) keys.push(keyOf(partition, row));
}
const properties = new Map([["x", { type: "Int32", value: 1 } as const]]);
const people = await openPeople(new Map(keys.map((key) => [key, properties])));

/** Keys, the next possible keys, partitions and their ends, and other texts. */
const bounds = [
  "",
  ...keys,
  ...keys.map(keyAfter),
  ...keys.map((key) => partitionRange(key.slice(0, key.indexOf("\0"))).to as Key),
  "aa",
  "a\x0015",
  "z",
];

const keysOf = ({ rows }: { rows: readonly { key: Key }[] }): Key[] => rows.map(({ key }) => key);

describe("a range of keys", () => {
  test("is read completely, and in order, whatever its bounds", async () => {
    const random = seededRandom(1);
    const remote = openRemote({ fetch: withQuery(people, "$top=4") });
    for (let round = 0; round < 300; ++round) {
      const from = bounds[random.below(bounds.length)] as Key;
      const to = random.below(4) === 0 ? undefined : bounds[random.below(bounds.length)];
      const range = { from, to };
      const expected = keys.filter((key) => isInRange(key, range)).sort();
      assert.deepEqual(keysOf(await scanAll(remote, range)), expected, JSON.stringify(range));
    }
  });

  test("is read without conditions that are joined by or", () => {
    for (const from of bounds) {
      for (const to of bounds) assert.doesNotMatch(stretchesOf({ from, to }).join(), / or /);
    }
    assert.deepEqual(stretchesOf({ from: "" }), [""]);
    assert.deepEqual(stretchesOf(partitionRange("a'b")), ["PartitionKey eq 'a''b'"]);
    assert.deepEqual(stretchesOf({ from: "a\x001\0", to: "b\x002" }), [
      "PartitionKey eq 'a' and RowKey gt '1'",
      "PartitionKey gt 'a' and PartitionKey lt 'b'",
      "PartitionKey eq 'b' and RowKey lt '2'",
    ]);
  });
});

describe("the pages of a scan", () => {
  test("have the keys and versions of all rows, or their contents", async () => {
    const remote = openRemote({ fetch: people });
    const [scanned] = (await scanAll(remote, { from: "a\x001" }, { keysOnly: true })).rows;
    const read = await remote.read(scanned?.key ?? "");
    assert(read.kind === "found" && scanned?.row.etag === read.row.etag);
    assert.equal(scanned.row.timestamp, read.row.timestamp);
    assert.equal(scanned.row.properties.size, 0);
    const [whole] = (await scanAll(remote, { from: "a\x001" }, { keysOnly: false })).rows;
    assert.deepEqual(whole, { key: scanned.key, row: read.row });
  });

  test("have the rows since a Timestamp, to 100 ns", async () => {
    const remote = openRemote({ fetch: people });
    const { rows } = await scanAll(remote, { from: "" });
    const times = rows.map(({ row }) => row.timestamp).sort();
    for (const since of [times[3], (times[3] ?? 0n) + 1n, times[0], 0n, -5n]) {
      const found = await scanAll(remote, { from: "" }, { since });
      assert.equal(found.rows.length, times.filter((time) => time >= (since ?? 0n)).length);
    }
  });

  test("have the rows that match the table's filter, if the scan asks for it", async () => {
    const remote = openRemote({ fetch: people, filter: "RowKey eq '1' or RowKey eq '2'" });
    const all = await scanAll(remote, { from: "a", to: "b" });
    const some = await scanAll(remote, { from: "a", to: "b" }, { isFiltered: true });
    assert.equal(all.rows.length, 15);
    assert.equal(some.rows.length, 6);
  });

  test("continue after the last key if tokens cannot be read", async () => {
    const hidden = withHiddenHeaders(withQuery(people, "$top=7"));
    const profile = { ...profileOf("unknown"), canContinue: false };
    const remote = openRemote({ fetch: hidden, profile });
    const { rows, pages } = await scanAll(remote, { from: "a\x001", to: "ü\x002" });
    const expected = keys.filter((key) => isInRange(key, { from: "a\x001", to: "ü\x002" }));
    assert.deepEqual(keysOf({ rows }), expected.sort());
    assert(pages > 4);
    assert.equal(remote.traits.hasTimestampFilter, false);
  });

  test("end without another request if no header is hidden", async () => {
    for (const canContinue of [true, false]) {
      const profile = { ...profileOf("unknown"), canContinue };
      assert.equal((await scanAll(openRemote({ fetch: people, profile }), { from: "" })).pages, 1);
      // What an earlier probe has shown may hold no longer. The rest of the last partition, and
      // what is after it, are read too.
      const remote = openRemote({ fetch: withHiddenHeaders(people), profile });
      assert.equal((await scanAll(remote, { from: "" })).pages, 3);
    }
  });

  test("are not complete if tokens cannot be read and nothing is sorted", async () => {
    const { traits, ...rest } = profileOf("unknown");
    const profile = { ...rest, traits: { ...traits, isSorted: false }, canContinue: false };
    const hidden = withHiddenHeaders(withQuery(people, "$top=7"));
    await assert.rejects(
      scanAll(openRemote({ fetch: hidden, profile }), { from: "" }),
      /tokensHidden/,
    );
  });

  test("continue without an empty token", async () => {
    const asked: string[] = [];
    const remote = openRemote({
      fetch: async (input) => {
        asked.push(new URL(String(input)).search);
        const headers = {
          "x-ms-continuation-NextPartitionKey": "1!4!YQ--",
          "x-ms-continuation-NextRowKey": "",
        };
        return new Response('{"value":[]}', asked.length === 1 ? { headers } : {});
      },
    });
    await scanAll(remote, { from: "" });
    assert.match(asked[1] ?? "", /NextPartitionKey=/);
    assert.doesNotMatch(asked[1] ?? "", /NextRowKey/);
  });

  test("fail if they always have nothing but the token that they were asked with", async () => {
    let pages = 0;
    const headers = { "x-ms-continuation-NextPartitionKey": "1!4!YQ--" };
    const remote = openRemote({
      fetch: async () => {
        assert(++pages < 100);
        return new Response('{"value":[]}', { headers });
      },
    });
    await assert.rejects(scanAll(remote, { from: "" }), /failed/);
    assert.equal(pages, 11);
  });

  test("continue after the last key if the URL with a token is too long", async () => {
    for (const status of [414, 431]) {
      let refused = 0;
      const send = withQuery(people, "$top=3");
      const remote = openRemote({
        fetch: (input, init) => {
          if (!String(input).includes("NextPartitionKey")) return send(input, init);
          refused += 1;
          return Promise.resolve(new Response("<html></html>", { status }));
        },
      });
      const range = { from: "a\x001", to: "ü\x002" };
      const expected = keys.filter((key) => isInRange(key, range)).sort();
      assert.deepEqual(keysOf(await scanAll(remote, range)), expected);
      assert(refused > 2);
    }
  });

  test("do not have rows whose keys the Table service does not allow", async () => {
    const row = (partition: string, row: string) => ({
      PartitionKey: partition,
      RowKey: row,
      "odata.etag": "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"",
    });
    const value = [
      row("a", "1"),
      row("a\0b", "1"),
      row("a\u0001", "1"),
      row("b", "1\0"),
      row("b", "2"),
    ];
    const remote = openRemote({ fetch: async () => new Response(JSON.stringify({ value })) });
    assert.deepEqual(keysOf(await scanAll(remote, { from: "" })), ["a\x001", "b\x002"]);
  });

  test("continue by tokens as soon as they can be read", async () => {
    const send = withQuery(people, "$top=7");
    let pages = 0;
    const remote = openRemote({
      fetch: (...request) => (++pages === 1 ? withHiddenHeaders(send) : send)(...request),
      profile: { ...profileOf("unknown"), canContinue: false },
    });
    assert.deepEqual(keysOf(await scanAll(remote, { from: "" })), keys.toSorted());
    assert.equal(remote.traits.hasTimestampFilter, true);
  });

  test("have the Timestamp if ETags do not", async () => {
    const selected: (string | null)[] = [];
    const remote = openRemote({
      fetch: (input, init) => {
        selected.push(new URL(String(input)).searchParams.get("$select"));
        return people(input, init);
      },
      profile: { ...profileOf("unknown"), isTimestampInETag: false },
    });
    await scanAll(remote, { from: "z" });
    assert.deepEqual(selected, ["PartitionKey,RowKey,Timestamp"]);
  });

  test("that are not sorted are not expected to be, from the next scan on", async () => {
    const remote = openRemote({ fetch: asCosmos(people) });
    assert.equal(remote.traits.isSorted, true);
    // A failed page is asked for again, within the same scan.
    for (let tries = 0; tries < 3; ++tries) {
      await assert.rejects(scanAll(remote, { from: "" }, { needsOrder: true }), /failed/);
    }
    assert.equal(remote.traits.isSorted, false);
    assert.equal(remote.traits.hasTimestampFilter, false);
    const { rows } = await scanAll(remote, { from: "" });
    assert.deepEqual(keysOf({ rows }).sort(), keys.sort());
  });

  test("that are each sorted, but not one after the other, are not sorted", async () => {
    const page = (rows: string[]) =>
      JSON.stringify({
        value: rows.map((row) => ({
          PartitionKey: "p",
          RowKey: row,
          "odata.etag": "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"",
        })),
      });
    const remote = openRemote({
      fetch: async (input) =>
        String(input).includes("NextPartitionKey")
          ? new Response(page(["a", "b"]))
          : new Response(page(["m", "z"]), {
              headers: { "x-ms-continuation-NextPartitionKey": "1" },
            }),
    });
    await assert.rejects(scanAll(remote, { from: "" }, { needsOrder: true }), /failed/);
    assert.equal(remote.traits.isSorted, false);
    assert.equal((await scanAll(remote, { from: "" })).rows.length, 4);
  });
});

describe("a response that is no page", () => {
  const missing = "tableMissing";
  const answers: readonly [string, number, string, string][] = [
    ["an HTML page", 200, "<html></html>", "failed"],
    ["half of a page", 200, '{"value":[{"PartitionKey":"a","Row', "failed"],
    ["another object", 200, '{"values":[]}', "failed"],
    ["a row without a key", 200, '{"value":[{"odata.etag":"a","RowKey":"b"}]}', "failed"],
    ["a proxy's 404", 404, "<html></html>", "failed"],
    ["an error of the service", 500, '{"odata.error":{"code":"InternalError"}}', "failed"],
    ["a missing table", 404, '{"odata.error":{"code":"TableNotFound"}}', "tableMissing"],
    ["a table that is being deleted", 409, '{"odata.error":{"code":"TableBeingDeleted"}}', missing],
    ["a missing table on Cosmos DB", 404, '{"odata.error":{"code":"ResourceNotFound"}}', missing],
    [
      "an expired signature",
      403,
      '{"odata.error":{"code":"AuthenticationFailed"}}',
      "unauthorized",
    ],
    ["a proxy's 403", 403, "<html></html>", "failed"],
  ];
  for (const [name, status, body, kind] of answers) {
    test(name, async () => {
      const remote = openRemote({ fetch: async () => new Response(body, { status }) });
      const answer = await remote.scan({ range: { from: "" }, keysOnly: true, isFiltered: false });
      assert.equal(answer.kind, kind);
    });
  }

  test("none, because no URL can have a bound of the range", async () => {
    const request = { range: { from: "a\0\ud800" }, keysOnly: true, isFiltered: false };
    assert.deepEqual(await openRemote({ fetch: people }).scan(request), { kind: "failed" });
  });

  test("a row outside of the range", async () => {
    for (const isSorted of [true, false]) {
      const { traits, ...rest } = profileOf("unknown");
      const profile = { ...rest, traits: { ...traits, isSorted } };
      const remote = openRemote({ fetch: (_, init) => people(`${url}/people()`, init), profile });
      const range = { from: "b", to: "c" };
      const answer = await remote.scan({ range, keysOnly: true, isFiltered: false });
      assert.equal(answer.kind, "failed");
      assert.equal(remote.traits.isSorted, isSorted);
    }
  });
});
