// A push as the body of one entity group transaction.

import { type Key, partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { RemoteOperation } from "../sync/operation.ts";
import type { Properties } from "../sync/properties.ts";
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

/**
 * `token`: a GUID, because Azurite accepts no other boundaries. `tableUrl`: without a query.
 * `isCosmos`: whether a merge has the form of Cosmos DB.
 */
export function batchRequest(
  operations: readonly (RemoteOperation | UnconditionalMerge)[],
  token: string,
  tableUrl: string,
  isCosmos: boolean,
): BatchRequest {
  const parts = operations.map(
    (operation) =>
      `--changeset_${token}\r\nContent-Type: application/http\r\n` +
      `Content-Transfer-Encoding: binary\r\n\r\n${requestOf(operation, tableUrl, isCosmos)}\r\n`,
  );
  const type = (name: string) => `multipart/mixed; boundary=${name}_${token}`;
  const body =
    `--batch_${token}\r\nContent-Type: ${type("changeset")}\r\n\r\n${parts.join("")}` +
    `--changeset_${token}--\r\n--batch_${token}--\r\n`;
  return { headers: { "Content-Type": type("batch") }, body };
}

/** Creates the entity if it is absent. Only for beacons: others must not be overwritten unseen. */
export interface UnconditionalMerge {
  readonly kind: "merge";
  readonly key: Key;
  readonly set: Properties;
  readonly etag?: undefined;
}

const methods = { insert: "POST", merge: "MERGE", replace: "PUT", delete: "DELETE" };

/**
 * No form of a merge is known to be accepted by all services. Cosmos DB refuses PATCH, and its
 * recordings show no MERGE. Azurite takes a POST with X-HTTP-Method for an insert.
 */
function requestOf(
  operation: RemoteOperation | UnconditionalMerge,
  tableUrl: string,
  isCosmos: boolean,
): string {
  const { kind, key } = operation;
  const url = kind === "insert" ? tableUrl : entityPath(tableUrl, key);
  const hasHeader = kind === "merge" && isCosmos;
  const lines = [`${hasHeader ? "POST" : methods[kind]} ${url} HTTP/1.1`];
  if (hasHeader) lines.push("X-HTTP-Method: MERGE");
  if (kind !== "insert" && operation.etag !== undefined) lines.push(`If-Match: ${operation.etag}`);
  lines.push("Accept: application/json;odata=minimalmetadata", "DataServiceVersion: 3.0;");
  if (kind === "delete") return [...lines, "", ""].join("\r\n");
  lines.push("Content-Type: application/json");
  if (kind === "insert") lines.push("Prefer: return-no-content");
  const properties = kind === "merge" ? operation.set : operation.properties;
  return [...lines, "", entityJson(key, properties)].join("\r\n");
}
