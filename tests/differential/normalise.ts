// Normalises responses: ids, dates, tokens and ETags become placeholders, so that the responses of
// two backends can be compared.

import type { Backend, Key, NormalisedResponse, RawResponse, Step } from "./request.ts";
import {
  type BatchPart,
  parseBatch,
  parseJson,
  rootOf,
  trimmedChildText,
  xmlTree,
} from "./response-bodies.ts";
import { signedFields } from "./sas.ts";

// Headers whose normalised values must be equal. Other headers may differ (SERVICE.md §2.5).
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

// Headers whose values are lists without an order.
const unorderedLists = new Set(["access-control-expose-headers", "access-control-allow-headers"]);

const guid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
// Every error message ends with this.
const messageSuffix = new RegExp(`\\s*RequestId:${guid}\\s*Time:\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$`);
const etagForm = /^W\/"datetime'(.+)'"$/;

const addressOf = (table: string, { pk, rk }: Key) => JSON.stringify([table.toLowerCase(), pk, rk]);

// What one backend has returned: the ETags of its entities, and the token of the next page.
export class BackendState {
  readonly base: string;
  next: string | undefined;
  readonly #batchTable: string | undefined;
  readonly #etags = new Map<string, string>(); // by the address of the entity

  constructor({ base, batchTable }: Pick<Backend, "base" | "batchTable">) {
    this.base = base;
    this.#batchTable = batchTable;
  }

  // Returns the signature of a batch as query parameters.
  batchSas({ sas = {}, table = "" }: Step): string {
    return signedFields(sas, this.#batchTable ?? table);
  }

  etag(table: string, key: Key): string | undefined {
    return this.#etags.get(addressOf(table, key));
  }

  // Describes an ETag by comparing it with the last ETag of the same entity, and remembers it.
  describeEtag(table: string, key: Key, etag: string, written: boolean): string {
    if (!etagForm.test(etag)) return etag;
    const address = addressOf(table, key);
    const last = this.#etags.get(address);
    this.#etags.set(address, etag);
    if (written) return etag === last ? "<unchanged etag>" : "<new etag>";
    return last === undefined || last === etag ? "<current etag>" : "<changed etag>";
  }

  // Returns whether the backend has returned this ETag, for responses that do not name the entity.
  isKnown(etag: string): boolean {
    return [...this.#etags.values()].includes(etag);
  }
}

// Replaces the placeholders in `text` by this backend's values.
export function fillPlaceholders(text: string, step: Step, state: BackendState): string {
  return text
    .replaceAll("{{base}}", state.base)
    .replaceAll("{{next}}", state.next ?? "NextPartitionKey=none")
    .replaceAll("{{sas}}", () => state.batchSas(step))
    .replaceAll(/\{\{etag (\d)\}\}/g, (_, n) => {
      const key = step.entities[Number(n)];
      return (key && state.etag(step.table ?? "", key)) ?? "*";
    });
}

export function normalise(
  step: Step,
  response: RawResponse,
  state: BackendState,
): NormalisedResponse {
  state.next = undefined;
  const normalised = normalisedResponseOf(step, response, state, step.entities[0]);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("multipart/mixed") && response.status === 202) {
    normalised.headers["content-type"] = type.replace(/_.*$/, "_<id>");
    normalised.parts = parseBatch(response.body).map((part, i) => partOf(step, part, state, i));
    normalised.code = normalised.parts.find(({ code }) => code !== "")?.code ?? "";
    normalised.body = undefined;
  }
  return normalised;
}

function partOf(step: Step, part: BatchPart, state: BackendState, i: number): NormalisedResponse {
  return normalisedResponseOf(step, part, state, step.entities[i]);
}

function normalisedResponseOf(
  step: Step,
  response: RawResponse | BatchPart,
  state: BackendState,
  key: Key | undefined,
): NormalisedResponse {
  const headers: Record<string, string> = {};
  for (const name of compared) {
    const value = response.headers.get(name);
    if (value !== undefined) headers[name] = value.replaceAll(state.base, "<base>");
    if (value !== undefined && unorderedLists.has(name))
      headers[name] = value.split(/, */).sort().join(",");
  }
  const etag = headers["etag"];
  if (etag !== undefined && key !== undefined) {
    headers["etag"] = state.describeEtag(step.table ?? "", key, etag, step.writes);
  }
  const tokens = [...response.headers].filter(([name]) => name.startsWith("x-ms-continuation-"));
  for (const [name] of tokens) headers[name] = "<token>";
  if (tokens.length > 0) {
    state.next = tokens
      .map(([name, value]) => `${tokenNames[name] ?? name}=${encodeURIComponent(value)}`)
      .join("&");
  }
  const { code, body } = bodyOf(step, response, state);
  return { status: response.status, code, headers, body };
}

const tokenNames: Record<string, string> = {
  "x-ms-continuation-nextpartitionkey": "NextPartitionKey",
  "x-ms-continuation-nextrowkey": "NextRowKey",
  "x-ms-continuation-nexttablename": "NextTableName",
};

function bodyOf(
  step: Step,
  response: RawResponse | BatchPart,
  state: BackendState,
): Pick<NormalisedResponse, "code" | "body"> {
  const type = response.headers.get("content-type") ?? "";
  const text = response.body.replaceAll(state.base, "<base>");
  if (text === "" || type.startsWith("multipart/")) return { code: "", body: undefined };
  if (type.startsWith("application/json")) return jsonBody(step, parseJson(text), state);
  if (type.startsWith("application/xml")) {
    const root = rootOf(text);
    const code = trimmedChildText(root, /^[cC]ode$/);
    const message = trimmedChildText(root, /^[mM]essage$/);
    if (code === undefined) return { code: "", body: { [root.name]: xmlTree(root) } };
    return {
      code,
      body: { root: root.name, message: message?.replace(messageSuffix, "<ids>") },
    };
  }
  return { code: "", body: text };
}

interface ErrorBody {
  code: string;
  message: { lang: string; value: string };
}

function jsonBody(
  step: Step,
  value: unknown,
  state: BackendState,
): Pick<NormalisedResponse, "code" | "body"> {
  const error = (value as { "odata.error"?: ErrorBody })["odata.error"];
  if (error === undefined) return { code: "", body: withNames(step, value, state) };
  const { lang, value: text } = error.message;
  return { code: error.code, body: { lang, message: text.replace(messageSuffix, "<ids>") } };
}

// Returns an entity or a list of entities with ETags and timestamps replaced.
function withNames(step: Step, value: unknown, state: BackendState): unknown {
  if (Array.isArray(value)) return value.map((item) => withNames(step, item, state));
  if (typeof value !== "object" || value === null || "number" in value) return value;
  const out: Record<string, unknown> = { ...value };
  if (Array.isArray(out["value"])) out["value"] = withNames(step, out["value"], state);
  const etag = out["odata.etag"];
  const stamp = out["Timestamp"];
  if (typeof etag === "string") out["odata.etag"] = nameOfEtag(step, out, etag, state);
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
  state: BackendState,
): string {
  const { PartitionKey: pk, RowKey: rk } = entity;
  if (typeof pk === "string" && typeof rk === "string" && step.table !== undefined) {
    return state.describeEtag(step.table, { pk, rk }, etag, false);
  }
  const key = step.entities[0];
  const known = state.isKnown(etag) || (key !== undefined && step.operation === "get");
  return known ? "<current etag>" : "<unknown etag>";
}
