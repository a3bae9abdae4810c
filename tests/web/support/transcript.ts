// Sends the same requests to a mock store in any environment (Node, pages, workers) and records the
// responses as text, so that environments can be compared byte by byte.

import type { MockOptions } from "../../../web/src/testing/index.ts";
import type { Store } from "../../../web/src/types.ts";

export type SendRequest = (url: string, init?: RequestInit) => Promise<Response>;
export type Requests = readonly (readonly [path: string, init?: RequestInit])[];

// The same URL in all environments, because responses contain it. No server listens there.
export const address = "http://127.0.0.1:10002/mock";

// Options by which random values affect the responses.
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
const insert = (row: string) =>
  [
    "people",
    {
      method: "POST",
      headers: json,
      body: JSON.stringify({ PartitionKey: "p", RowKey: row, [`${row}1`]: 1.5, all: "\u20ac" }),
    },
  ] as const;
const remove: RequestInit = { method: "DELETE", headers: { "If-Match": "*" } };
const group = batchInsert(address);

const requests: Requests = [
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

export function transcript(send: SendRequest): Promise<string> {
  return recordResponses((path, init) => send(`${address}/${path}`, init), requests);
}

export function transcriptOf(store: Store): Promise<string> {
  return transcript((url, init) => store.fetch(url, init));
}

// ---- For other requests -------------------------------------------------------------------------

// Headers of the connection, which do not come from the store.
const connectionHeaders = ["connection", "content-length", "keep-alive", "transfer-encoding"];

/** Sends the requests in order. Resolves to a text with every response. */
export async function recordResponses(send: SendRequest, requests: Requests): Promise<string> {
  const responses: string[] = [];
  for (const [path, init] of requests) {
    const answer = await send(path, init);
    const headers = [...answer.headers]
      .filter(([name]) => !connectionHeaders.includes(name))
      .map(([name, value]) => `${name}: ${value}`)
      .sort();
    const body = new Uint8Array(await answer.arrayBuffer());
    responses.push([answer.status, answer.statusText, ...headers, octets(body)].join("\n"));
  }
  return responses.join("\n\n");
}

/** Builds a transaction that inserts (b, x) and (b, y) into the table people at an endpoint. */
export function batchInsert(account: string): readonly [path: string, init: RequestInit] {
  const inserts = ["x", "y"].flatMap((row) => [
    "--c",
    "Content-Type: application/http",
    "Content-Transfer-Encoding: binary",
    "",
    `POST ${account}/people HTTP/1.1`,
    "Content-Type: application/json",
    "Accept: application/json",
    "",
    JSON.stringify({ PartitionKey: "b", RowKey: row, two: row, one: 1 }),
  ]);
  const outside = ["--b", "Content-Type: multipart/mixed; boundary=c", ""];
  const body = [...outside, ...inserts, "--c--", "--b--", ""].join("\r\n");
  const headers = { "Content-Type": "multipart/mixed; boundary=b" };
  return ["$batch", { method: "POST", headers, body }];
}

export async function digest(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function octets(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}
