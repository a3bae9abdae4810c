// The types of requests and responses.

import type { Fields } from "./sas.ts";

export const edmTypes = [
  "String",
  "Binary",
  "Boolean",
  "DateTime",
  "Double",
  "Guid",
  "Int32",
  "Int64",
] as const;
export type EdmType = (typeof edmTypes)[number];

export interface Key {
  pk: string;
  rk: string;
}

// An entity that a request reads, writes or deletes.
export interface TouchedEntity extends Key {
  isDeleted?: boolean;
}

// What the generator knows about the whole result of a query.
export interface Pages {
  rows?: readonly string[]; // the names of all rows, in order
  size?: number; // rows in each page except the last
}

// A request, and what the generator knows about it. Both backends get the same text, in which
// placeholders are replaced: {{etag N}} by the ETag that the backend last returned for
// `entities[N]`, {{next}} by its continuation parameters, {{sas}} by the fields `sas`, signed for
// the backend.
export interface Step {
  operation: string; // as counted in scenarios.ts
  types: readonly EdmType[]; // Edm types of the values in the body or filter
  method: string;
  target: string; // path after the account, with the query: "/Tables"
  headers: readonly (readonly [string, string])[];
  body?: string;
  table?: string;
  entities: readonly TouchedEntity[];
  writes: boolean;
  tables: readonly string[]; // tables that the request creates or deletes
  tags: ReadonlySet<string>; // what known-differences.ts must know about the request
  expected?: string; // the code that our response must have, or "ok"
  pages?: Pages; // for a query whose further pages are requested
  sas?: Fields; // for a batch: fields of a table's signature
  first?: readonly Step[]; // requests to send before it
  after?: readonly Step[]; // requests to send after it
  isUndoneByFollowUps?: boolean; // the requests in `after` undo what only one backend did
}

export function headerOf(step: Step, name: string): string | undefined {
  return step.headers.find(([given]) => given === name)?.[1];
}

export interface RawRequest {
  method: string;
  url: string;
  headers: readonly (readonly [string, string])[];
  body: string | undefined;
}

export interface RawResponse {
  status: number;
  headers: ReadonlyMap<string, string>; // names in lower case
  body: string;
}

// One of the two backends that are compared.
export interface Backend extends AsyncDisposable {
  readonly base: string; // URL of the account
  // The table for which the signature of a batch must be. Absent: the batch's own table.
  readonly batchTable?: string;
  send(request: RawRequest): Promise<RawResponse>;
}

// A response in which everything that may differ is replaced by placeholders.
export interface NormalisedResponse {
  status: number;
  code: string; // the error's code; "" if there is none
  headers: Record<string, string>;
  body: unknown;
  parts?: NormalisedResponse[]; // the responses in a batch
}

export interface Difference {
  path: string; // "outcome", "headers.etag", "body.value.0.name"
  ours: unknown;
  theirs: unknown;
}
