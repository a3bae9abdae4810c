// Tests the requests of sync's remote: what they send, with which credential, and when.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { generateTableSas } from "../../../web/src/data-tables/sas.ts";
import type { FrozenPush, Member } from "../../../web/src/sync/hidden-tables.ts";
import { bytesOf, type RemoteOperation } from "../../../web/src/sync/operation.ts";
import type { Properties } from "../../../web/src/sync/properties.ts";
import { batchRequest } from "../../../web/src/sync-remote/batch-request.ts";
import { settleMsMin } from "../../../web/src/sync-remote/http-remote.ts";
import { profileOf } from "../../../web/src/sync-remote/profile.ts";
import { checkEdgeEntities } from "../support/edge-entities.ts";
import { checkUnchangedEntity } from "../support/unchanged-entity.ts";
import {
  account,
  credential,
  type Fetch,
  guid,
  openPeople,
  openRemote,
  url,
  withQuery,
} from "./support.ts";

interface Sent {
  readonly url: URL;
  readonly method: string | undefined;
  readonly headers: Headers;
  readonly body: string;
  readonly init: RequestInit | undefined;
}

/** Records requests. */
function recorded(send: Fetch): { requests: Sent[]; fetch: Fetch } {
  const requests: Sent[] = [];
  return {
    requests,
    fetch(input, init) {
      const { method, headers, body } = init ?? {};
      const sent = { url: new URL(String(input)), headers: new Headers(headers), method };
      requests.push({ ...sent, body: String(body ?? ""), init });
      return send(input, init);
    },
  };
}

const x = (value: number): Properties => new Map([["x", { type: "Int32", value } as const]]);

const inserted = (key: string, value = 1): Member => ({
  key,
  base: { kind: "absent" },
  intended: x(value),
});

function pushOf(members: readonly Member[], receipt?: FrozenPush["receipt"]): FrozenPush {
  const push = { partition: "p", token: guid, upTo: 1, groups: 1, members, idleKeys: [] };
  return receipt ? { ...push, receipt } : push;
}

const always = Number.POSITIVE_INFINITY;

/** AbortSignal.timeout keeps no process running. */
function keepAlive(t: TestContext): void {
  const timer = setInterval(() => {}, 1000);
  t.after(() => clearInterval(timer));
}

