// Tests what a probe finds out about remotes that differ.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Key } from "../../../web/src/sync/keys.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import { Http } from "../../../web/src/sync-remote/http.ts";
import { type Probe, probe } from "../../../web/src/sync-remote/probe.ts";
import { profileOf, serviceOf } from "../../../web/src/sync-remote/profile.ts";
import { asCosmos } from "./as-cosmos.ts";
import { credential, type Fetch, now, openPeople, url, withHiddenHeaders } from "./support.ts";

const rows = (count: number): Map<Key, Properties> =>
  new Map(Array.from({ length: count }, (_, at) => [`p\0${at}`, new Map()]));

const probed = async (send: Fetch): Promise<Probe> => {
  const result = await probe(new Http({ url, credential, now, fetch: send }), "people");
  assert(result.kind === "probed");
  return result;
};

describe("a probe", () => {
  test("finds everything", async () => {
    const { profile, isComplete, isDateReadable } = await probed(await openPeople(rows(3)));
    assert.deepEqual(profile, profileOf("entitable"));
    assert(isComplete && isDateReadable);
  });

  test("finds that a filter by Timestamp returns nothing, and that rows are not sorted", async () => {
    const { profile } = await probed(asCosmos(await openPeople(rows(3))));
    assert.deepEqual(profile.traits, {
      hasTimestampFilter: false,
      isSorted: false,
      staleReadMs: 0,
    });
  });

  test("finds everything although pages are empty before there are rows", async () => {
    const people = await openPeople(rows(3));
    const begun = new Set<string>();
    const emptyFirst: Fetch = async (input, init) => {
      const to = new URL(String(input));
      const isBegun = to.searchParams.get("NextPartitionKey") === "begun";
      to.searchParams.delete("NextPartitionKey");
      if (isBegun || !to.pathname.endsWith("()")) return people(to, init);
      begun.add(String(to));
      const headers = { "x-ms-continuation-NextPartitionKey": "begun" };
      return new Response('{"value":[]}', { headers });
    };
    const { profile, isComplete } = await probed(emptyFirst);
    assert.deepEqual(profile, profileOf("entitable"));
    assert(isComplete && begun.size > 1);
  });

  test("finds that the service refuses a filter by Timestamp", async () => {
    const people = await openPeople(rows(3));
    for (const status of [400, 501]) {
      const refusing: Fetch = async (input, init) =>
        String(input).includes("Timestamp+ge") || String(input).includes("Timestamp%20ge")
          ? new Response('{"odata.error":{"code":"NotImplemented"}}', { status })
          : people(input, init);
      const { profile, isComplete } = await probed(refusing);
      assert.equal(profile.traits.hasTimestampFilter, false);
      assert(isComplete);
    }
  });

  test("does not rely on the order of an unknown service", async () => {
    const people = await openPeople(rows(3));
    const unnamed: Fetch = async (input, init) => {
      const response = await people(input, init);
      const headers = new Headers(response.headers);
      headers.delete("Server");
      return new Response(response.body, { status: response.status, headers });
    };
    assert.equal((await probed(unnamed)).profile.traits.isSorted, false);
    const http = new Http({ url, credential, now, fetch: unnamed });
    const told = await probe(http, "people", { service: "azurite", staleReadMs: 7 });
    assert(told.kind === "probed");
    assert.deepEqual(told.profile.traits, {
      hasTimestampFilter: true,
      isSorted: true,
      staleReadMs: 7,
    });
  });

  test("does not know whether the filter works if the row was deleted meanwhile", async () => {
    const people = await openPeople(rows(3));
    const deleted: Fetch = (input, init) => {
      const to = new URL(String(input));
      const filter = to.searchParams.get("$filter");
      if (filter) to.searchParams.set("$filter", `${filter} and RowKey eq 'none'`);
      return people(to, init);
    };
    const { profile, isComplete } = await probed(deleted);
    assert.equal(profile.traits.hasTimestampFilter, true);
    assert(!isComplete);
  });

  test("of an empty table is not complete", async () => {
    const { profile, isComplete } = await probed(await openPeople());
    assert.deepEqual(profile, profileOf("entitable"));
    assert(!isComplete);
  });

  test("finds whether the headers that continue a query can be read", async () => {
    for (const count of [0, 1, 2]) {
      const hidden = withHiddenHeaders(await openPeople(rows(count)));
      const { profile, isComplete, isDateReadable } = await probed(hidden);
      assert.equal(profile.canContinue, false);
      assert.equal(isComplete, count === 2);
      assert.equal(isDateReadable, false);
    }
  });

  test("finds ETags that do not have the Timestamp", async () => {
    const people = await openPeople(rows(1));
    const foreign: Fetch = async (input, init) => {
      const response = await people(input, init);
      const body = (await response.text()).replaceAll(/datetime'/g, "version'");
      return new Response(body, { status: response.status, headers: response.headers });
    };
    assert.equal((await probed(foreign)).profile.isTimestampInETag, false);
  });

  test("fails as a read does", async () => {
    const fail = async (status: number, body: string) => {
      const send = async () => new Response(body, { status });
      return (await probe(new Http({ url, now, fetch: send }), "people")).kind;
    };
    assert.equal(await fail(500, ""), "failed");
    assert.equal(await fail(200, "<html></html>"), "failed");
    assert.equal(await fail(404, '{"odata.error":{"code":"TableNotFound"}}'), "tableMissing");
    assert.equal(
      await fail(403, '{"odata.error":{"code":"AuthenticationFailed"}}'),
      "unauthorized",
    );
  });
});

test("services are known by their address, or by the name that they send", () => {
  assert.equal(serviceOf("https://a.table.core.windows.net", null), "azure");
  assert.equal(serviceOf("https://a.table.cosmos.azure.com:443", null), "cosmos");
  assert.equal(serviceOf("https://a.table.cosmosdb.azure.com", null), "cosmos");
  assert.equal(serviceOf("http://127.0.0.1:10002/a", "Azurite-Table/3.35.0"), "azurite");
  assert.equal(serviceOf("https://tables.example", "entitable"), "entitable");
  assert.equal(serviceOf("https://tables.example", "Windows-Azure-Table/1.0 X"), "azure");
  assert.equal(serviceOf("https://tables.example", "nginx"), "unknown");
  assert.equal(serviceOf("https://localhost:8902", "Microsoft-HTTPAPI/2.0"), "cosmos");
  assert.equal(serviceOf("https://a.b", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"), "azure");
  const { limits, traits } = profileOf("cosmos");
  assert.deepEqual(limits, { operations: 100, bytes: 2_000_000, rowKeyBytes: 255 });
  assert(!traits.hasTimestampFilter && !traits.isSorted && traits.staleReadMs > 0);
});
