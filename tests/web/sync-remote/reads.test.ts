// Tests reads whose answer may be about something else than the entity: the path of a key is
// decoded twice, a missing table looks like a missing entity, and 403 has several causes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { generateAccountSas, generateTableSas } from "../../../web/src/data-tables/sas.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import { profileOf, type Service } from "../../../web/src/sync-remote/profile.ts";
import { isInSasRange } from "../../../web/src/sync-remote/sas-range.ts";
import { asCosmos } from "./as-cosmos.ts";
import { credential, type Fetch, openPeople, openRemote, url } from "./support.ts";

const permissions = { query: true, add: true, update: true, delete: true };
const expiresOn = new Date(Date.now() + 3_600_000);
const sas = (more = {}) => ({
  signature: generateTableSas("people", credential, { expiresOn, permissions, ...more }),
});

/** Decodes paths once; the server does it again. */
const decodingTwice =
  (send: Fetch): Fetch =>
  (input, init) => {
    const to = new URL(String(input));
    to.pathname = to.pathname.replaceAll("%25", "%");
    return send(to, init);
  };

const none: Properties = new Map();
const services: readonly Service[] = ["azure", "cosmos", "unknown"];
const errorOf = (code: string) => JSON.stringify({ "odata.error": { code } });

describe("a key with a percent sign", () => {
  const keys = ["p\0a%25b", "p\0a%b", "p\x0050%", "5%25\0ü +'%2F", "%\0"];

  test("is read although the service decodes paths twice", async () => {
    const people = await openPeople(new Map(keys.map((key) => [key, none])));
    for (const service of services) {
      const profile = profileOf(service);
      const remote = openRemote({
        fetch: decodingTwice(people),
        credential: sas(),
        profile,
      });
      for (const key of keys) assert.equal((await remote.read(key)).kind, "found", key);
      for (const key of ["p\0x%25b", "p\x0051%", "%25\0"]) {
        assert.equal((await remote.read(key)).kind, "absent", key);
      }
    }
  });

  test("is forbidden outside of the signature's range, where a search finds nothing", async () => {
    const people = await openPeople(new Map(keys.map((key) => [key, none])));
    const range = { startPartitionKey: "p", endPartitionKey: "p" };
    const remote = openRemote({
      fetch: decodingTwice(people),
      credential: sas(range),
      profile: profileOf("azure"),
    });
    assert.equal((await remote.read("%70\x001")).kind, "forbidden");
    assert.equal((await remote.read("p\x001%")).kind, "absent");
  });
});

describe("a missing table", () => {
  test("is not a missing entity, although Cosmos DB answers alike", async () => {
    const people = await openPeople();
    const other: Fetch = (input, init) => people(String(input).replace("/people", "/gone"), init);
    const signature = generateAccountSas(credential, { permissions: { query: true } });
    for (const service of ["cosmos", "unknown"] as const) {
      const profile = profileOf(service);
      const open = (fetch: Fetch) =>
        openRemote({ fetch: asCosmos(fetch), profile, credential: { signature } });
      assert.equal((await open(people).read("p\0a")).kind, "absent");
      const dropped = open(other);
      assert.equal((await dropped.read("p\0a")).kind, "tableMissing");
      const range = { from: "" };
      const scan = await dropped.scan({ range, keysOnly: true, isFiltered: false });
      assert.equal(scan.kind, "tableMissing");
    }
  });
});

describe("a key that the service refuses", () => {
  const refusing =
    (isRefused: (path: string, filter: string) => boolean): Fetch =>
    async (input) => {
      const { pathname, searchParams } = new URL(String(input));
      return isRefused(pathname, searchParams.get("$filter") ?? "")
        ? new Response(errorOf("InvalidInput"), { status: 400 })
        : new Response('{"value":[]}');
    };
  const read = async (isRefused: (path: string, filter: string) => boolean) =>
    (await openRemote({ fetch: refusing(isRefused) }).read("p\0a")).kind;

  test("is absent if a search does not find it", async () => {
    assert.equal(await read((path) => !path.endsWith("()")), "absent");
  });

  test("is absent if a search refuses it too, but no other search", async () => {
    assert.equal(await read((path, filter) => !path.endsWith("()") || filter !== ""), "absent");
  });

  test("is unknown if the service refuses everything", async () => {
    assert.equal(await read(() => true), "failed");
  });
});

describe("403 AuthorizationFailure", () => {
  const refused: Fetch = async () => new Response(errorOf("AuthorizationFailure"), { status: 403 });
  const read = async (from: string, key: string) =>
    (await openRemote({ fetch: refused, url: `${url}${from}` }).read(key)).kind;

  test("is about the key only if the signature has a range without it", async () => {
    assert.equal(await read("", "p\0a"), "unauthorized");
    assert.equal(await read("?sig=a&tn=other", "p\0a"), "unauthorized");
    assert.equal(await read("?sig=a&spk=p&epk=p", "p\0a"), "unauthorized");
    assert.equal(await read("?sig=a&spk=q&epk=q", "p\0a"), "forbidden");
  });

  test("is compared with the range as the service does, ends included", () => {
    const range = "spk=b&srk=5&epk=d&erk=7";
    for (const key of ["b\x005", "b\x0051", "b2\0", "c\0", "d\0", "d\x007"]) {
      assert(isInSasRange(key, range), key);
    }
    for (const key of ["a\0", "b\0", "b\x004", "d\x0070", "d2\0"]) {
      assert(!isInSasRange(key, range), key);
    }
    assert(isInSasRange("d\0z", "epk=d") && !isInSasRange("d2\0", "epk=d"));
    assert(isInSasRange("b\0", "spk=b") && !isInSasRange("a\0", "spk=b"));
  });
});
