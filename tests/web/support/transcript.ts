// The same requests wherever a store for tests is, and all that comes back as text: for comparing places byte by byte. Runs in Node,
// pages and workers alike.

import type { MockOptions } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";

export type Ask = (url: string, init?: RequestInit) => Promise<Response>;

// The same everywhere: it stands in answers. Nobody need listen there.
export const address = "http://127.0.0.1:10002/mock";

// All that chance has a part in.
export const options: MockOptions = {
  account: { name: "mock" },
  seed: 7,
  latency: { lognormal: { median: 10, p99: 100 } },
  emptyPages: 0.5,
  faults: [
    { on: "insert", probability: 0.3, respond: { code: "ServerBusy", retryAfter: 1 } },
    { on: "delete", delayMs: [100, 200], times: 2 },
  ],
  fixtures: {
    people: ["d", "e", "f"].map((rowKey) => ({ partitionKey: "q", rowKey, größe: 1.5 })),
  },
};

const json = { "Content-Type": "application/json" };
const full = { headers: { Accept: "application/json;odata=fullmetadata" } };
const insert = (row: string): [string, RequestInit] => [
  "people",
  {
    method: "POST",
    headers: json,
    body: JSON.stringify({ PartitionKey: "p", RowKey: row, [`${row}1`]: 1.5, all: "\u20ac" }),
  },
];
const remove: RequestInit = { method: "DELETE", headers: { "If-Match": "*" } };
const batch = [
  "--b",
  "Content-Type: multipart/mixed; boundary=c",
  "",
  ...["x", "y"].flatMap((row) => [
    "--c",
    "Content-Type: application/http",
    "Content-Transfer-Encoding: binary",
    "",
    `POST ${address}/people HTTP/1.1`,
    "Content-Type: application/json",
    "Accept: application/json",
    "",
    JSON.stringify({ PartitionKey: "b", RowKey: row, two: row, one: 1 }),
  ]),
  "--c--",
  "--b--",
  "",
].join("\r\n");
const group: [string, RequestInit] = [
  "$batch",
  { method: "POST", headers: { "Content-Type": "multipart/mixed; boundary=b" }, body: batch },
];

const requests: [path: string, init?: RequestInit][] = [
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"others"}' }],
  ["Tables", { method: "POST", headers: json, body: '{"TableName":"people"}' }],
  ...["c", "a", "b", "a", "g", "h", "i"].map(insert),
  ["people(PartitionKey='p',RowKey='a')"],
  ["people(PartitionKey='p',RowKey='nobody')"],
  ["people()?$filter=all%20eq"],
  group,
  group,
  ["people()", full],
  ["people()?$top=2", full],
  ["people()?$filter=PartitionKey%20eq%20'q'"],
  ["Tables()"],
  ["people(PartitionKey='b',RowKey='x')", remove],
  ["people(PartitionKey='b',RowKey='y')", remove],
  ["people()"],
  ["?restype=service&comp=properties"],
];

// What belongs to the connection is not the store's.
const ofTheConnection = ["connection", "content-length", "keep-alive", "transfer-encoding"];

export async function transcript(ask: Ask): Promise<string> {
  const said: string[] = [];
  for (const [path, init] of requests) {
    const answer = await ask(`${address}/${path}`, init);
    const headers = [...answer.headers]
      .filter(([name]) => !ofTheConnection.includes(name))
      .map(([name, value]) => `${name}: ${value}`)
      .sort();
    const body = new Uint8Array(await answer.arrayBuffer());
    said.push([answer.status, answer.statusText, ...headers, octets(body)].join("\n"));
  }
  return said.join("\n\n");
}

export function transcriptOf(store: Store): Promise<string> {
  return transcript((url, init) => store.fetch(url, init));
}

export async function digest(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function octets(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}
