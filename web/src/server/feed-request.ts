// The request for the change feed of an account's store: GET <endpoint>/_changes. No table has such
// a name, so it is not a request of the Table service. Reads what the request asks for.

import type { HeaderList } from "../rest/http-message.ts";
import type { ChangesOptions } from "../types.ts";

export const feedName = "_changes";

const feedUrl = /^(https?:\/\/[^/?#]*(?:\/+[^/?#]+)?\/+)_changes\/*(?=[?#]|$)/i;
const tableName = /^[A-Za-z][A-Za-z0-9]{2,62}$/;
const sequence = /^\d{1,19}$/;
const sequenceMax = 2n ** 63n - 1n;

const names = [
  "since",
  "table",
  "partitionKey",
  "rowKeyFrom",
  "rowKeyTo",
  "filter",
  "before",
  "head",
];
// The parameters of a shared access signature, and those that the service allows on every request.
const otherNames: ReadonlySet<string> = new Set(
  "sv ss srt st se sp si sip spr sig tn spk srk epk erk ses timeout api-version".split(" "),
);

// What a client asks for that it may not ask for: the code, the message and the hint of its error.
export class InvalidFeedRequest extends Error {
  readonly code: "InvalidQueryParameterValue" | "InvalidHeaderValue";
  readonly hint: string;

  constructor(message: string, hint: string, code: InvalidFeedRequest["code"]) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

// Returns whether the URL is that of a change feed. The store's authorization decides whether there
// is such an account.
export function isFeedUrl(url: string): boolean {
  return feedUrl.test(url);
}

// Returns the URL of the table's entities, with the same query. REQUIRES: isFeedUrl(url).
export function tableUrl(url: string, table: string): string {
  return url.replace(feedUrl, (_, endpoint: string) => endpoint + table);
}

export function queryOf(url: string): URLSearchParams {
  const [, query = ""] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  return new URLSearchParams(query);
}

// Returns what the request asks for. Throws InvalidFeedRequest.
export function feedOptions(query: URLSearchParams, headers: HeaderList): ChangesOptions {
  for (const name of query.keys())
    if (!names.includes(name) && !otherNames.has(name))
      throw invalid(`The change feed has no parameter ${name}.`, `It has: ${names.join(", ")}.`);
  const since = lastEventId(headers) ?? sinceOf(query);
  const tables = tablesOf(query);
  const [partitionKey, from, to, filter, before, head] = names
    .slice(2)
    .map((name) => one(query, name));
  if (partitionKey === undefined && (from ?? to) !== undefined)
    throw invalid("rowKeyFrom and rowKeyTo need partitionKey.", "Add partitionKey.");
  for (const [name, value] of Object.entries({ before, head }))
    if (value !== undefined && value !== "true" && value !== "false")
      throw invalid(`${name} must be true or false.`, `For example: ${name}=true.`);
  return {
    since,
    tables: tables.length === 0 ? undefined : tables,
    partitionKey,
    rowKey: (from ?? to) === undefined ? undefined : { from, to },
    filter,
    before: before === "true",
    disableTypeConversion: true,
  };
}

// Returns whether the client wants to know what the newest commit is. REQUIRES: feedOptions() has
// accepted the query.
export const wantsHead = (query: URLSearchParams): boolean => query.get("head") === "true";

// Returns the tables that the request names. Throws InvalidFeedRequest.
export function tablesOf(query: URLSearchParams): string[] {
  const tables = query.getAll("table");
  const wrong = tables.find((table) => !tableName.test(table));
  if (wrong === undefined) return tables;
  throw invalid("table must be the name of a table.", "Repeat it for each table: table=a&table=b.");
}

function sinceOf(query: URLSearchParams): bigint | undefined {
  const text = one(query, "since");
  const since = text === undefined ? undefined : sequenceFrom(text);
  if (text === undefined || since !== undefined) return since;
  throw invalid(
    "since must be the sequence of a batch.",
    "It is the id of an event; 0 is before all.",
  );
}

// Clients of server-sent events send the id of the last event when they connect again.
function lastEventId(headers: HeaderList): bigint | undefined {
  const [, text = ""] = headers.find(([name]) => /^last-event-id$/i.test(name)) ?? [];
  const since = sequenceFrom(text.trim());
  if (text === "" || since !== undefined) return since;
  throw new InvalidFeedRequest(
    "Last-Event-ID must be the sequence of a batch.",
    "It is the id of an event of this feed.",
    "InvalidHeaderValue",
  );
}

function sequenceFrom(text: string): bigint | undefined {
  if (!sequence.test(text)) return undefined;
  const value = BigInt(text);
  return value <= sequenceMax ? value : undefined;
}

function one(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw invalid(`${name} is given twice.`, "Only table can be repeated.");
  return values[0];
}

function invalid(message: string, hint: string): InvalidFeedRequest {
  return new InvalidFeedRequest(message, hint, "InvalidQueryParameterValue");
}
