// Calls for which there are no RPC messages: access policies, service properties and statistics.
// They go to the REST entry point, which checks their documents. They need no signature, because
// they come from the page's own client, which is trusted.

import { RestError } from "../errors.ts";
import { hintHeader } from "../hints/hint-header.ts";
import type { HttpResponse } from "../rest/http-message.ts";
import type { StoreHandle } from "../store.ts";
import type { AbortSignalLike, Store } from "../types.ts";
import type { ServiceProperties, SignedIdentifier, TableServiceStats } from "./types.ts";
import { childOf, childText, parseXml } from "./xml.ts";
import {
  parseAccessPolicies,
  parseServiceProperties,
  parseStatistics,
  serializeAccessPolicies,
  serializeServiceProperties,
} from "./xml-documents.ts";

// The account is read from the path, because the host is an IP address. The host itself is not
// used.
const primary = "http://[::1]/inner";
const secondary = `${primary}-secondary`;

export async function getAccessPolicy(store: Store, table: string): Promise<SignedIdentifier[]> {
  return parseAccessPolicies(bodyOf(await sendInternalRequest(store, { url: aclOf(table) })));
}

export async function setAccessPolicy(
  store: Store,
  table: string,
  identifiers: readonly SignedIdentifier[],
  signal: AbortSignalLike | undefined,
): Promise<{ date: Date }> {
  const body = serializeAccessPolicies(identifiers);
  return { date: dateOf(await sendInternalRequest(store, { url: aclOf(table), body, signal })) };
}

export async function getProperties(store: Store): Promise<ServiceProperties> {
  return parseServiceProperties(
    bodyOf(await sendInternalRequest(store, { url: serviceUrl(primary, "properties") })),
  );
}

export async function setProperties(
  store: Store,
  properties: ServiceProperties,
  signal: AbortSignalLike | undefined,
): Promise<void> {
  const url = serviceUrl(primary, "properties");
  await sendInternalRequest(store, { url, body: serializeServiceProperties(properties), signal });
}

export async function getStatistics(store: Store): Promise<TableServiceStats & { date: Date }> {
  const response = await sendInternalRequest(store, { url: serviceUrl(secondary, "stats") });
  return { ...parseStatistics(bodyOf(response)), date: dateOf(response) };
}

interface InternalRequest {
  url: string;
  body?: string; // present for writes
  signal?: AbortSignalLike | undefined;
}

async function sendInternalRequest(
  store: Store,
  { url, body, signal }: InternalRequest,
): Promise<HttpResponse> {
  const response = await (store as StoreHandle).restEntryPoint.send({
    method: body === undefined ? "GET" : "PUT",
    url,
    headers: [["Content-Type", "application/xml"]],
    body: new TextEncoder().encode(body),
    trusted: true,
    signal,
  });
  if (response.status < 300) return response;
  throw restErrorFromXml(response);
}

// Converts an error response. The RestError has the message that RPC errors have, and the
// response's body for callers that need the official client's message (service-responses.ts).
function restErrorFromXml(response: HttpResponse): RestError {
  const bodyAsText = bodyOf(response);
  const error = childOf(parseXml(bodyAsText), "m:error");
  const text = childText(error, "m:message") ?? "";
  const code = childText(error, "m:code") ?? "";
  const hint = response.headers.find(([name]) => name === hintHeader)?.[1];
  return new RestError(text.replace(/\nRequestId:.*/s, ""), {
    code,
    statusCode: response.status,
    details: {
      errorCode: code,
      "m:code": code,
      "m:message": { $: { "xml:lang": "en-US" }, _: text },
    },
    response: { status: response.status, bodyAsText },
    ...(hint === undefined ? {} : { hint }),
  });
}

function aclOf(table: string): string {
  return `${primary}/${encodeURIComponent(table)}?comp=acl`;
}

function serviceUrl(base: string, comp: string): string {
  return `${base}/?restype=service&comp=${comp}`;
}

function bodyOf({ body }: HttpResponse): string {
  return new TextDecoder().decode(body);
}

function dateOf({ headers }: HttpResponse): Date {
  return new Date(headers.find(([name]) => name.toLowerCase() === "date")?.[1] ?? "");
}
