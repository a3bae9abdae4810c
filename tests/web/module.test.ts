// Tests finding, checking and instantiating the WebAssembly module, and its exports against the
// hand-written types.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { after, before, describe, test } from "node:test";
import { StoreError } from "../../web/src/errors.ts";
import { buildId } from "../../web/src/wasm/entitable.mjs";
import { instantiate } from "../../web/src/wasm/module.ts";
import { isModuleMissing } from "../../web/src/wasm/module-missing.ts";

const wasmUrl = new URL("../../web/src/wasm/entitable.wasm", import.meta.url);
const bytes = new Uint8Array(await readFile(wasmUrl));

const stale = bytes.slice();
// The build id is at the end of the file.
stale[stale.length - 1] = stale[stale.length - 1] === 0x30 ? 0x31 : 0x30;
let isStale = true; // whether /stale responds with another build

// Serves the file that the URL's path names.
let server: Server;
let origin = "";
let requests = 0;
before(async () => {
  server = createServer((request, response) => {
    ++requests;
    switch (request.url?.split("?")[0]) {
      case "/right":
        return response.setHeader("content-type", "application/wasm").end(bytes);
      case "/stale":
        return response.setHeader("content-type", "application/wasm").end(isStale ? stale : bytes);
      case "/octets":
        return response.setHeader("content-type", "application/octet-stream").end(bytes);
      case "/cut":
        return response.setHeader("content-type", "application/wasm").end(bytes.subarray(0, 5000));
      case "/html":
        return response.setHeader("content-type", "text/html").end("<!doctype html><p>hello");
      default:
        response.statusCode = Number(/^\/status-(\d+)/.exec(request.url ?? "")?.[1] ?? 404);
        return response.end("not found");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
after(() => server.close());

function fails(code: string, message?: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof StoreError);
    assert.equal(error.code, code);
    assert.ok(error.hint);
    if (message !== undefined) assert.match(error.message, message);
    return true;
  };
}

describe("the binary is loaded from", () => {
  test("a file beside the JavaScript, without options", async () => {
    assert.match((await instantiate()).version(), /^\d+\.\d+\.\d+$/);
  });
  test("a URL object, a file: text", async () => {
    for (const source of [wasmUrl, wasmUrl.href]) assert.ok(await instantiate(source));
  });
  test("an http: URL, streamed or not", async () => {
    assert.ok(await instantiate(`${origin}/right`));
    assert.ok(await instantiate(new URL(`${origin}/octets`)));
  });
  test("a Response", async () => {
    for (const path of ["right", "octets"])
      assert.ok(await instantiate(await fetch(`${origin}/${path}`)));
  });
  test("bytes: a view, a view into something larger, a buffer", async () => {
    const larger = new Uint8Array(bytes.length + 7);
    larger.set(bytes, 3);
    const sources = [bytes, larger.subarray(3, 3 + bytes.length), bytes.slice().buffer];
    for (const source of sources) assert.ok(await instantiate(source));
    assert.ok(await instantiate(new DataView(bytes.buffer, bytes.byteOffset, bytes.length)));
  });
  test("a compiled module", async () => {
    assert.ok(await instantiate(await WebAssembly.compile(bytes)));
  });
  test("a URL once: it is fetched and compiled once, even by concurrent calls", async () => {
    const before = requests;
    await Promise.all([1, 2, 3].map(() => instantiate(`${origin}/right?once`)));
    await instantiate(`${origin}/right?once`);
    assert.equal(requests - before, 1);
  });
  test("a URL again after a failure", async () => {
    const before = requests;
    for (let i = 0; i < 2; ++i) await assert.rejects(instantiate(`${origin}/missing`));
    assert.equal(requests - before, 2);
  });
});

describe("invalid modules are rejected", () => {
  test("404, HTML, cut off", async () => {
    await assert.rejects(instantiate(`${origin}/missing`), fails("WasmLoadFailed", /404/));
    await assert.rejects(
      instantiate(`${origin}/html`),
      fails("WasmLoadFailed", /not a WebAssembly/),
    );
    await assert.rejects(instantiate(`${origin}/cut`), fails("WasmLoadFailed"));
  });
  test("unreachable, nonsense, empty", async () => {
    await assert.rejects(instantiate("http://127.0.0.1:1/x"), fails("WasmLoadFailed"));
    await assert.rejects(instantiate("no url"), fails("WasmLoadFailed"));
    await assert.rejects(instantiate(new Uint8Array(0)), fails("WasmLoadFailed"));
    await assert.rejects(instantiate(5 as unknown as string), fails("WasmLoadFailed"));
  });
});

describe("an error says whether the file is no longer there, or may be found later", () => {
  const isMissing = async (source: Uint8Array | string) =>
    isModuleMissing(await instantiate(source).catch((error: unknown) => error));

  test("no longer there: 404, 410, HTML, another build", async () => {
    for (const path of ["missing", "status-403", "status-410", "html"])
      assert.equal(await isMissing(`${origin}/${path}`), true, path);
    assert.equal(await isMissing(stale), true);
  });
  test("may be found later: a server that is busy or fails, no connection, cut off", async () => {
    for (const path of [
      "status-408",
      "status-425",
      "status-429",
      "status-500",
      "status-503",
      "cut",
    ])
      assert.equal(await isMissing(`${origin}/${path}`), false, path);
    assert.equal(await isMissing("http://127.0.0.1:1/x"), false);
  });
});

describe("a binary of another build", () => {
  test("is rejected before it runs", async () => {
    await assert.rejects(instantiate(stale), fails("WasmVersionMismatch", new RegExp(buildId)));
  });
  test("is fetched again by the next attempt, when the server may have the right build", async () => {
    await assert.rejects(instantiate(`${origin}/stale`), fails("WasmVersionMismatch"));
    isStale = false;
    await instantiate(`${origin}/stale`);
  });
  test("is also one without a build id", async () => {
    const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    await assert.rejects(instantiate(empty), fails("WasmVersionMismatch", /found none/));
  });
});

describe("entitable/inline", () => {
  test("has the bytes of the complete module", async () => {
    const { wasm } = await import("../../web/src/inline.ts");
    assert.deepEqual(wasm, bytes);
    assert.match((await instantiate(wasm)).version(), /^\d+\.\d+\.\d+$/);
  });
});

describe("the module's exports", () => {
  test("are those of module.d.ts, no more and no less", async () => {
    const text = await readFile(new URL("../../bindings/module.d.ts", import.meta.url), "utf8");
    const body = /export interface EntitableModule \{([\s\S]*?)\n\}/.exec(text)?.[1] ?? "";
    const declared = [...body.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map((match) => match[1]);
    const module = (await instantiate()) as unknown as Record<string, unknown>;
    for (const name of declared) assert.ok((name as string) in module, `${name} is not there`);
    const functions = Object.keys(module).filter((name) => name.startsWith("_entitable_"));
    const bound = ["version", "stats", "damage", "verify", "configure"];
    assert.deepEqual(
      declared.filter((name) => !/^(HEAP|FS|IDBFS)/.test(name as string)).sort(),
      [...functions, ...bound].sort(),
    );
  });
  test("include the version of the package and of the build id", async () => {
    const file = await readFile(new URL("../../web/package.json", import.meta.url), "utf8");
    const { version } = JSON.parse(file) as { version: string };
    assert.equal((await instantiate()).version(), version);
    assert.ok(buildId.startsWith(`${version}-`));
  });
  test("leave no process listeners and print nothing", async () => {
    const events = ["uncaughtException", "unhandledRejection"];
    const count = () => events.map((event) => process.listenerCount(event));
    const before = count();
    await instantiate();
    assert.deepEqual(count(), before);
  });
});
