// Makes the same calls through the official client (over the REST entry point) and through
// entitable/data-tables (over the RPC entry point). The two stores have the same clock, so that
// even timestamps and ETags must be equal.

import assert from "node:assert/strict";
import * as official from "@azure/data-tables";
import type { Store } from "../../../web/src/types.ts";
import { dataTables as ours } from "./data-tables.ts";
import { openStore } from "./package.ts";

// The objects that a case may use, with the official client's types. The compiler checks that ours
// fit these types.
export interface ClientUnderTest {
  entry: typeof official;
  table(name?: string): official.TableClient;
  service: official.TableServiceClient;
}

export interface ClientPair {
  official: ClientUnderTest;
  ours: ClientUnderTest;
  advanceClock(): void; // must be called before each case
  close(): Promise<void>;
}

const endpoint = "http://127.0.0.1:10002/acct";

export async function openClientPair(): Promise<ClientPair> {
  let now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const clock = { now: () => now };
  const open = () => openStore({ name: "acct", persistence: "memory", clock });
  const stores: [Store, Store] = [await open(), await open()];
  const [wire, direct] = stores;
  const transport = { httpClient: wire.httpClient, allowInsecureConnection: true };
  const local = { store: direct };
  return {
    official: {
      entry: official,
      table: (name = "people") => new official.TableClient(endpoint, name, transport),
      service: new official.TableServiceClient(endpoint, transport),
    },
    ours: {
      entry: ours as unknown as typeof official,
      table: (name = "people") =>
        new ours.TableClient(endpoint, name, local) as unknown as official.TableClient,
      service: new ours.TableServiceClient(
        endpoint,
        local,
      ) as unknown as official.TableServiceClient,
    },
    advanceClock() {
      now += 1000;
    },
    async close() {
      for (const store of stores) await store.close();
    },
  };
}

export type Call = (side: ClientUnderTest) => unknown;

// Makes the call on both sides, and checks that the outcomes are equal except for the documented
// differences.
export async function assertSameOutcome(both: ClientPair, call: Call, name = ""): Promise<void> {
  const expected = withoutDifferences(await outcomeOf(() => call(both.official)));
  const got = withoutDifferences(await outcomeOf(() => call(both.ours)), expected);
  try {
    assert.deepEqual(got, expected);
  } catch (error) {
    throw new Error(`${name}\n${(error as Error).message}`);
  }
}

// Removes the documented differences, which have numbers in the documentation.
function withoutDifferences(outcome: Outcome, expected?: Outcome): Outcome {
  if ("error" in outcome) {
    const error = { ...outcome.error };
    delete error.request; // ours has no request
    delete error.response;
    if ("details" in error) error.details = withoutHeaders(error.details);
    // Only our errors have a hint, and each of the service's errors has one.
    if (expected !== undefined && error.name === "RestError") assert.match(`${error.hint}`, /\.$/);
    delete error.hint;
    // 1: the official client leaves `code` undefined for single operations.
    if (isError(expected) && !("code" in expected.error)) {
      const { errorCode } = (error.details ?? {}) as { errorCode?: string };
      assert.equal(error.code, errorCode);
      delete error.code;
    }
    return { error };
  }
  const { value } = outcome;
  // 8: the official client returns odata.metadata with an entity.
  if (isObject(value) && "odata.metadata" in value) {
    const { "odata.metadata": _, ...rest } = value;
    return { value: rest };
  }
  return outcome;
}

// Removes the response headers from an error's details. Our errors have no response.
function withoutHeaders(details: unknown): unknown {
  if (!isObject(details)) return details;
  const headers = /^(date|server|cache-control|content-type|preference-applied|x-.*)$/;
  return Object.fromEntries(Object.entries(details).filter(([name]) => !headers.test(name)));
}

function isError(outcome: Outcome | undefined): outcome is { error: Record<string, unknown> } {
  return outcome !== undefined && "error" in outcome;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Outcome = { value: unknown } | { error: Record<string, unknown> };

// Returns the outcome of a call as plain data, with placeholders for ids and times in messages.
async function outcomeOf(call: () => unknown): Promise<Outcome> {
  try {
    return { value: plain(await call()) };
  } catch (error) {
    const { name, message, ...rest } = error as Error;
    return { error: plain({ name, message, ...rest }) as Record<string, unknown> };
  }
}

const guid = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/;
const messageEnd =
  /(\\n|\n)RequestId:[\da-f-]{36}(\\n|\n)Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z/g;
const idNames: ReadonlySet<string> = new Set(["clientRequestId", "requestId"]);

// Returns the value without undefined properties and functions. A page keeps its continuation
// token.
function plain(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    if (idNames.has(name) && guid.test(value)) return "<guid>";
    return value.replace(messageEnd, "$1RequestId:<id>$2Time:<time>");
  }
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => plain(item));
    const { continuationToken } = value as { continuationToken?: string };
    if (continuationToken === undefined) return items;
    return { items, continuationToken: withoutEmptyKey(continuationToken) };
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && typeof member !== "function")
    .map(([key, member]) => [key, plain(member, key)]);
  return Object.fromEntries(members);
}

// Removes an empty next row key from a token. Our client omits it, our service does not.
function withoutEmptyKey(token: string): string {
  if (token.startsWith("1!")) return token; // a token of tables
  return Buffer.from(token, "base64").toString().replace(',"nextRowKey":"1!0!"', "");
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}
