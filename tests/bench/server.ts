// Compares the package's Node server with Azurite, both in memory, by the official client over
// loopback. Also measures the same client over a store in this process (httpClient). To find the
// client's own share of a call, the client is also measured with recorded responses; the remaining
// time is compared too. Rounds run in shuffled order; the figures are medians. All servers must
// give equal results.
//
//   server [entities] [--write]     default 10,000; --write puts the table into README.md

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { TableClient } from "@azure/data-tables";
import type { HttpClient } from "../../web/src/types.ts";
import { spawnAzurite } from "../differential/backends.ts";
import { openStore, packageFolder } from "../web/support/package.ts";
import { emulatorKey } from "../web/support/server-process.ts";
import {
  CannedHeaders,
  type CannedResponse,
  CannedSequence,
  CannedServer,
  Recorder,
} from "./support/canned.ts";
import { markdownTable, writeTable } from "./support/readme.ts";
import { type Step, steps } from "./support/sdk-workload.ts";

const entities = Number(process.argv[2]?.match(/^\d+$/)?.[0] ?? 10_000);
const rounds = 3;
const work = steps(entities);

function client(base: string, httpClient?: HttpClient): TableClient {
  const connection = `AccountName=devstoreaccount1;AccountKey=${emulatorKey};TableEndpoint=${base}`;
  return TableClient.fromConnectionString(`DefaultEndpointsProtocol=http;${connection}`, "rows", {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
    ...(httpClient === undefined ? {} : { httpClient: httpClient as never }),
  });
}

// ---- Who answers --------------------------------------------------------------------------------

interface Responder {
  table: TableClient;
  child?: ChildProcess; // the process whose processor time and memory are measured
  before?(step: Step): Promise<void>;
  stop(): Promise<void>;
}

async function ofProcess(child: ChildProcess, base: string): Promise<Responder> {
  const exited = once(child, "exit");
  const table = client(base);
  await table.createTable();
  const stop = async () => {
    child.kill();
    await exited;
  };
  return { table, child, stop };
}

async function azurite(): Promise<Responder> {
  const { child, base } = await spawnAzurite();
  return await ofProcess(child, base);
}