describe("a push", () => {
  test("is answered before others are sent, so that a page asks once, but not for long", async (t) => {
    keepAlive(t);
    let answer = (_: Response) => {};
    const people = await openPeople();
    const { requests, fetch } = recorded((input, init) =>
      requests.length > 1
        ? people(input, init)
        : new Promise((resolve) => {
            answer = resolve;
          }),
    );
    const push = (remote: ReturnType<typeof openRemote>, key: string) =>
      remote.push(pushOf([inserted(`p\0${key}`)]), always);
    const remote = openRemote({ fetch });
    const pushes = ["1", "2", "3"].map((key) => push(remote, key));
    await delay(50);
    assert.equal(requests.length, 1);
    const [first] = requests;
    answer(await people(String(first?.url), first?.init));
    const kinds = (await Promise.all(pushes)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ["applied", "applied", "applied"]);
    requests.length = 0;
    const slow = openRemote({ fetch });
    void push(slow, "4");
    assert.equal((await push(slow, "5")).kind, "applied");
    assert.equal(requests.length, 2);
  });

  test("that is not answered lets others be sent, of which the next is answered first", async (t) => {
    keepAlive(t);
    const people = await openPeople();
    let answerSecond = (_: Response) => {};
    const { requests, fetch } = recorded((input, init) => {
      if (requests.length === 1) return Promise.reject(new TypeError("offline"));
      if (requests.length > 2) return people(input, init);
      return new Promise((resolve) => {
        answerSecond = resolve;
      });
    });
    const remote = openRemote({ fetch });
    const push = async (key: string) =>
      (await remote.push(pushOf([inserted(`p\0${key}`)]), always)).kind;
    assert.equal(await push("1"), "failed");
    const pushes = ["2", "3"].map(push);
    await delay(50);
    assert.equal(requests.length, 2);
    const [, second] = requests;
    answerSecond(await people(String(second?.url), second?.init));
    assert.deepEqual(await Promise.all(pushes), ["applied", "applied"]);
  });

  test("is one batch of conditional operations, and always the same bytes", async () => {
    const etag = "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"";
    const base = { kind: "row", row: { properties: x(1), etag, timestamp: 1n } } as const;
    const members = [
      inserted("p\0a'1"),
      { key: "p\0b", base, intended: x(2) },
      { key: "p\0c", base, intended: new Map() },
      { key: "p\0d", base, intended: undefined },
    ];
    const { requests, fetch } = recorded(() => Promise.reject(new Error("offline")));
    const push = pushOf(members, { etag });
    assert.deepEqual(await openRemote({ fetch }).push(push, always), { kind: "failed" });
    await openRemote({ fetch }).push(push, always);
    const [first, second] = requests as [Sent, Sent];
    assert.equal(first.body, second.body);
    assert.equal(first.init?.redirect, "manual");
    assert.equal(String(first.url), `${url}/$batch?timeout=20`);
    assert.equal(first.method, "POST");
    assert.equal(first.headers.get("Content-Type"), `multipart/mixed; boundary=batch_${guid}`);
    const sent = first.body
      .split("\r\n")
      .filter((line) => /^(POST|PUT|PATCH|MERGE|DELETE|X-HTTP-Method:|If-Match:) /.test(line));
    const people = `${url}/people`;
    assert.deepEqual(sent, [
      `PUT ${people}(PartitionKey='p',RowKey='~entitable~me') HTTP/1.1`,
      `If-Match: ${etag}`,
      `POST ${people} HTTP/1.1`,
      `MERGE ${people}(PartitionKey='p',RowKey='b') HTTP/1.1`,
      `If-Match: ${etag}`,
      `PUT ${people}(PartitionKey='p',RowKey='c') HTTP/1.1`,
      `If-Match: ${etag}`,
      `DELETE ${people}(PartitionKey='p',RowKey='d') HTTP/1.1`,
      `If-Match: ${etag}`,
    ]);
    const bodies = first.body.split("\r\n").filter((line) => line.startsWith("{"));
    assert.deepEqual(bodies, [
      `{"PartitionKey":"p","RowKey":"~entitable~me","push":"${guid}"}`,
      `{"PartitionKey":"p","RowKey":"a'1","x":1}`,
      `{"PartitionKey":"p","RowKey":"b","x":2}`,
      `{"PartitionKey":"p","RowKey":"c"}`,
    ]);
  });

  test("to Cosmos DB merges with POST and a header", async () => {
    const { requests, fetch } = recorded(() => Promise.reject(new Error("offline")));
    const base = { kind: "row", row: { properties: x(1), etag: '"1"', timestamp: 1n } } as const;
    const push = pushOf([{ key: "p\0b", base, intended: x(2) }]);
    await openRemote({ fetch, profile: profileOf("cosmos") }).push(push, always);
    const merge = `POST ${url}/people(PartitionKey='p',RowKey='b') HTTP/1.1\r\nX-HTTP-Method: MERGE`;
    assert(requests[0]?.body.includes(`\r\n${merge}\r\n`));
  });

  test("is applied, refused, fenced and read", async () => {
    const remote = openRemote({ fetch: await openPeople() });
    const name = { partition: "p", token: "00000000-0000-4000-8000-000000000000" };
    const created = await remote.fence(name, undefined);
    assert(created.kind === "applied" && created.receipt && created.versions.length === 0);
    const again = await remote.fence(name, undefined);
    assert(again.kind === "refused" && again.status === 409);
    const push = pushOf([inserted("p\0a"), inserted("p\0b'ü%")], { etag: created.receipt.etag });
    const applied = await remote.push(push, always);
    assert(applied.kind === "applied");
    const read = await remote.read("p\0b'ü%");
    assert(read.kind === "found");
    const { properties: _, ...version } = read.row;
    assert.deepEqual(applied.versions[1], version);
    const { date: _date, ...refused } = await remote.push(push, always);
    const code = "UpdateConditionNotSatisfied";
    assert.deepEqual(refused, { kind: "refused", index: 0, status: 412, code });
    const receipt = await remote.readReceipt("p");
    assert(receipt.kind === "found" && receipt.row.properties.get("push")?.value === guid);
    const fenced = await remote.fence(push, receipt.row.etag);
    assert(fenced.kind === "applied" && fenced.versions.length === 0);
    const after = await remote.readReceipt("p");
    assert(after.kind === "found" && after.row.etag === fenced.receipt?.etag);
    assert.equal(after.row.properties.get("push")?.value, `not ${guid}`);
    assert.equal((await remote.read("p\0none")).kind, "absent");
  });

  test("is not sent when its time has passed, also while a credential is fetched", async () => {
    const { requests, fetch } = recorded(await openPeople());
    let monotonicMs = 0;
    const remote = openRemote({
      fetch,
      now: () => ({ monotonicMs, wallMs: Date.now() }),
      credential: async () => {
        monotonicMs = 10;
        return credential;
      },
    });
    const push = pushOf([inserted("p\0a")]);
    assert.deepEqual(await remote.push(push, 10), { kind: "notSent" });
    assert.deepEqual(await remote.push(push, 10), { kind: "notSent" });
    assert.equal(requests.length, 0);
    assert.equal((await remote.push(push, 11)).kind, "applied");
  });

  test("with a key that no URL can have refuses that operation", async () => {
    const { requests, fetch } = recorded(await openPeople());
    const remote = openRemote({ fetch });
    const push = pushOf([inserted("p\0\ud800"), inserted("p\0b")], { etag: '"1"' });
    // The receipt has index 0.
    const code = "InvalidInput";
    const refused = { kind: "refused", index: 1, status: 400, code };
    assert.deepEqual(await remote.push(push, always), refused);
    const all = pushOf([inserted("\ud800\0a")], { etag: '"1"' });
    assert.deepEqual(await remote.push({ ...all, partition: "\ud800" }, always), refused);
    assert.deepEqual(await remote.read("p\0\ud800"), { kind: "absent" });
    assert.equal(requests.length, 0);
  });

  test("with a row key that is too long for Cosmos DB refuses that operation", async () => {
    const { requests, fetch } = recorded(await openPeople());
    const remote = openRemote({ fetch, profile: profileOf("cosmos") });
    const push = pushOf([inserted(`p\0${"ü".repeat(127)}a`), inserted(`p\0${"ü".repeat(128)}`)]);
    const refused = { kind: "refused", index: 1, status: 400, code: "InvalidInput" };
    assert.deepEqual(await remote.push(push, always), refused);
    assert.equal(requests.length, 0);
  });

  test("is unknown if the response takes too long", async () => {
    const never: Fetch = (_, init) =>
      new Promise((_resolve, reject) => {
        const timer = setInterval(() => {}, 1000); // AbortSignal.timeout keeps no process running
        init?.signal?.addEventListener("abort", () => {
          clearInterval(timer);
          reject(init.signal?.reason);
        });
      });
    const remote = openRemote({ fetch: never, timeoutMs: 5 });
    assert.deepEqual(await remote.push(pushOf([inserted("p\0a")]), always), { kind: "failed" });
  });

  test("is unknown if fetch ignores that it took too long, or a body does", async (t) => {
    const endless = new Response(new ReadableStream({}), { status: 202 });
    keepAlive(t);
    for (const ignoring of [() => new Promise<Response>(() => {}), async () => endless]) {
      const remote = openRemote({ fetch: ignoring, timeoutMs: 5 });
      assert.deepEqual(await remote.push(pushOf([inserted("p\0a")]), always), { kind: "failed" });
    }
  });

  test("is aborted, and ended by the server, before the settle time has passed", async (t) => {
    const { requests, fetch } = recorded(() => Promise.reject(new Error("offline")));
    const timeout = t.mock.method(AbortSignal, "timeout");
    await openRemote({ fetch }).push(pushOf([inserted("p\0a")]), always);
    const [abortMs = 0] = timeout.mock.calls.at(-1)?.arguments ?? [];
    const serverMs = 1000 * Number(requests[0]?.url.searchParams.get("timeout"));
    assert.equal(abortMs, 30_000);
    assert(abortMs + serverMs < settleMsMin && settleMsMin < 90_000);
  });
});

