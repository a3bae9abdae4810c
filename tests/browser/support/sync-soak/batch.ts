// What an entity group transaction asks for, and whether the response says that it was executed.

import type { Message } from "../../../web/support/fault-proxy.ts";
import { type RowKey, rowKeyOf } from "./rows.ts";

export interface Operation {
  readonly method: string;
  readonly key: RowKey;
  readonly partition: string;
  /** The names of the marker properties that it writes (workload.ts). */
  readonly markers: readonly string[];
}

const request = /^(POST|PUT|MERGE|PATCH|DELETE) (\S+) HTTP\/1\.1\r?\n([\s\S]*)/m;
const keysInUrl = /\(PartitionKey='([^)]*)',RowKey='([^)]*)'\)/;

/** Returns the operations of the body of a request. */
export function operationsOf(body: string): Operation[] {
  const parts = body.split(/Content-Type: application\/http\b/i).slice(1);
  return parts.map((part) => {
    const [, method = "", url = "", rest = ""] = request.exec(part) ?? [];
    const [partition, row] = keysIn(url) ?? keysOfEntity(rest);
    const markers = [...rest.matchAll(/"(m_[a-z]+_\d+)":/g)].map(([, name]) => name as string);
    return { method, partition, key: rowKeyOf(partition, row), markers };
  });
}

function keysIn(url: string): [string, string] | undefined {
  const [, partition, row] = keysInUrl.exec(decodeURIComponent(url)) ?? [];
  if (partition === undefined || row === undefined) return undefined;
  return [partition.replaceAll("''", "'"), row.replaceAll("''", "'")];
}

function keysOfEntity(text: string): [string, string] {
  const { PartitionKey, RowKey } = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? "{}");
  return [String(PartitionKey), String(RowKey)];
}

/** Whether the response says that all operations were executed. */
export function isAccepted({ status, body }: Message): boolean {
  const statuses = [...body.toString().matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, code]) => code);
  return status === 202 && statuses.length > 0 && statuses.every((code) => code?.startsWith("2"));
}
