// From an answer to what it says: ids, dates, tokens and ETags become names, so that two sides' answers can be compared.

import { childOf, type Part, parseBatch, parseJson, parseXml, xmlTree } from "./documents.ts";
import type { Key, RawResponse, Seen, Side, Step } from "./request.ts";
import { signedFields } from "./sas.ts";

// Headers of which the value must be the same, once normalised. The others are each side's own affair (spec §8.2).
const compared = [
  "content-type",
  "etag",
  "location",
  "dataserviceid",
  "preference-applied",
  "x-ms-client-request-id",
  "x-ms-version",
  "x-ms-error-code",
  "x-content-type-options",
  "access-control-allow-origin",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-max-age",
  "access-control-allow-credentials",
  "access-control-expose-headers",
  "vary",
];

// Of which the order means nothing.
const lists = new Set(["access-control-expose-headers", "access-control-allow-headers"]);

const guid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
// What every message ends with.
const tail = new RegExp(`\\s*RequestId:${guid}\\s*Time:\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$`);
const etagForm = /^W\/"datetime'(.+)'"$/;

const placeOf = (table: string, { pk, rk }: Key) => JSON.stringify([table.toLowerCase(), pk, rk]);

// What one side has said before: the ETags of its entities, and where its next page begins.
export class Memory {
  readonly base: string;
  next: string | undefined;
  readonly #batchTable: string | undefined;
  readonly #etags = new Map<string, string>(); // place -> ETag

  constructor({ base, batchTable }: Pick<Side, "base" | "batchTable">) {
    this.base = base;
    this.#batchTable = batchTable;
  }

