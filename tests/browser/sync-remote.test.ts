// Tests requests of sync from a page to another origin in real Chromium: how many of them need a
// preflight, and which headers of the responses the page can read.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import { generateTableSas } from "../../web/src/data-tables/sas.ts";
import type { Store } from "../../web/src/types.ts";
import { openStore } from "../web/support/package.ts";
import { newProfile, type Profile } from "./support/browser.ts";
import { type Site, serve } from "./support/server.ts";

type Sync = typeof import("./fixture/sync-remote-page.ts");

const account = "devstoreaccount1";
const key =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

let profile: Profile;
let context: BrowserContext;
let site: Site;
let store: Store;
let page: Page;
let url: string;
const methods: (string | undefined)[] = [];

/** Serves the store at another origin. */
async function answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
  methods.push(from.method);
  const chunks: Buffer[] = [];
  for await (const chunk of from) chunks.push(chunk as Buffer);
  const headers = new Headers();
  for (const [name, value] of Object.entries(from.headers)) headers.set(name, String(value));
  const { method = "GET" } = from;
  const body = chunks.length === 0 ? null : Buffer.concat(chunks);
  const request = new Request(`http://${from.headers.host}${from.url}`, { method, headers, body });
  const response = await store.fetch(request);
  to.writeHead(response.status, Object.fromEntries(response.headers));
  to.end(Buffer.from(await response.arrayBuffer()));
}

const server = createServer((from, to) => void answer(from, to));

/** The rule that sync needs, with these exposed headers. */
async function setCorsRule(exposed: string): Promise<void> {
  const rule = {
    AllowedMethods: "GET,POST",
    AllowedOrigins: new URL(site.url).origin,
    AllowedHeaders: "content-type,accept",
    ExposedHeaders: exposed,
    MaxAgeInSeconds: "7200",
  };
  const elements = Object.entries(rule).map(([name, text]) => `<${name}>${text}</${name}>`);
  const cors = `<Cors><CorsRule>${elements.join("")}</CorsRule></Cors>`;
  const body = `<StorageServiceProperties>${cors}</StorageServiceProperties>`;
  const set = await store.fetch(`${url}/?restype=service&comp=properties`, { method: "PUT", body });
  assert.equal(set.status, 202);
}

before(async () => {
  store = await openStore({ persistence: "memory", account: { name: account, keys: [key] } });
  const people = store.table("people");
  await people.createTable();
  for (const rowKey of ["1", "2", "3"]) await people.createEntity({ partitionKey: "p", rowKey });
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${account}`;
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("fixture/sync-remote-page.ts", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
  });
  const script = outputFiles[0]?.text ?? "";
  const override = (path: string) =>
    path === "/sync.js"
      ? { body: script, type: "text/javascript" }
      : { body: "<!doctype html><title>sync</title>" };
  site = await serve(fileURLToPath(new URL(".", import.meta.url)), { override });
  profile = await newProfile();
  context = await profile.open();
});

after(async () => {
  await context?.close();
  await profile?.remove();
  await site?.close();
  server.closeAllConnections();
  server.close();
  await store?.close();
});

beforeEach(async () => {
  page = await context.newPage();
  await page.goto(site.url);
  methods.length = 0;
});

const signature = () =>
  generateTableSas(
    "people",
    { name: account, key },
    {
      expiresOn: new Date(Date.now() + 3_600_000),
      permissions: { query: true, add: true, update: true, delete: true },
    },
  );

/** Reads and writes in the page. BigInts become texts. */
const used = () =>
  page.evaluate(
    async ({ url, signature }) => {
      const path = "/sync.js";
      const { Http, HttpRemote, probe, profileOf } = (await import(path)) as Sync;
      const now = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
      const http = new Http({ url, credential: { signature }, now });
      const probed = await probe(http, "people");
      if (probed.kind !== "probed") throw new Error(probed.kind);
      const options = { table: "people", client: "page", profile: profileOf("unknown") };
      const remote = new HttpRemote(http, options);
      const kinds: string[] = [];
      for (const key of ["p\u00001", "p\u00002", "q\u00001"])
        kinds.push((await remote.read(key)).kind);
      const range = { from: "" };
      kinds.push((await remote.scan({ range, keysOnly: true, isFiltered: false })).kind);
      const dates = new Set<boolean>();
      for (const partition of ["a", "b", "c"]) {
        const key = `${partition}\u0000${crypto.randomUUID()}`;
        const members = [{ key, base: { kind: "absent" } as const, intended: new Map() }];
        const token = crypto.randomUUID();
        const push = { partition, token, upTo: 1, groups: 1, members, idleKeys: [] };
        const answer = await remote.push(push, Number.POSITIVE_INFINITY);
        kinds.push(answer.kind);
        dates.add(answer.date !== undefined);
      }
      const { isComplete, isDateReadable, profile } = probed;
      const { canContinue } = profile;
      return { kinds, dates: [...dates], isComplete, isDateReadable, canContinue };
    },
    { url, signature: signature() },
  );

const kinds = ["found", "found", "absent", "page", "applied", "applied", "applied"];

describe("a page that syncs with another origin", () => {
  test("needs one preflight for all pushes, and none for reads", async () => {
    await setCorsRule("x-ms-continuation-NextPartitionKey,x-ms-continuation-NextRowKey,date");
    const found = await used();
    const readable = { isComplete: true, isDateReadable: true, canContinue: true };
    assert.deepEqual(found, { kinds, dates: [true], ...readable });
    const count = (name: string) => methods.filter((method) => method === name).length;
    assert.deepEqual([count("OPTIONS"), count("POST")], [1, 3]);
    assert.equal(methods.indexOf("OPTIONS"), methods.indexOf("POST") - 1);
  });

  test("works without exposed headers, but cannot read the date or continue a query", async () => {
    await setCorsRule("x-ms-request-id");
    const found = await used();
    const readable = { isComplete: true, isDateReadable: false, canContinue: false };
    assert.deepEqual(found, { kinds, dates: [false], ...readable });
  });
});
