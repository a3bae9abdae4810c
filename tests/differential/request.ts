// What travels: a request as the generator means it, and what a backend answered.

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

// An entity that a request asks for or writes; gone: it deletes it.
export interface TouchedEntity extends Key {
  isDeleted?: boolean;
}

// What a query finds, as far as the generator knows, before it is cut into pages.
export interface Pages {
  rows?: readonly string[]; // names of all of them, in order
  size?: number; // of each page but the last
}

// A request, and what it is about. The same text goes to both backends but for placeholders: {{etag
// N}} is what the backend gave `entities[N]` last, {{next}} its continuation parameters, {{sas}}
// `sas` as the backend wants it signed.
export interface Step {
  operation: string; // one of those that scenarios.ts counts
  types: readonly EdmType[]; // of the values in body or filter
  method: string;
  target: string; // behind the account: "/Tables", with query
  headers: readonly (readonly [string, string])[];
  body?: string;
  table?: string;
  entities: readonly TouchedEntity[];
  writes: boolean;
  tables: readonly string[]; // that it creates or deletes
  tags: ReadonlySet<string>; // what known-differences.ts needs to know
  expected?: string; // code of our answer, or "ok"
  pages?: Pages; // of a query that is continued while there is more
  sas?: Fields; // of a table's signature, for a batch
  first?: readonly Step[]; // requests before it
  after?: readonly Step[]; // requests behind it
  isUndoneByFollowUps?: boolean; // what only one backend did is undone by the requests behind it
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

// One of the two that are compared.
export interface Backend extends AsyncDisposable {
  readonly base: string; // URL of the account
  // for what table a signature has to be that is to let a batch in; else the batch's own
  readonly batchTable?: string;
  send(request: RawRequest): Promise<RawResponse>;
}

// What an answer says, with everything that may differ replaced by names: comparable as it is.
export interface NormalisedResponse {
  status: number;
  code: string; // of the error, or ""
  headers: Record<string, string>;
  body: unknown;
  parts?: NormalisedResponse[]; // of a batch
}

export interface Difference {
  path: string; // "outcome", "headers.etag", "body.value.0.name"
  ours: unknown;
  theirs: unknown;
}