  // The signature of a batch, as parameters of its query.
  batchSas({ sas = {}, table = "" }: Step): string {
    return signedFields(sas, this.#batchTable ?? table);
  }

  etag(table: string, key: Key): string | undefined {
    return this.#etags.get(placeOf(table, key));
  }

  // New for a place: remembered. Otherwise whether it is the one that was given last.
  meet(table: string, key: Key, etag: string, written: boolean): string {
    if (!etagForm.test(etag)) return etag;
    const place = placeOf(table, key);
    const last = this.#etags.get(place);
    this.#etags.set(place, etag);
    if (written) return etag === last ? "<unchanged etag>" : "<new etag>";
    return last === undefined || last === etag ? "<current etag>" : "<changed etag>";
  }

  // Of an entity that does not say which it is.
  isKnown(etag: string): boolean {
    return [...this.#etags.values()].includes(etag);
  }
}

// Placeholders of `text` as this side has to read them.
export function fill(text: string, step: Step, memory: Memory): string {
  return text
    .replaceAll("{{base}}", memory.base)
    .replaceAll("{{next}}", memory.next ?? "NextPartitionKey=none")
    .replaceAll("{{sas}}", () => memory.batchSas(step))
    .replaceAll(/\{\{etag (\d)\}\}/g, (_, n) => {
      const key = step.entities[Number(n)];
      return (key && memory.etag(step.table ?? "", key)) ?? "*";
    });
}

export function normalise(step: Step, response: RawResponse, memory: Memory): Seen {
  memory.next = undefined;
  const seen = seenOf(step, response, memory, step.entities[0]);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("multipart/mixed") && response.status === 202) {
    seen.headers["content-type"] = type.replace(/_.*$/, "_<id>");
    seen.parts = parseBatch(response.body).map((part, i) => partOf(step, part, memory, i));
    seen.code = seen.parts.find(({ code }) => code !== "")?.code ?? "";
    seen.body = undefined;
  }
  return seen;
}

function partOf(step: Step, part: Part, memory: Memory, i: number): Seen {
  return seenOf(step, part, memory, step.entities[i]);
}

function seenOf(
  step: Step,
  response: RawResponse | Part,
  memory: Memory,
  key: Key | undefined,
): Seen {
  const headers: Record<string, string> = {};
  for (const name of compared) {
    const value = response.headers.get(name);
    if (value !== undefined) headers[name] = value.replaceAll(memory.base, "<base>");
    if (value !== undefined && lists.has(name)) headers[name] = value.split(/, */).sort().join(",");
  }
  const etag = headers["etag"];
  if (etag !== undefined && key !== undefined) {
    headers["etag"] = memory.meet(step.table ?? "", key, etag, step.writes);
  }
  const tokens = [...response.headers].filter(([name]) => name.startsWith("x-ms-continuation-"));
  for (const [name] of tokens) headers[name] = "<token>";
  if (tokens.length > 0) {
    memory.next = tokens
      .map(([name, value]) => `${tokenNames[name] ?? name}=${encodeURIComponent(value)}`)
      .join("&");
  }
  const { code, body } = bodyOf(step, response, memory);
  return { status: response.status, code, headers, body };
}

const tokenNames: Record<string, string> = {
  "x-ms-continuation-nextpartitionkey": "NextPartitionKey",
  "x-ms-continuation-nextrowkey": "NextRowKey",
  "x-ms-continuation-nexttablename": "NextTableName",
};

function bodyOf(
  step: Step,
  response: RawResponse | Part,
  memory: Memory,
): Pick<Seen, "code" | "body"> {
  const type = response.headers.get("content-type") ?? "";
  const text = response.body.replaceAll(memory.base, "<base>");
  if (text === "" || type.startsWith("multipart/")) return { code: "", body: undefined };
  if (type.startsWith("application/json")) return jsonBody(step, parseJson(text), memory);
  if (type.startsWith("application/xml")) {
    const root = parseXml(text);
    const code = childOf(root, "code") ?? childOf(root, "Code");
    const message = childOf(root, "message") ?? childOf(root, "Message");
    if (code === undefined) return { code: "", body: { [root.name]: xmlTree(root) } };
    return {
      code: code.text,
      body: { root: root.name, message: message?.text.replace(tail, "<ids>") },
    };
  }
  return { code: "", body: text };
}

interface ErrorBody {
  code: string;
  message: { lang: string; value: string };
}

function jsonBody(step: Step, value: unknown, memory: Memory): Pick<Seen, "code" | "body"> {
  const error = (value as { "odata.error"?: ErrorBody })["odata.error"];
  if (error === undefined) return { code: "", body: withNames(step, value, memory) };
  const { lang, value: text } = error.message;
  return { code: error.code, body: { lang, message: text.replace(tail, "<ids>") } };
}

// An entity, or a list of entities, with its ETags and timestamps replaced.
function withNames(step: Step, value: unknown, memory: Memory): unknown {
  if (Array.isArray(value)) return value.map((item) => withNames(step, item, memory));
  if (typeof value !== "object" || value === null || "number" in value) return value;
  const out: Record<string, unknown> = { ...value };
  if (Array.isArray(out["value"])) out["value"] = withNames(step, out["value"], memory);
  const etag = out["odata.etag"];
  const stamp = out["Timestamp"];
  if (typeof etag === "string") out["odata.etag"] = nameOfEtag(step, out, etag, memory);
  if (typeof stamp === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(stamp)) {
    const matches = etag === undefined || etag === `W/"datetime'${encodeURIComponent(stamp)}'"`;
    out["Timestamp"] = matches ? "<time of etag>" : "<another time>";
  }
  return out;
}

function nameOfEtag(
  step: Step,
  entity: Record<string, unknown>,
  etag: string,
  memory: Memory,
): string {
  const { PartitionKey: pk, RowKey: rk } = entity;
  if (typeof pk === "string" && typeof rk === "string" && step.table !== undefined) {
    return memory.meet(step.table, { pk, rk }, etag, false);
  }
  const key = step.entities[0];
  const known = memory.isKnown(etag) || (key !== undefined && step.operation === "get");
  return known ? "<current etag>" : "<unknown etag>";
}
