// Normalizes requests and responses, so that those of two services can be compared. Values that
// necessarily differ between services are removed or replaced:
//
//   removed         headers of the connection and of the server product: Connection, Keep-Alive,
//                   Content-Encoding, Content-Length, Server, Transfer-Encoding; hints
//                   (x-entitable-hint); at the end of an error's message, the request id and the
//                   time
//   <date>          the header Date; LastSyncTime of the service statistics
//   <id>            x-ms-request-id; the boundaries of batches
//   <as sent>       x-ms-client-request-id, if it equals the request's
//   <token>         x-ms-continuation-*, and the query parameters in which a request repeats them
//   <time>          the time in ETags of entities, and Timestamp
//   <signature>     the signature of a request, and the times that it signs
//
// Numbers are compared by their JSON text: 3 differs from 3.0, which is represented as "<3.0>". The
// order of headers and of JSON properties does not matter.
// headers and of JSON properties does not matter.

import type { RestRequest } from "../rest/entry-point.ts";
import type { HttpResponse } from "../rest/http-message.ts";

export type NormalizedHeaders = Record<string, string>;

export interface NormalizedResponse {
  status: number;
  code: string | undefined;
  headers: NormalizedHeaders;
  body: unknown;
}

const ignoredHeaders =
  /^(?:connection|content-encoding|content-length|keep-alive|server|transfer-encoding|x-entitable-hint)$/;
const iso = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z";
const guid = "[\\da-f]{8}-[\\da-f]{4}-[\\da-f]{4}-[\\da-f]{4}-[\\da-f]{12}";
const endOfMessage = new RegExp(`\\s*RequestId:${guid}\\s*Time:${iso}`, "gi");
const etag = /^(W\/)?"datetime'[^']*'"$/;
const boundary = /((?:batch|changeset)response_)[\w-]+/g;

export function normalizeResponse(
  { status, headers, body }: HttpResponse,
  request: RestRequest,
): NormalizedResponse {
  const text = new TextDecoder().decode(body);
  const sent = new Map(request.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const named = normalizeHeaders(headers, sent);
  const content = contentOf(named["content-type"] ?? "", text);
  return { status, headers: named, ...content };
}

export function normalizeRequest({ method, url }: RestRequest): string {
  const plain = url
    .replace(/([?&]Next(?:PartitionKey|RowKey|TableName)=)[^&]*/g, "$1<token>")
    .replace(/([?&](?:sig|st|se)=)[^&]*/g, "$1<signature>");
  return `${method} ${plain}`;
}

function normalizeHeaders(
  headers: HttpResponse["headers"],
  sent: ReadonlyMap<string, string> = new Map(),
): NormalizedHeaders {
  const names: NormalizedHeaders = {};
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    if (!ignoredHeaders.test(name)) names[name] = normalizeHeader(name, value, sent.get(name));
  }
  return names;
}

function normalizeHeader(name: string, value: string, sent: string | undefined): string {
  if (name === "date") return "<date>";
  if (name === "x-ms-request-id") return "<id>";
  if (name === "x-ms-client-request-id" && value === sent) return "<as sent>";
  if (name.startsWith("x-ms-continuation-")) return "<token>";
  if (name === "etag") return normalizeEtag(value);
  if (name === "content-type") return value.replace(/;\s+/g, ";").replace(boundary, "$1<id>");
  return value;
}

function normalizeEtag(value: string): string {
  return value.replace(etag, "$1\"datetime'<time>'\"");
}

// ---- Bodies ----------------------------------------------------------------------------------

type Content = Pick<NormalizedResponse, "code" | "body">;

function contentOf(type: string, text: string): Content {
  if (text === "") return { code: undefined, body: undefined };
  if (type.startsWith("multipart/mixed")) return partsOf(text);
  if (type.startsWith("application/json")) return jsonOf(text);
  const plain = text.replace(endOfMessage, "").replace(/(<LastSyncTime>)[^<]*/, "$1<date>");
  const [whole, code] = /<(?:m:)?[cC]ode>([^<]*)<\/(?:m:)?[cC]ode>/.exec(plain) ?? [];
  return { code, body: whole === undefined ? plain : plain.replace(whole, "") };
}

// Returns the normalized responses that a batch response contains.
function partsOf(text: string): Content {
  const responses = text.split(/^--.*$/m).flatMap((segment) => {
    const [, status, lines = "", body = ""] =
      /HTTP\/1\.1 (\d+)[^\r\n]*\r?\n((?:[^\r\n]+\r?\n)*)(?:\r?\n)?(.*)/s.exec(segment) ?? [];
    if (status === undefined) return [];
    const headers = lines.split(/\r?\n/).flatMap((line): [string, string][] => {
      const [, name, value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value]];
    });
    const named = normalizeHeaders(headers);
    const content = contentOf(named["content-type"] ?? "", body.trim());
    return [{ status: Number(status), headers: named, ...content }];
  });
  return { code: responses.find(({ code }) => code !== undefined)?.code, body: responses };
}

function jsonOf(text: string): Content {
  let value: unknown;
  try {
    value = JSON.parse(text, withSource);
  } catch {
    return { code: undefined, body: text };
  }
  const error = (Object(value) as Record<string, unknown>)["odata.error"];
  if (typeof error !== "object" || error === null) return { code: undefined, body: value };
  const { code, ...rest } = error as Record<string, unknown>;
  return { code: String(code), body: { "odata.error": rest } };
}

// Normalizes a value of a JSON document. `source` is a number's text in the document. If the
// platform does not supply it, 3.0 cannot be distinguished from 3.
function withSource(name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value === "number") {
    return source === undefined || source === String(value) ? value : `<${source}>`;
  }
  if (typeof value !== "string") return value;
  if (name === "odata.etag") return normalizeEtag(value);
  if (name === "Timestamp") return value.replace(new RegExp(`^${iso}$`), "<time>");
  return name === "value" ? value.replace(endOfMessage, "") : value;
}
