// Tests which account of a server a URL addresses.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RestEntryPoint } from "../../web/src/rest/entry-point.ts";
import { entryPointFor } from "../../web/src/server/account-routing.ts";

const entryPoints = new Map(
  ["one", "two"].map((name) => [name, { name } as unknown as RestEntryPoint]),
);
const accountOf = (url: string) =>
  (entryPointFor(entryPoints, url) as unknown as { name: string }).name;

test("the account is in the path or in the host", () => {
  for (const url of [
    "http://127.0.0.1:10002/two/people",
    "http://localhost:10002/two-secondary/people",
    "http://localhost/TWO",
    "https://two.table.core.windows.net/people",
    "https://two-secondary.table.core.windows.net",
    "https://TWO.localhost/people?x=/one/people",
    // a machine's name, which may be another account's
    "http://one.lan/two/people",
    "http://one.lan/two",
    "http://one.table.lan/two/people",
    "http://machine.table.lan/two?restype=service",
    "http://one/two/people",
  ]) {
    assert.equal(accountOf(url), "two", url);
  }
});

test("a table may have another account's name", () => {
  assert.equal(accountOf("https://one.table.core.windows.net/two"), "one");
  assert.equal(accountOf("https://one.table.core.windows.net/two/?$top=1"), "one");
  assert.equal(accountOf("https://one.table.core.windows.net/two()"), "one");
});

test("an unknown account gets the first store", () => {
  assert.equal(accountOf("http://127.0.0.1/three/people"), "one");
});