test("entities with any keys and values are written, read and scanned", async () => {
  for (const service of ["azure", "unknown"] as const) {
    const fetch = withQuery(await openPeople(), "$top=7");
    await checkEdgeEntities(openRemote({ fetch, profile: profileOf(service) }));
  }
});

test("an entity that a push does not change is a condition", async () => {
  for (const service of ["azure", "cosmos"] as const)
    await checkUnchangedEntity(
      openRemote({ fetch: await openPeople(), profile: profileOf(service) }),
    );
});

test("a batch is not longer than what is counted for its operations", () => {
  const name = "\u00fc_1".repeat(60);
  const texts = ["", "o'x", '"\\u0000"', "\u00fc\u{1f600}", "\ud800", "a%b"];
  const operations: RemoteOperation[] = [];
  for (const text of texts) {
    for (const value of [
      { type: "String", value: text },
      { type: "Int64", value: "-9223372036854775808" },
      { type: "Double", value: -1.23456789012345e-300 },
      { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
    ] as const) {
      const properties = new Map([[name, value]]);
      const key = `${text.replace("\ud800", "")}\0${"o'x".repeat(100)}`;
      operations.push({ kind: "insert", key, properties });
      operations.push({ kind: "replace", key, properties, etag: "x".repeat(60) });
      operations.push({ kind: "merge", key, set: properties, etag: "x".repeat(60) });
    }
  }
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  const empty = bytes(batchRequest([], guid, `${url}/people`, true).body);
  for (const operation of operations) {
    const { body } = batchRequest([operation], guid, `${url}/people`, true);
    assert(bytes(body) - empty <= bytesOf(operation), body);
  }
});

describe("a credential", () => {
  const expiresOn = new Date(Date.now() + 3_600_000);
  const permissions = { query: true, add: true, update: true, delete: true };
  const sas = (more = {}) =>
    generateTableSas("people", credential, { expiresOn, permissions, ...more });

  test("that is a signature is in the URL, and a GET needs no preflight", async () => {
    const { requests, fetch } = recorded(await openPeople());
    const signature = sas();
    for (const remote of [
      openRemote({ fetch, credential: { signature: `?${signature}` } }),
      openRemote({ fetch, url: `${url}?${signature}`, credential: undefined }),
    ]) {
      assert.equal((await remote.read("p\0none")).kind, "absent");
      const scan = { range: { from: "a" }, keysOnly: true, isFiltered: false };
      assert.equal((await remote.scan(scan)).kind, "page");
      for (const { headers, url: at } of requests.splice(0)) {
        assert.deepEqual([...headers.keys()], ["accept"]);
        assert.doesNotMatch(headers.get("accept") ?? "", /["():<>?@[\\\]{}\x7f]/);
        assert.equal(at.searchParams.get("sig"), new URLSearchParams(signature).get("sig"));
      }
      await remote.push(pushOf([inserted("p\0a")]), always); // the second remote's is refused
      assert.deepEqual([...(requests[0]?.headers.keys() ?? [])], ["accept", "content-type"]);
      requests.splice(0);
    }
  });

  test("with a range of keys forbids other keys, one by one", async () => {
    const range = { startPartitionKey: "p", endPartitionKey: "p" };
    const signature = sas(range);
    const remote = openRemote({ fetch: await openPeople(), credential: { signature } });
    assert.equal((await remote.read("p\0a")).kind, "absent");
    assert.equal((await remote.read("q\0a")).kind, "forbidden");
    const members = [inserted("q\0a")];
    const push = { partition: "q", token: guid, upTo: 1, groups: 1, members, idleKeys: [] };
    const { date: _, ...refused } = await remote.push(push, always);
    const code = "AuthorizationFailure";
    assert.deepEqual(refused, { kind: "refused", index: 0, status: 403, code });
  });

  test("that is a function is called once, and again after it was rejected", async () => {
    let calls = 0;
    const expired = { signature: sas({ expiresOn: new Date(1) }) };
    const remote = openRemote({
      fetch: await openPeople(),
      credential: async () => {
        calls += 1;
        if (calls === 1) throw new Error("offline");
        return calls === 2 ? expired : { signature: sas() };
      },
    });
    const push = pushOf([inserted("p\0a")]);
    const unsent = await remote.push(push, always);
    assert.deepEqual(unsent, { kind: "unauthorized", lacksCredential: true });
    const { date: _, ...rejected } = await remote.push(push, always);
    assert.deepEqual(rejected, { kind: "unauthorized" });
    assert.equal((await remote.read("p\0a")).kind, "unauthorized");
    assert.equal(calls, 2);
    await remote.refresh();
    assert.equal((await remote.push(push, always)).kind, "applied");
    assert.equal((await remote.read("p\0a")).kind, "found");
    assert.equal(calls, 3);
  });

  test("that an operation of a batch needs to be wider is asked for again", async () => {
    let calls = 0;
    const range = { startPartitionKey: "q", endPartitionKey: "q" };
    const credentials = async () => ({ signature: sas(++calls === 1 ? range : {}) });
    const remote = openRemote({ fetch: await openPeople(), credential: credentials });
    const name = { partition: "p", token: guid };
    const refused = await remote.fence(name, undefined);
    assert(refused.kind === "refused" && refused.status === 403);
    await remote.refresh();
    assert.equal((await remote.fence(name, undefined)).kind, "applied");
    assert.equal(calls, 2);
  });

  test("that does not come is waited for by later requests, not asked for twice", async (t) => {
    keepAlive(t);
    let calls = 0;
    let give: (value: typeof credential) => void = () => {};
    const remote = openRemote({
      fetch: await openPeople(),
      timeoutMs: 5,
      credential: () => {
        calls += 1;
        return new Promise((resolve) => {
          give = resolve;
        });
      },
    });
    for (let tries = 0; tries < 2; ++tries) {
      assert.equal((await remote.read("p\0a")).kind, "unauthorized");
      await remote.refresh();
    }
    give(credential);
    const isRead = async () => (await remote.read("p\0a")).kind === "absent";
    for (let tries = 0; tries < 100 && !(await isRead()); ++tries);
    assert(await isRead());
    assert.equal(calls, 1);
  });

  test("that expires amid a scan is replaced, and the scan continues", async () => {
    const rows = Array.from({ length: 5 }, (_, at) => [`p\0${at}`, x(at)] as const);
    const people = withQuery(await openPeople(new Map(rows)), "$top=2");
    let calls = 0;
    let expiredCalls = 0;
    const expiring: Fetch = (input, init) => {
      if (new URL(String(input)).searchParams.get("sig") !== expiredSig) return people(input, init);
      if (++expiredCalls === 1) return people(input, init);
      const error = '{"odata.error":{"code":"AuthenticationFailed"}}';
      return Promise.resolve(new Response(error, { status: 403 }));
    };
    const first = sas();
    const expiredSig = new URLSearchParams(first).get("sig");
    const second = sas({ expiresOn: new Date(Date.now() + 7_200_000) });
    const credentials = async () => ({ signature: ++calls === 1 ? first : second });
    const remote = openRemote({ fetch: expiring, credential: credentials });
    const keys: string[] = [];
    const request = { range: { from: "" }, keysOnly: true, isFiltered: false };
    for (let token: string | undefined; ; ) {
      const page = await remote.scan({ ...request, token });
      if (page.kind === "unauthorized") await remote.refresh();
      else {
        assert(page.kind === "page");
        keys.push(...page.rows.map(({ key }) => key));
        ({ token } = page);
        if (token === undefined) break;
      }
    }
    assert.deepEqual(
      keys,
      rows.map(([key]) => key),
    );
    assert.deepEqual([calls, expiredCalls], [2, 2]);
  });

  test("that was rejected is replaced once, however many requests had it", async () => {
    let calls = 0;
    const remote = openRemote({
      fetch: await openPeople(),
      credential: async () => ({
        signature: sas(++calls === 1 ? { expiresOn: new Date(1) } : {}),
      }),
    });
    const kinds = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { kind } = await remote.read("p\0a");
        await remote.refresh();
        return [kind, (await remote.read("p\0a")).kind];
      }),
    );
    assert.deepEqual(kinds, Array(8).fill(["unauthorized", "absent"]));
    assert.equal(calls, 2);
  });

  test("that has tokens is asked once for requests at the same time", async () => {
    let calls = 0;
    const getToken = async () => {
      calls += 1;
      return { token: "token", expiresOnTimestamp: Date.now() + 3_600_000 };
    };
    const remote = openRemote({ fetch: await openPeople(), credential: { getToken } });
    await Promise.all(Array.from({ length: 4 }, () => remote.read("p\0a")));
    assert.equal(calls, 1);
  });

  test("that has tokens is asked for another one after one was rejected", async () => {
    let calls = 0;
    const getToken = async () => ({
      token: `token ${++calls}`,
      expiresOnTimestamp: Date.now() + 3_600_000,
    });
    const rejecting: Fetch = async (_, init) => {
      const isFirst = new Headers(init?.headers).get("Authorization") === "Bearer token 1";
      const code = isFirst ? "InvalidAuthenticationInfo" : "ResourceNotFound";
      const error = JSON.stringify({ "odata.error": { code } });
      return new Response(error, { status: isFirst ? 401 : 404 });
    };
    const remote = openRemote({ fetch: rejecting, credential: { getToken } });
    for (let tries = 0; tries < 3; ++tries) {
      await remote.read("p\0a");
      await remote.refresh();
    }
    assert.equal(calls, 2);
  });

  test("that has tokens is asked for one, and again before it expires", async () => {
    const { requests, fetch } = recorded(await openPeople());
    const scopes: (string | string[])[] = [];
    let wallMs = 0;
    const getToken = async (scope: string | string[]) => {
      scopes.push(scope);
      return { token: `token ${scopes.length}`, expiresOnTimestamp: wallMs + 3_600_000 };
    };
    const remote = openRemote({
      fetch,
      credential: { getToken },
      now: () => ({ monotonicMs: 0, wallMs }),
    });
    for (wallMs of [0, 3_000_000, 3_500_000]) await remote.read("p\0a");
    assert.deepEqual(scopes, Array(2).fill("https://storage.azure.com/.default"));
    const sent = requests.map(({ headers }) => headers.get("Authorization"));
    assert.deepEqual(sent, ["Bearer token 1", "Bearer token 1", "Bearer token 2"]);
  });

  test("is signed with the service's time if this machine's clock is wrong", async () => {
    const strict: Fetch = async (input, init) => {
      const signedAt = Date.parse(new Headers(init?.headers).get("x-ms-date") ?? "");
      const date = new Date().toUTCString();
      if (Math.abs(signedAt - Date.now()) < 900_000) return people(input, init);
      const error = '{"odata.error":{"code":"AuthenticationFailed"}}';
      return new Response(error, { status: 403, headers: { Date: date } });
    };
    const people = await openPeople();
    const now = () => ({ monotonicMs: 0, wallMs: Date.now() - 200 * 86_400_000 });
    const remote = openRemote({ fetch: strict, now });
    assert.equal((await remote.read("p\0a")).kind, "unauthorized");
    assert.equal((await remote.read("p\0a")).kind, "absent");
  });

  test("of a named account signs its name and the path", async () => {
    const { requests, fetch } = recorded(await openPeople());
    await openRemote({ fetch }).read("p\0o'x");
    const [{ headers }] = requests as [Sent];
    assert.match(headers.get("Authorization") ?? "", new RegExp(`^SharedKeyLite ${account}:`));
    assert.equal(headers.get("x-ms-version"), "2019-02-02");
  });
});

