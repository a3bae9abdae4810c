// The two backends that are compared: Azurite in its own process, and a store of the package in
// this process.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import type { Readable } from "node:stream";
import { openStore } from "../web/support/package.ts";
import type { Backend, RawRequest, RawResponse } from "./request.ts";
import { account, key } from "./sign.ts";

const responseTimeoutMs = 60_000; // how long to wait for a response

// Starts Azurite, in memory and without output; with HTTPS if `options` have a certificate. Azurite
// does not report a port that the system chose, so it is started with a free one.
export async function spawnAzurite(
  options: readonly string[] = [],
): Promise<{ child: ChildProcess; base: string }> {
  const port = await freePort();
  const main = createRequire(import.meta.url).resolve("azurite/dist/src/table/main.js");
  const where = ["--tableHost", "127.0.0.1", "--tablePort", `${port}`, "--inMemoryPersistence"];
  const lenientFlags = ["--skipApiVersionCheck", "--loose", "--silent", "--disableTelemetry"];
  const child = spawn(process.execPath, [main, ...where, ...lenientFlags, ...options], {
    cwd: tmpdir(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await started(child.stdout);
  const scheme = options.includes("--cert") ? "https" : "http";
  return { child, base: `${scheme}://127.0.0.1:${port}/${account}` };
}

export async function startAzurite(): Promise<Backend> {
  const { child, base } = await spawnAzurite();
  const exited = once(child, "exit");
  const agent = new Agent({ keepAlive: true });
  return {
    base,
    batchTable: "$batch",
    send: (request) => sendOverHttp(agent, request),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      child.kill("SIGKILL");
      await exited;
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function started(output: Readable): Promise<void> {
  let said = "";
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    said += chunk;
    if (said.includes("successfully started")) return void output.resume();
  }
  throw new Error(`Azurite did not start: ${said}`);
}

// Sends a request without changes; fetch would normalize it.
async function sendOverHttp(agent: Agent, raw: RawRequest): Promise<RawResponse> {
  const { hostname, port } = new URL(raw.url);
  const path = raw.url.slice(raw.url.indexOf("/", "http://".length));
  const body = raw.body === undefined ? undefined : Buffer.from(raw.body);
  const headers = raw.headers.flat();
  headers.push("Host", `${hostname}:${port}`);
  if (body !== undefined) headers.push("Content-Length", `${body.length}`);
  const signal = AbortSignal.timeout(responseTimeoutMs);
  const request = httpRequest({ agent, hostname, port, path, method: raw.method, headers, signal });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  request.end(body);
  const [response] = await answered;
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    headers: new Map(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: Buffer.concat(chunks).toString(),
  };
}

// Returns a backend over a store that responds to requests to `base`.
export async function openEntitable(base: string): Promise<Backend> {
  const store = await openStore({
    persistence: "memory",
    account: { name: account, keys: [key], authorize: true },
  });
  return {
    base,
    async send(raw) {
      const request = new Request(raw.url, {
        method: raw.method,
        headers: raw.headers.map(([name, value]): [string, string] => [name, value]),
        body: raw.body ?? null,
      });
      if (request.url !== raw.url) throw new Error(`not as it stands: ${raw.url}`);
      const response = await store.fetch(request);
      return {
        status: response.status,
        headers: new Map(response.headers),
        body: await response.text(),
      };
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}
