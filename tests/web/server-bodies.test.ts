// Sends large bodies over many connections at once to a server process, without and with access.
// tests/soak bodies runs this with a thousand connections. Prints the server's resident memory.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { after, test } from "node:test";
import {
  emulatorKey,
  killAllServers,
  type ServerProcess,
  start,
} from "./support/server-process.ts";

const connections = Number(process.env["ENTITABLE_CONNECTIONS"] ?? 50);
const path = "/devstoreaccount1/people";
const body = Buffer.alloc(4_000_000, " ");

after(killAllServers);

// The resident memory now and at most, on Linux.
function memoryOf({ pid }: ServerProcess): string {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return "unknown memory";
  const status = readFileSync(file, "utf8");
  const megabytes = (name: string) =>
    Math.round(Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1]) / 1024);
  return `${megabytes("VmRSS")} MiB, at most ${megabytes("VmHWM")} MiB`;
}

function authorization(): string {
  const date = new Date().toUTCString();
  const signature = createHmac("sha256", Buffer.from(emulatorKey, "base64"))
    .update(`${date}\n/devstoreaccount1${path}`)
    .digest("base64");
  return `x-ms-date: ${date}\r\nAuthorization: SharedKeyLite devstoreaccount1:${signature}\r\n`;
}

// Sends one request on its own connection. Resolves to the status of the response. If it is
// rejected before its body is sent, the server reads on only while more arrives within a second. On
// a busy machine this process may be slower, and is then disconnected: it sends the request again.
async function post(served: ServerProcess, headers: string): Promise<string> {
  for (let tries = 5; ; --tries) {
    try {
      return await postOnce(served, headers);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (tries === 1 || (code !== "EPIPE" && code !== "ECONNRESET")) throw error;
    }
  }
}

function postOnce({ port }: ServerProcess, headers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (data) => {
      text += data;
    });
    socket.on("error", (error) => text === "" && reject(error));
    socket.on("close", () => resolve(text.slice(9, 12)));
    const head = `Host: 127.0.0.1\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}${headers}\r\n`);
    socket.write(body);
  });
}

async function statusCounts(served: ServerProcess, headers: string) {
  const statuses = await Promise.all(
    Array.from({ length: connections }, () => post(served, headers)),
  );
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test("a server survives many large bodies at once", async (t) => {
  const served = await start(["--in-memory"]);
  t.diagnostic(`${connections} connections of 4 MB. Resident memory before: ${memoryOf(served)}`);
  assert.deepEqual(await statusCounts(served, ""), { "403": connections });
  t.diagnostic(`${connections} without access: ${memoryOf(served)}`);
  const {
    "400": read = 0,
    "503": busy = 0,
    ...others
  } = await statusCounts(served, authorization());
  assert.deepEqual(others, {});
  assert.equal(read + busy, connections);
  assert(read > 0);
  t.diagnostic(`${read} with access were read, ${busy} got 503: ${memoryOf(served)}`);
  assert.equal((await fetch(`${served.endpoint()}/Tables`)).status, 403);
  await served.signal("SIGTERM");
});
