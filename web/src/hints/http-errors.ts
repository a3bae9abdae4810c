// Hints for responses to HTTP requests: reads the request and the response.

import { namedAccount } from "../named-account.ts";
import type { FailedOperation, FailedRequest, FailedResponse } from "./failed-request.ts";
import type { OnRejectedRequest } from "./rejected-request.ts";
import { serviceErrorHint } from "./service-errors.ts";

declare const process: { env: { NODE_ENV?: string } };

export interface HttpRequestParts {
  method: string;
  url: string;
  body: Uint8Array;
  account?: string; // that of the store
  // The accounts that are served, by the names in their URLs. Default: the store's.
  accounts?: readonly string[];
}

export interface HttpResponseParts {
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array;
}

// Not imported, so that a page's bundle does not get a file of its own for this module.
export type HintHeader = typeof import("./hint-header.ts");

type Json = Record<string, unknown>;

const typeSuffix = "@odata.type";

/**
 * Resolves to the response with a hint, if it is an error of the service, and reports the error to
 * `onWarning` in development. A simulated error already has its hint, and is not reported. Resolves
 * to the response unchanged if the request has a URL that cannot be parsed.
 */
export async function addHttpHint<R extends HttpResponseParts>(
  response: R,
  request: HttpRequestParts,
  { hintHeader, withHintHeader }: HintHeader,
  onWarning?: OnRejectedRequest,
): Promise<R> {
  try {
    if (response.headers.some(([name]) => name.toLowerCase() === hintHeader))
      return exposed(response, hintHeader);
    const error = errorIn(decode(response.body));
    if (error === undefined) return response;
    const failed: FailedRequest = {
      ...requestOf(request),
      ...accountsOf(request),
      isHttp: true,
      bodyBytes: request.body.length,
    };
    if (onWarning !== undefined) await report(request, failed, error, onWarning);
    const hint = serviceErrorHint(error, withoutAccounts(failed));
    return exposed(withHintHeader(response, hint), hintHeader);
  } catch {
    return response;
  }
}

