// The process of BenchServer: `entitable serve` with tables in memory. Counts the requests that it
// serves.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { addSeed } from "../../../web/src/start-sync/seed.ts";
import { openStore, packageFolder } from "../../web/support/package.ts";
import { type Entity, entityAt } from "../peers/workload.ts";
import { answerCalls } from "./answer-calls.ts";
import type { Requests } from "./bench-server.ts";

const { serve }: typeof import("../../../web/src/server/serve.ts") = await import(
  new URL("dist/server/serve.js", packageFolder).href
);

const account = { name: "bench", permissiveCors: true };
// Loaded entities are older than what scans read again because of the overlap.
let behindMs = 0;
const clock = { now: () => Date.now() - behindMs };
const store = await openStore({ persistence: "memory", account, clock });
let requests: Requests = { all: 0, batches: 0, preflights: 0, pages: 0, responseBytes: 0 };
let lastBatchAt = 0;
const server = await serve(store, {
  port: 0,
  feed: process.argv.includes("--feed"),
  onRequest({ method, responseBytes, url }) {
    const isBatch = method === "POST" && url.includes("$batch");
    if (isBatch) lastBatchAt = Date.now();
    requests = {
      all: requests.all + 1,
      batches: requests.batches + (isBatch ? 1 : 0),
      preflights: requests.preflights + (method === "OPTIONS" ? 1 : 0),
      pages: requests.pages + (method === "GET" && url.includes("()") ? 1 : 0),
      responseBytes: requests.responseBytes + responseBytes,
    };
  },
});

const groupRows = 100;
const seedTicksBeforeMs = 1000; // so that the first scan reads what is written since
let seedServer: Server | undefined;

/** Returns the URL of a seed with what the tables have now. */
async function serveSeed(table: string): Promise<string> {
  const watermark = BigInt(Date.now() - seedTicksBeforeMs) * 10_000n;
  await addSeed(store, new Map([[table, [{ from: "", to: undefined, watermark }]]]));
  const snapshot = await store.snapshot();
  const bytes = Buffer.from(await new Response(snapshot).arrayBuffer());
  await store.table("EntitableSeed").deleteTable();
  seedServer = createServer((_, response) => {
    response.writeHead(200, { "Access-Control-Allow-Origin": "*" }).end(bytes);
  });
  await new Promise<void>((resolve) => seedServer?.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(seedServer.address() as AddressInfo).port}/seed`;
}

const calls = {
  url: () => `${server.url}/bench`,
  requests: () => requests,
  /** When the last batch was answered, in milliseconds since 1970. */
  lastBatchAt: () => lastBatchAt,

  /** `perPartition`: a multiple of 100. */
  async load(table: string, entities: number, perPartition: number): Promise<void> {
    behindMs = 3_600_000;
    const rows = store.table<Entity>(table);
    await rows.createTable();
    for (let i = 0; i < entities; i += groupRows) {
      const partition = Math.floor(i / perPartition);
      const partitionKey = `p${String(partition).padStart(5, "0")}`;
      const group = Array.from({ length: groupRows }, (_, k) => entityAt(i + k));
      await rows.submitTransaction(group.map((row) => ["create", { ...row, partitionKey }]));
    }
    behindMs = 0;
  },

  seed: serveSeed,

  /** How many entities of the table have this version. */
  async count(table: string, version: number): Promise<number> {
    return await store.table(table).count({ queryOptions: { filter: `version eq ${version}` } });
  },

  cpuMs: () => process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000,
};
export type ServerCalls = typeof calls;

answerCalls(calls);
