// The same calls through the official client (over the REST door) and through entitable/data-tables (over the direct door), on two
// stores with one clock, so that even timestamps and ETags must agree.

import * as official from "@azure/data-tables";
import type { Store } from "../../../web/src/types.ts";
import { dataTables as ours } from "./data-tables.ts";
import { openStore } from "./package.ts";

// What a case may use, with the official types: that ours fit is for the compiler to say.
export interface Side {
  entry: typeof official;
  table(name?: string): official.TableClient;
  service: official.TableServiceClient;
}

export interface Both {
  official: Side;
  ours: Side;
  tick(): void; // before each case
  close(): Promise<void>;
}

const endpoint = "http://127.0.0.1:10002/acct";

export async function openBoth(): Promise<Both> {
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
    tick() {
      now += 1000;
    },
    async close() {
      for (const store of stores) await store.close();
    },
  };
}

export type Outcome = { value: unknown } | { error: Record<string, unknown> };

// What a call gives, as plain data in which ids and times of messages are replaced by their names.
export async function outcomeOf(call: () => unknown): Promise<Outcome> {
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

// What is undefined is left out, and so are functions; a page keeps its token.
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
    return continuationToken === undefined ? items : { items, continuationToken };
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && typeof member !== "function")
    .map(([key, member]) => [key, plain(member, key)]);
  return Object.fromEntries(members);
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of items) out.push(item);
  return out;
}
