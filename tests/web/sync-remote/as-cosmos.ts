// Answers like Cosmos DB, as recordings of Azure's client libraries show it. A merge within a batch
// is refused if it is PATCH, and MERGE was not recorded. Errors of a batch have no index, a missing
// table is as absent as an entity, a filter by Timestamp returns nothing, rows are in the order in
// which they were inserted, and reads are old.

import type { Fetch } from "./support.ts";

interface Row {
  readonly PartitionKey: string;
  readonly RowKey: string;
}

interface Old {
  readonly at: number;
  readonly response: Response;
}

const pageRows = 7;

/** `staleMs`: how old a read may be. */
export function asCosmos(send: Fetch, staleMs = 0): Fetch {
  const orders = new Map<string, number>();
  const reads = new Map<string, Old>();
  const answer: Fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    if (pathname.endsWith("()")) return scanned(send, orders, input, init);
    const isUnknown = /^(PATCH|MERGE) /m.test(String(init?.body ?? ""));
    if (pathname.endsWith("$batch") && isUnknown) return inputError();
    if (pathname.endsWith("$batch")) note(orders, String(init?.body));
    return withoutTable(await send(input, init));
  };
  return async (input, init) => {
    const url = String(input);
    const at = performance.now();
    const old = reads.get(url);
    if (old && at - old.at < staleMs) return old.response.clone();
    const response = await answer(input, init);
    if (init?.method === "GET" && staleMs > 0) reads.set(url, { at, response: response.clone() });
    return response;
  };
}

function inputError(): Response {
  const message = { lang: "en-us", value: "One of the input values is invalid." };
  const error = { "odata.error": { code: "InvalidInput", message } };
  return new Response(JSON.stringify(error), { status: 400 });
}

/** Removes indexes, and what tells a missing table from an absent entity. */
async function withoutTable(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = (await response.text())
    .replace("TableNotFound", "ResourceNotFound")
    .replace("The table specified does not exist.", "The specified resource does not exist.")
    .replace(/"value":"\d+:/, '"value":"');
  const body = status === 204 || status === 304 ? null : text;
  return new Response(body, { status, headers });
}

function note(orders: Map<string, number>, text: string): void {
  for (const [, keys] of text.matchAll(/^\{("PartitionKey":"[^"]*","RowKey":"[^"]*")/gm)) {
    const key = JSON.stringify(JSON.parse(`{${keys}}`));
    if (!orders.has(key)) orders.set(key, orders.size);
  }
}

function orderOf(orders: Map<string, number>, { PartitionKey, RowKey }: Row): number {
  const key = JSON.stringify({ PartitionKey, RowKey });
  if (!orders.has(key)) orders.set(key, orders.size);
  return orders.get(key) as number;
}

async function scanned(
  send: Fetch,
  orders: Map<string, number>,
  input: Parameters<Fetch>[0],
  init: RequestInit | undefined,
): Promise<Response> {
  const url = new URL(String(input));
  const token = url.searchParams.get("NextPartitionKey");
  const most = Math.min(pageRows, Number(url.searchParams.get("$top") ?? pageRows));
  const isEmpty = url.searchParams.get("$filter")?.includes("Timestamp") ?? false;
  for (const name of ["NextPartitionKey", "NextRowKey", "$top"]) url.searchParams.delete(name);
  const rows: Row[] = [];
  for (;;) {
    const response = await send(url, init);
    if (response.status !== 200) return withoutTable(response);
    rows.push(...((await response.json()) as { value: Row[] }).value);
    const next = response.headers.get("x-ms-continuation-NextPartitionKey");
    if (next === null) break;
    url.searchParams.set("NextPartitionKey", next);
    const row = response.headers.get("x-ms-continuation-NextRowKey");
    if (row !== null) url.searchParams.set("NextRowKey", row);
  }
  // What was inserted by others counts as inserted in the reverse order of keys.
  const ordered = rows.reverse().map((row) => ({ row, order: orderOf(orders, row) }));
  ordered.sort((a, b) => a.order - b.order);
  const left = isEmpty ? [] : ordered.filter(({ order }) => order > Number(token ?? -1));
  const page = left.slice(0, most);
  const headers = new Headers();
  if (page.length < left.length) {
    headers.set("x-ms-continuation-NextPartitionKey", String(page.at(-1)?.order));
  }
  return new Response(JSON.stringify({ value: page.map(({ row }) => row) }), { headers });
}