describe("a response", () => {
  const answer = (status: number, body: string, headers = {}) =>
    openRemote({
      fetch: async () => new Response(body, { status, headers }),
      profile: profileOf("azure"),
    });

  test("has the server's time, if it can be read", async () => {
    const headers = { Date: "Thu, 26 Nov 2026 12:12:57 GMT" };
    const dated = await answer(500, "", headers).read("p\0a");
    assert.deepEqual(dated, {
      kind: "failed",
      retryAfterMs: undefined,
      date: 17_956_951_770_000_000n,
    });
    assert.equal("date" in (await answer(500, "").read("p\0a")), false);
  });

  test("has the time to wait: seconds, a date, or Cosmos DB's milliseconds; at most 5 minutes", async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toUTCString();
    const wait = async (headers: Record<string, string>) => {
      const found = await answer(429, "", headers).read("p\0a");
      assert.equal(found.kind, "failed");
      return (found as { retryAfterMs?: number }).retryAfterMs;
    };
    assert.equal(await wait({ "Retry-After": "7" }), 7000);
    assert.equal(await wait({ "Retry-After": "86400" }), 300_000);
    assert.equal(await wait({ "Retry-After": "x" }), undefined);
    assert.equal(await wait({ "Retry-After": at(-60_000) }), undefined);
    assert.equal(await wait({ "x-ms-retry-after-ms": "12", "Retry-After": "1" }), 12);
    const later = (await wait({ "Retry-After": at(60_000) })) ?? 0;
    assert(later > 55_000 && later <= 60_000);
  });

  test("has the time to wait until a date of the service's clock", async () => {
    const clock = Date.parse("2020-01-01T00:00:00Z"); // far from that of this machine
    const later = new Date(clock + 60_000).toUTCString();
    const headers = { Date: new Date(clock).toUTCString(), "Retry-After": later };
    const found = await answer(503, "", headers).read("p\0a");
    assert(found.kind === "failed" && found.retryAfterMs === 60_000);
  });

  test("may be slow, but must continue", async () => {
    const entity = JSON.stringify({
      "odata.etag": "1",
      PartitionKey: "p",
      RowKey: "a",
      Timestamp: "2020-07-24T14:34:48Z",
    });
    const slow = (chunks: number): Fetch => {
      const step = Math.ceil(entity.length / chunks);
      return async () => {
        let at = 0;
        const body = new ReadableStream({
          async pull(to) {
            await delay(20);
            to.enqueue(new TextEncoder().encode(entity.slice(at, at + step)));
            at += step;
            if (at >= entity.length) to.close();
          },
        });
        return new Response(body);
      };
    };
    const read = (chunks: number) =>
      openRemote({ fetch: slow(chunks), timeoutMs: 50 }).read("p\0a");
    assert.equal((await read(8)).kind, "found");
    assert.equal((await read(entity.length)).kind, "failed");
  });

  test("is not held in memory until its time limit ends", async () => {
    const { requests, fetch } = recorded(async () => new Response("text"));
    await openRemote({ fetch }).read("p\0a");
    const [{ init }] = requests as [Sent];
    assert.deepEqual(getEventListeners(init?.signal as AbortSignal, "abort"), []);
  });

  test("about an entity is only the service's if its body is", async () => {
    const kinds = async (status: number, body: string) =>
      (await answer(status, body).read("p\0a")).kind;
    const error = (code: string) => JSON.stringify({ "odata.error": { code } });
    const etag = "W/\\\"datetime'2020-07-24T14%3A34%3A48.4767Z'\\\"";
    const entity = (row: string) => `{"odata.etag":"${etag}","PartitionKey":"p","RowKey":"${row}"}`;
    assert.equal(await kinds(200, entity("a")), "found");
    assert.equal(await kinds(200, entity("b")), "failed");
    assert.equal(await kinds(200, entity("a").slice(0, -1)), "failed");
    assert.equal(await kinds(404, error("ResourceNotFound")), "absent");
    assert.equal(await kinds(404, error("EntityNotFound")), "absent");
    assert.equal(await kinds(404, error("TableNotFound")), "tableMissing");
    assert.equal(await kinds(409, error("TableBeingDeleted")), "tableMissing");
    assert.equal(await kinds(403, error("AuthorizationFailure")), "unauthorized");
    assert.equal(await kinds(403, error("AuthenticationFailed")), "unauthorized");
    assert.equal(await kinds(401, error("NoAuthenticationInformation")), "unauthorized");
    assert.equal(await kinds(400, error("InvalidAuthenticationInfo")), "unauthorized");
    for (const body of ["", "<html></html>", "[]", "null", error("")]) {
      for (const status of [200, 302, 401, 403, 404, 410, 500]) {
        assert.equal(await kinds(status, body), "failed", `${status} ${body}`);
      }
    }
  });
});
