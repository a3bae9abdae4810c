// A push as the body of one entity group transaction.

import { type Key, partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { RemoteOperation } from "../sync/operation.ts";
import { entityJson } from "./entity-json.ts";

export interface BatchRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Throws URIError if a key has a lone surrogate, which no URL can have. */
export function entityPath(table: string, key: Key): string {
  return `${table}(PartitionKey='${literal(partitionOf(key))}',RowKey='${literal(rowKeyOf(key))}')`;
}

/** As a literal of a URL, without its quotes. */
const literal = (key: string): string => encodeURIComponent(key.replaceAll("'", "''"));

/** `token`: a GUID, because Azurite accepts no other boundaries. `tableUrl`: without a query. */
export function batchRequest(
  operations: readonly RemoteOperation[],
  token: string,
  tableUrl: string,
): BatchRequest {
  const parts = operations.map(
    (operation) =>
      `--changeset_${token}\r\nContent-Type: application/http\r\n` +
      `Content-Transfer-Encoding: binary\r\n\r\n${requestOf(operation, tableUrl)}\r\n`,
  );
  const type = (name: string) => `multipart/mixed; boundary=${name}_${token}`;
  const body =
    `--batch_${token}\r\nContent-Type: ${type("changeset")}\r\n\r\n${parts.join("")}` +
    `--changeset_${token}--\r\n--batch_${token}--\r\n`;
  return { headers: { "Content-Type": type("batch") }, body };
}

/** Cosmos DB refuses PATCH in a batch, so a merge has the form that all services take. */
const methods = { insert: "POST", merge: "POST", replace: "PUT", delete: "DELETE" };

function requestOf(operation: RemoteOperation, tableUrl: string): string {
  const { kind, key } = operation;
  const url = kind === "insert" ? tableUrl : entityPath(tableUrl, key);
  const lines = [`${methods[kind]} ${url} HTTP/1.1`];
  if (kind === "merge") lines.push("X-HTTP-Method: MERGE");
  if (kind !== "insert") lines.push(`If-Match: ${operation.etag}`);
  lines.push("Accept: application/json;odata=minimalmetadata", "DataServiceVersion: 3.0;");
  if (kind === "delete") return [...lines, "", ""].join("\r\n");
  lines.push("Content-Type: application/json");
  if (kind === "insert") lines.push("Prefer: return-no-content");
  const properties = kind === "merge" ? operation.set : operation.properties;
  return [...lines, "", entityJson(key, properties)].join("\r\n");
}
