// What the direct door has no blocks for: these calls go through the REST door, the one place that knows the rules of their documents.
// They are trusted, as everything is that comes through the direct door: a client may use it whether the store checks signatures or not.

import { RestError } from "../errors.ts";
import type { ResponseParts } from "../rest/block.ts";
import type { StoreHandle } from "../store.ts";
import type { AbortSignalLike, Store } from "../types.ts";
import {
  readAccessPolicies,
  readProperties,
  readStatistics,
  writeAccessPolicies,
  writeProperties,
} from "./documents.ts";
import type { ServiceProperties, SignedIdentifier, TableServiceStats } from "./types.ts";
import { textOf } from "./xml.ts";

// No account is called like this host, so whatever the store's is, it stands in the path; and it is not compared.
const primary = "http://[::1]/inner";
const secondary = `${primary}-secondary`;

export async function getAccessPolicy(store: Store, table: string): Promise<SignedIdentifier[]> {
  return readAccessPolicies(bodyOf(await ask(store, { url: aclOf(table) })));
}

export async function setAccessPolicy(
  store: Store,
  table: string,
  identifiers: readonly SignedIdentifier[],
  signal: AbortSignalLike | undefined,
): Promise<{ date: Date }> {
  const body = writeAccessPolicies(identifiers);
  return { date: dateOf(await ask(store, { url: aclOf(table), body, signal })) };
}

export async function getProperties(store: Store): Promise<ServiceProperties> {
  return readProperties(bodyOf(await ask(store, { url: serviceUrl(primary, "properties") })));
}

export async function setProperties(
  store: Store,
  properties: ServiceProperties,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  const url = serviceUrl(primary, "properties");
  await ask(store, { url, body: writeProperties(properties), signal });
}

export async function getStatistics(store: Store): Promise<TableServiceStats & { date: Date }> {
  const answer = await ask(store, { url: serviceUrl(secondary, "stats") });
  return { ...readStatistics(bodyOf(answer)), date: dateOf(answer) };
}

interface Call {
  url: string;
  body?: string; // then it writes
  signal?: AbortSignalLike | undefined;
}

async function ask(store: Store, { url, body, signal }: Call): Promise<ResponseParts> {
  const answer = await (store as StoreHandle).door.send({
    method: body === undefined ? "GET" : "PUT",
    url,
    headers: [["Content-Type", "application/xml"]],
    body: new TextEncoder().encode(body),
    trusted: true,
    signal,
  });
  if (answer.status < 300) return answer;
  throw xmlError(answer);
}

// With the message of the direct door's errors, and the body for those who want the wire's (wire.ts).
function xmlError(answer: ResponseParts): RestError {
  const bodyAsText = bodyOf(answer);
  const text = textOf(bodyAsText, "m:message") ?? "";
  const code = textOf(bodyAsText, "m:code") ?? "";
  return new RestError(text.replace(/\nRequestId:.*/s, ""), {
    code,
    statusCode: answer.status,
    details: {
      errorCode: code,
      "m:code": code,
      "m:message": { $: { "xml:lang": "en-US" }, _: text },
    },
    response: { status: answer.status, bodyAsText },
  });
}

function aclOf(table: string): string {
  return `${primary}/${encodeURIComponent(table)}?comp=acl`;
}

function serviceUrl(base: string, comp: string): string {
  return `${base}/?restype=service&comp=${comp}`;
}

function bodyOf({ body }: ResponseParts): string {
  return new TextDecoder().decode(body);
}

function dateOf({ headers }: ResponseParts): Date {
  return new Date(headers.find(([name]) => name.toLowerCase() === "date")?.[1] ?? "");
}