async function report(
  request: HttpRequestParts,
  failed: FailedRequest,
  error: FailedResponse,
  onWarning: OnRejectedRequest,
): Promise<void> {
  try {
    // exactly this expression in this place, so that bundlers remove the import
    if (process.env.NODE_ENV !== "production") {
      const { reportRejectedRequest } = await import("./rejected-request.ts");
      const hint = serviceErrorHint(error, failed);
      if (hint === undefined) return;
      reportRejectedRequest({ ...request, table: failed.table }, error.code, hint, onWarning);
    }
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
}

// A client that is not authorized must not learn which accounts are served.
function withoutAccounts({ unserved, ...request }: FailedRequest): FailedRequest {
  return unserved === undefined ? request : { ...request, unserved: { ...unserved, accounts: [] } };
}

// Headers that a CORS rule with * does not expose by name (core/rest/cors.cc).
const neverNamed =
  /^(?:access-control-.*|vary|cache-control|content-(?:language|length|type)|expires|last-modified|pragma)$/i;

// Exposes the hint to pages of other origins, if the response's CORS rule exposes all headers. The
// store has put their names in place of the rule's *.
function exposed<R extends HttpResponseParts>(response: R, hintHeader: string): R {
  const header = "access-control-expose-headers";
  const { headers } = response;
  const [, names] = headers.find(([name]) => name.toLowerCase() === header) ?? [];
  const known = names?.toLowerCase().split(",") ?? [];
  const hidden = headers.filter(
    ([name]) => !neverNamed.test(name) && !known.includes(name.toLowerCase()),
  );
  if (names === undefined || hidden.some(([name]) => name !== hintHeader)) return response;
  if (hidden.length === 0) return response;
  const more = headers.map(([name, value]): [string, string] =>
    name.toLowerCase() === header ? [name, `${value},${hintHeader}`] : [name, value],
  );
  return { ...response, headers: more };
}

// Reads the code and the message of an error in JSON, also within a batch, or in XML.
function errorIn(body: string): FailedResponse | undefined {
  const [, json] = /^(\{"odata\.error".*\})\s*$/m.exec(body) ?? [];
  const [, code, xml] =
    /<m:code>(.*?)<\/m:code>.*?<m:message[^>]*>(.*?)<\/m:message>/s.exec(body) ?? [];
  const text = json === undefined ? undefined : odataError(json);
  const found = text ?? (code === undefined ? undefined : { code, message: xml ?? "" });
  return found && { ...found, message: found.message.replace(/\nRequestId:.*/s, "") };
}

function odataError(json: string): FailedResponse | undefined {
  try {
    const { code, message } = JSON.parse(json)["odata.error"];
    return { code, message: message.value };
  } catch {
    return undefined;
  }
}

function requestOf({ method, url, body: bytes }: HttpRequestParts): FailedRequest {
  const { pathname, searchParams } = new URL(url);
  const [filter, top] = [searchParams.get("$filter"), searchParams.get("$top")];
  const request: FailedRequest = resourceOf(pathname);
  if (filter !== null) request.filter = filter;
  if (top !== null) request.top = top;
  if (searchParams.has("NextPartitionKey") || searchParams.has("NextTableName"))
    request.continuationToken = "given";
  if (method === "GET" || method === "HEAD") return request;
  const body = decode(bytes);
  if (pathname.endsWith("/$batch")) return batchOf(body);
  if (/\/Tables(?:\(\))?$/.test(pathname)) {
    const { TableName: table } = jsonOf(body);
    return typeof table === "string" ? { table } : {};
  }
  return { ...request, operations: [operationOf(method, request, body)] };
}

// Says what is wrong with the account that the URL names, if it is not the store's.
function accountsOf({ url, account, accounts }: HttpRequestParts): Partial<FailedRequest> {
  if (account === undefined) return {};
  const served = accounts ?? [account];
  const names = served.map((name) => name.toLowerCase());
  const { name, isServed } = namedAccount(url, (one) => names.includes(one));
  if (!isServed) return { unserved: { account: name, accounts: served } };
  return name === account.toLowerCase() ? {} : { misnamed: name };
}

function batchOf(body: string): FailedRequest {
  const parts = body.split(/^(?=(?:POST|PUT|MERGE|PATCH|DELETE) \S+ HTTP\/)/m).slice(1);
  let table: string | undefined;
  const operations = parts.map((part): FailedOperation => {
    const [, method = "", url = ""] = /^(\S+) (\S+)/.exec(part) ?? [];
    const resource = resourceOf(new URL(url, "http://localhost").pathname);
    table ??= resource.table;
    return operationOf(method, resource, /^\{.*\}/m.exec(part)?.[0] ?? "");
  });
  return table === undefined ? { operations } : { table, operations };
}

// Reads /account/people(PartitionKey='a',RowKey='b').
function resourceOf(path: string): FailedRequest {
  const last = decodeUri(path.slice(path.lastIndexOf("/") + 1));
  const [, name = "", keys] = /^([^(]*)(?:\((.*)\))?$/s.exec(last) ?? [];
  if (name === "Tables") return keys ? { table: unquoted(keys) } : {};
  const [, partitionKey, rowKey] =
    /^PartitionKey=('(?:[^']|'')*'),\s*RowKey=('(?:[^']|'')*')$/.exec(keys ?? "") ?? [];
  return partitionKey === undefined || rowKey === undefined
    ? { table: name }
    : { table: name, partitionKey: unquoted(partitionKey), rowKey: unquoted(rowKey) };
}

function operationOf(method: string, resource: FailedRequest, body: string): FailedOperation {
  const { PartitionKey, RowKey, ...properties } = jsonOf(body);
  const entity: Json = {};
  for (const [name, value] of Object.entries(properties)) {
    const type = properties[name + typeSuffix];
    if (name.endsWith(typeSuffix)) continue;
    entity[name] = typeof type === "string" ? { type: type.replace(/^Edm\./, ""), value } : value;
  }
  const { partitionKey = PartitionKey, rowKey = RowKey } = resource;
  return { kind: method, partitionKey, rowKey, entity };
}

function jsonOf(body: string): Json {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}

function unquoted(text: string): string {
  return text.replace(/^'|'$/g, "").replaceAll("''", "'");
}

function decodeUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
