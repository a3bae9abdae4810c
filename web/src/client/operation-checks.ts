// Checks that a call passes before it reaches the store. They reject what the official client
// rejects, with the same messages.

import { AbortError, StoreError } from "../errors.ts";
import type { OperationOptions, UpdateMode } from "../types.ts";
import { requireKnownOptions } from "../util/option-names.ts";

// Throws if a key is undefined or null. Empty strings are legal keys. `entity`: what is written.
export function requireKeys(partitionKey: unknown, rowKey: unknown, entity?: object): void {
  if (partitionKey === undefined || partitionKey === null) {
    throw missingKeyError("partitionKey", entity);
  }
  if (rowKey === undefined || rowKey === null) throw missingKeyError("rowKey", entity);
}

function missingKeyError(name: string, entity: object = {}): Error {
  const error = new Error(`The entity's ${name} cannot be undefined or null.`);
  const service = `${name[0]?.toUpperCase()}${name.slice(1)}`; // the service's name
  const hint = `The entity has ${service}. Write ${name} in its place.`;
  return service in entity ? Object.assign(error, { hint }) : error;
}

const modeHint =
  'The mode is "Merge" or "Replace"; options follow it: (entity, "Merge", { etag }).';

export function writeKind<M, R>(mode: UpdateMode, merge: M, replace: R): M | R {
  if (mode === "Merge") return merge;
  if (mode === "Replace") return replace;
  const error = new Error(`Unexpected value for update mode: ${String(mode)}`);
  throw Object.assign(error, { hint: modeHint });
}

/** The options of all calls, and of some. */
export const operationOptions: readonly string[] = [
  "abortSignal",
  "onResponse",
  "requestOptions",
  "serializerOptions",
  "tracingOptions",
];
export const countOptions: readonly string[] = [...operationOptions, "queryOptions"];
export const readOptions: readonly string[] = [...countOptions, "disableTypeConversion"];
export const tableOptions: readonly string[] = [...operationOptions, "durability"];
export const writeOptions: readonly string[] = [...tableOptions, "etag"];
export const filterAndSelect: readonly string[] = ["filter", "select"];

/** What to write in place of an option that callers expect. */
export const optionHints: Readonly<Record<string, string>> = {
  ifMatch: "Pass it as etag.",
  filter: "Pass it in queryOptions.",
  select: "Pass it in queryOptions.",
  top: "Pass it beside queryOptions.",
  maxPageSize: "Pass it to byPage().",
  continuationToken: "Pass it to byPage().",
  orderBy: 'Entities are ordered by their keys; order: "desc" reverses the order.',
};

// Throws ValidationFailed if an option is not in `known`, or one in `queryOptions` not in
// `knownOfQuery`.
export function rejectUnknownOptions(
  method: string,
  options: object,
  known: readonly string[],
  knownOfQuery: readonly string[] = [],
): void {
  requireKnownOptions(method, options, known, optionHints);
  const { queryOptions } = options as { queryOptions?: object };
  requireKnownOptions(method, queryOptions, knownOfQuery, optionHints, "queryOptions");
}

// Throws ValidationFailed if `select` is no list. The official client throws a TypeError.
export function requireList(select: unknown): void {
  if (select === undefined || Array.isArray(select)) return;
  throw new StoreError("ValidationFailed", "queryOptions.select must be a list of names.", {
    hint: 'For example: select: ["name"].',
  });
}

// Checks the options that all calls share. Throws AbortError if the signal is already aborted.
// Throws NotSupported for options that concern HTTP requests (onResponse, requestOptions): no
// request is sent, so they would be ignored silently.
export function checkOperationOptions(options: OperationOptions): void {
  if (options.abortSignal?.aborted) throw new AbortError();
  const { onResponse, requestOptions } = options as {
    onResponse?: unknown;
    requestOptions?: { customHeaders?: unknown };
  };
  const hook = onResponse ? "onResponse" : requestOptions?.customHeaders ? "customHeaders" : "";
  if (hook === "") return;
  throw new StoreError(
    "NotSupported",
    `The option ${hook} is not supported: no HTTP request is sent.`,
    {
      hint: "Omit the option, or use @azure/data-tables with httpClient: store.httpClient.",
    },
  );
}
