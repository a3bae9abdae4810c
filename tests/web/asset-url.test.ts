// Tests finding the files that the package loads by URL. tests/fixtures does so in real tools.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { StoreError } from "../../web/src/errors.ts";
import { absoluteUrl, movedPackageFolder } from "../../web/src/util/asset-url.ts";

describe("an absolute URL", () => {
  const page = globalThis as { document?: { baseURI: string }; location?: { href: string } };
  after(() => {
    delete page.document;
    delete page.location;
  });

  test("needs a page for a path", () => {
    assert.equal(absoluteUrl("http://site/a.wasm").href, "http://site/a.wasm");
    assert.throws(() => absoluteUrl("/a.wasm"), TypeError);
    page.location = { href: "http://site/app/" };
    assert.equal(absoluteUrl("/a.wasm").href, "http://site/a.wasm");
    page.document = { baseURI: "http://site/base/" };
    assert.equal(absoluteUrl("a.wasm").href, "http://site/base/a.wasm");
  });

  test("is made of an object that only looks like a URL", () => {
    const path = { href: "/a.wasm", protocol: "", toString: () => "/a.wasm" };
    assert.equal(absoluteUrl(path as URL).href, "http://site/a.wasm");
  });
});

// Serves what Vite's dev server serves, and its page for every other path.
const json = "application/json";
const script = "text/javascript";
let served: Record<string, [type: string, body: string]> = {};
let requests: string[] = [];
let server: Server;
let origin = "";
before(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const [type, body] = served[request.url ?? ""] ?? ["text/html", "<!doctype html>"];
    response.setHeader("content-type", type).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => server.close());

async function found(path: string, paths: typeof served): Promise<string | undefined> {
  served = paths;
  requests = [];
  return (await movedPackageFolder(new URL(`${origin}${path}`)))?.href.replace(origin, "");
}

describe("the package's folder on Vite's dev server", () => {
  const name = "entitable.core.wasm";
  const resolved = (base: string) => `${base}@id/entitable/${name}?import&url`;

  test("is not looked for if the code is where it was", async () => {
    for (const path of [
      `/assets/${name}`,
      `/node_modules/entitable/dist/wasm/${name}`,
      `/node_modules/.vite/deps/entitable/dist/wasm/${name}`,
      `/deps/${name}`,
    ]) {
      assert.equal(await found(path, {}), undefined, path);
      assert.deepEqual(requests, [], path);
    }
  });

  test("is in the root of the site", async () => {
    for (const base of ["/", "/under/"]) {
      const there = { [`${base}node_modules/entitable/package.json`]: [json, "{}"] } as const;
      for (const folder of [
        "node_modules/.vite",
        "@fs/home/site/node_modules/.cache/vite/client",
      ]) {
        const path = `${base}${folder}/deps/${name}`;
        assert.equal(await found(path, there as never), `${base}node_modules/entitable/`, path);
      }
    }
  });

  test("is above the root of the site, as in a workspace", async () => {
    const files = "/under/@fs/home/node_modules/entitable/";
    const there: typeof served = {
      [resolved("/under/")]: [script, `export default "${files}dist/wasm/${name}"`],
    };
    assert.equal(await found(`/under/node_modules/.vite/deps/${name}`, there), files);
  });

  test("or an error with the line to add", async () => {
    await assert.rejects(found(`/node_modules/.vite/deps/${name}`, {}), (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.equal(error.code, "WasmLoadFailed");
      const line = 'optimizeDeps: { exclude: ["entitable"] }';
      assert.ok(error.message.includes(line) && error.hint?.includes(line));
      return true;
    });
  });
});
