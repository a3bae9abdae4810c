// Tests which URLs the adapters recognise as the Table service's.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAccountUrl, serviceUrlPattern } from "../../web/src/rest/service-url.ts";

function check(takes: (url: string) => boolean, good: string[], bad: string[]): void {
  for (const url of good) assert(takes(url), url);
  for (const url of bad) assert(!takes(url), url);
}

describe("urls", () => {
  test("of every account", () => {
    const pattern = serviceUrlPattern();
    check(
      (url) => pattern.test(url),
      [
        "https://shop.table.core.windows.net/Tables",
        "https://shop-secondary.table.core.windows.net",
        "HTTP://SHOP.TABLE.CORE.WINDOWS.NET?comp=list",
        "http://127.0.0.1:10002/devstoreaccount1",
        "http://localhost:10002/devstoreaccount1/Tables",
        "http://[::1]:10002/devstoreaccount1",
      ],
      [
        "https://shop.blob.core.windows.net/",
        "https://shop.table.core.windows.net.evil.example/",
        "https://evil.example/shop.table.core.windows.net/",
        "https://evil.example/?:10002/",
        "http://127.0.0.1:10001/devstoreaccount1",
        "http://127.0.0.1:100021/devstoreaccount1",
        "ftp://shop.table.core.windows.net/",
      ],
    );
  });

  test("that begin with a base URL", () => {
    const pattern = serviceUrlPattern("https://Tables.test:444/a+b/shop/");
    const good = ["https://tables.test:444/a+b/shop", "https://tables.test:444/a+b/shop/Tables"];
    const bad = [
      "https://tables.test:444/a+b/shopping",
      "https://tables.test:444/aab/shop",
      "https://tables-test:444/a+b/shop",
      "https://tables.test/a+b/shop",
    ];
    check((url) => pattern.test(url), good, bad);
    assert.equal(serviceUrlPattern(/x/).source, "x");
    for (const base of ["/shop", "", "shop.example", "ws://shop.example"]) {
      assert.throws(() => serviceUrlPattern(base), { code: "ValidationFailed" });
    }
  });

  test("of one account", () => {
    check(
      (url) => isAccountUrl(new URL(url), "Shop", "https://site.example"),
      [
        "https://shop.table.core.windows.net/Tables",
        "https://shop-secondary.table.core.windows.net/Tables",
        "http://shop.table.localhost:5000/",
        "http://127.0.0.1:10002/shop/Tables",
        "http://emulator:10002/shop-secondary",
        "https://site.example/SHOP/Tables",
      ],
      [
        "https://other.table.core.windows.net/shop",
        "https://shops.table.core.windows.net/",
        "http://127.0.0.1:10002/other/shop",
        "http://127.0.0.1:10002/",
        "https://cdn.example/shop/logo.png",
        "https://site.example/shopping",
        "https://site.example/img/shop/",
        "data:text/plain,shop",
      ],
    );
  });
});