async function server(): Promise<Responder> {
  const command = fileURLToPath(new URL("dist/server/cli.js", packageFolder));
  const child = spawn(process.execPath, [command, "serve", "--port", "0", "--in-memory"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return await ofProcess(child, line.toString().split(" ")[0] as string);
}

const account = { name: "devstoreaccount1", keys: [emulatorKey], authorize: true };
const inPage = "http://127.0.0.1:10002/devstoreaccount1";

async function inThisProcess(): Promise<Responder> {
  const store = await openStore({ persistence: "memory", account });
  const table = client(inPage, store.httpClient);
  await table.createTable();
  return { table, stop: () => store.close() };
}

// Records the responses of a store to one run of each step.
async function record(): Promise<Map<string, CannedResponse[]>> {
  const store = await openStore({ persistence: "memory", account });
  const recorded = new Map<string, CannedResponse[]>();
  await client(inPage, store.httpClient).createTable();
  for (const step of work) {
    const recorder = new Recorder(store.httpClient);
    const table = client(inPage, recorder);
    recorded.set(step.name, []);
    for (let i = 0; i < step.warming + step.times; ++i) {
      recorder.responses.length = 0;
      await step.run(table, i);
      if (i === 0) recorded.set(step.name, [...recorder.responses]);
    }
  }
  await store.close();
  return recorded;
}

const recorded = await record();

async function cannedResponder(): Promise<Responder> {
  let round = new CannedSequence([]);
  const transport: HttpClient = {
    async sendRequest(request) {
      const { status, headers, body } = round.next();
      return { request, status, headers: new CannedHeaders(headers), bodyAsText: body };
    },
  };
  return {
    table: client(inPage, transport),
    async before({ name }) {
      round = new CannedSequence(recorded.get(name) ?? []);
    },
    async stop() {},
  };
}

async function node(): Promise<Responder> {
  const canned = await CannedServer.start();
  return {
    table: client(canned.base),
    child: canned.child,
    before: ({ name }) => canned.answer(recorded.get(name) ?? []),
    stop: () => canned.stop(),
  };
}

const responders = { azurite, server, inThisProcess, canned: cannedResponder, node };
type ResponderId = keyof typeof responders;
const responderIds = Object.keys(responders) as ResponderId[];

// ---- Measuring ----------------------------------------------------------------------------------

interface Figures {
  start: number; // seconds until the table exists
  seconds: Map<string, number>; // seconds per operation
  busy: Map<string, number>; // processor seconds of the server's process per operation
  memory: number; // megabytes at the end
}

// The results of each step, by responder. Each is compared with the first responder's.
const answers = new Map<string, number>();

async function measure(who: ResponderId): Promise<Figures> {
  const began = performance.now();
  const { table, child, before, stop } = await responders[who]();
  const start = (performance.now() - began) / 1000;
  const seconds = new Map<string, number>();
  const busy = new Map<string, number>();
  for (const step of work) {
    await before?.(step);
    let sum = 0;
    for (let i = 0; i < step.warming; ++i) sum += await step.run(table, i);
    const [from, busyFrom] = [performance.now(), busyOf(child)];
    for (let i = 0; i < step.times; ++i) sum += await step.run(table, step.warming + i);
    const operations = step.times * step.each;
    seconds.set(step.name, (performance.now() - from) / 1000 / operations);
    busy.set(step.name, (busyOf(child) - busyFrom) / operations);
    if (before === undefined && (answers.get(step.name) ?? sum) !== sum) {
      throw new Error(`${who} answers "${step.name}" in another way: ${sum}`);
    }
    if (before === undefined) answers.set(step.name, sum);
  }
  const memory = child === undefined ? 0 : memoryOf(child);
  await stop();
  return { start, seconds, busy, memory };
}

// Returns the processor time in seconds that all threads of a process have used. Other work on the
// machine does not increase it.
function busyOf(child: ChildProcess | undefined): number {
  if (child === undefined) return 0;
  const tasks = `/proc/${child.pid}/task`;
  const ofTask = (task: string) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  return readdirSync(tasks).reduce((sum, task) => sum + ofTask(task), 0) / 1e9;
}

function memoryOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

const figures = new Map<ResponderId, Figures[]>(responderIds.map((who) => [who, []]));
for (let round = 0; round < rounds; ++round) {
  const order = responderIds
    .map((who) => ({ who, sortKey: Math.random() }))
    .sort((a, b) => a.sortKey - b.sortKey);
  for (const { who } of order) {
    console.error(`round ${round + 1} of ${rounds}: ${who}…`);
    figures.get(who)?.push(await measure(who));
  }
}

// ---- Telling ------------------------------------------------------------------------------------

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] as number;
const of = (who: ResponderId, value: (figures: Figures) => number) =>
  median((figures.get(who) ?? []).map(value));

const n = (value: number, digits = 2) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
const shown = (value: number) => n(value, value < 10 ? 2 : value < 100 ? 1 : 0);
const ratio = (a: number, b: number) => (b <= 0 ? "–" : `${n(a / b, 1)} ×`);

// Returns the rows that compare two servers, also without `floor`, the share that neither can
// avoid.
function compared(
  what: "seconds" | "busy",
  title: string,
  ours: ResponderId,
  floorTitle: string,
  floor: ResponderId,
): string {
  const inAll = (who: ResponderId) => (step: Step) =>
    of(who, (figures) => (figures[what].get(step.name) ?? 0) * step.scale);
  const [theirTime, ourTime, floorTime] = [inAll("azurite"), inAll(ours), inAll(floor)];
  const rows = work.map((step) => {
    const [theirs, own, least] = [theirTime(step), ourTime(step), floorTime(step)];
    const shares = [theirs - least, own - least] as const;
    const times = [theirs, own, ...shares, least].map(shown);
    const [a = "", b = "", c = "", d = "", e = ""] = times;
    return [`${step.name}, ${step.unit}`, a, b, ratio(theirs, own), e, c, d, ratio(...shares)];
  });
  const shares = ["own share: Azurite", title, "ratio"];
  const columns = [`${n(entities, 0)} entities`, "Azurite", title, "ratio", floorTitle, ...shares];
  return markdownTable(columns, rows);
}

function startAndMemory(): string {
  const rows = (["start", "memory"] as const).map((what) => {
    const [theirs, ours] = [of("azurite", (f) => f[what]), of("server", (f) => f[what])];
    const name = what === "start" ? "from start to the first table, s" : "memory at the end, MB";
    return [name, shown(theirs), shown(ours), ratio(theirs, ours)];
  });
  return markdownTable(["", "Azurite", "server", "ratio"], rows);
}

const tables = [
  "Through the server, elapsed time:\n",
  compared("seconds", "server", "server", "client and HTTP alone", "node"),
  "Processor time of the server process, which other work on the machine does not lengthen:\n",
  compared("busy", "server", "server", "HTTP alone", "node"),
  startAndMemory(),
  "Without HTTP, elapsed time:\n",
  compared("seconds", "httpClient", "inThisProcess", "client alone", "canned"),
].join("\n");
console.log(tables);
if (process.argv.includes("--write")) writeTable("server", tables);
