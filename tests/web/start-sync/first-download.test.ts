// A first download that is killed continues where it was: it repeats one page of each range.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ServedRequest } from "../../../web/src/server/served-request.ts";
import { openStore, packageFolder } from "../support/package.ts";
import { emulatorKey } from "../support/server-process.ts";
import { table } from "../support/synced-store.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

const script = fileURLToPath(new URL("../support/sync-downloader.ts", import.meta.url));
const partitions = 40;
const partitionRows = 1000;
const rows = partitions * partitionRows;
const ranges = 4; // that a table is divided into
const account = "devstoreaccount1";
const bytesMin = 1000; // a scan that begins after the last row of a partition has empty pages

class Remote {
  readonly url: string;
  pages = 0; // with whole entities
  onPage: () => void = () => {};
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async open(): Promise<Remote> {
    const keys = [emulatorKey];
    const store = await openStore({ persistence: "memory", account: { name: account, keys } });
    const onRequest = ({ method, responseBytes, url }: ServedRequest) => {
      const isScan = method === "GET" && url.includes("()") && !/select|top/.test(url);
      if (!isScan || responseBytes < bytesMin) return;
      remote.pages += 1;
      remote.onPage();
    };
    const server = await serve(store, { port: 0, onRequest });
    const remote: Remote = new Remote(`${server.url}/${account}`, async () => {
      await server.close();
      await store.close();
    });
    const people = store.table(table);
    await people.createTable();
    for (let i = 0; i < rows; i += 100) {
      const partitionKey = String(Math.floor(i / partitionRows)).padStart(3, "0");
      const group = Array.from({ length: 100 }, (_, k) => ({ partitionKey, rowKey: `${i + k}` }));
      await people.submitTransaction(group.map((entity) => ["create", entity] as const));
    }
    return remote;
  }

  close = () => this.#close();
}

function download(t: TestContext, path: string, { url }: Remote): ChildProcess {
  const child = spawn(process.execPath, [script, path, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "entitable-download-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Returns how many rows it has downloaded. */
async function ended(child: ChildProcess): Promise<number> {
  let out = "";
  child.stdout?.on("data", (text) => {
    out += text;
  });
  await once(child, "close");
  return Number(out);
}

test("a first download that is killed repeats at most one page of each range", async (t) => {
  const remote = await Remote.open();
  t.after(remote.close);
  assert.equal(await ended(download(t, folder(t), remote)), rows);
  const whole = remote.pages;
  assert(whole >= partitions && whole <= partitions + ranges, `${whole} pages`);

  const path = folder(t);
  const killed = download(t, path, remote);
  remote.pages = 0;
  remote.onPage = () => {
    if (remote.pages === whole >> 1) killed.kill("SIGKILL");
  };
  await once(killed, "close");
  assert(remote.pages < whole, "it had ended before");
  assert.equal(await ended(download(t, path, remote)), rows);
  t.diagnostic(`${remote.pages} pages of ${whole}`);
  assert(remote.pages <= whole + ranges, `${remote.pages} pages instead of ${whole}`);
});
