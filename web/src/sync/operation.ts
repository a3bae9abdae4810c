// The request that brings one entity from its Base to its intended content. Every operation has a
// condition, so that no version of the remote is overwritten unseen: an insert requires that the
// entity is absent, all others send the Base's ETag. Never an upsert, never `If-Match: *`.

import { baseProperties } from "./base.ts";
import { changeBetween } from "./change.ts";
import type { Base, FrozenPush, Member, PushName, Receipt } from "./hidden-tables.ts";
import { type Key, receiptKey } from "./keys.ts";
import { isEncrypted, type Properties } from "./properties.ts";
import type { Value } from "./value.ts";

export type RemoteOperation =
  | { readonly kind: "insert"; readonly key: Key; readonly properties: Properties }
  | { readonly kind: "merge"; readonly key: Key; readonly set: Properties; readonly etag: string }
  | {
      readonly kind: "replace";
      readonly key: Key;
      readonly properties: Properties;
      readonly etag: string;
    }
  | { readonly kind: "delete"; readonly key: Key; readonly etag: string };

/**
 * Returns undefined if there is nothing to do. A Merge cannot remove a property, and is refused for
 * encrypted entities; a Replace does both. REQUIRES: the Base is not outdated.
 */
export function operationFor({ key, base, intended }: Member): RemoteOperation | undefined {
  const change = changeBetween(baseProperties(base), intended);
  if (change === undefined) return undefined;
  if (change.kind === "create") return { kind: "insert", key, properties: change.properties };
  const { etag } = (base as Base & { kind: "row" }).row;
  if (change.kind === "delete") return { kind: "delete", key, etag };
  const properties = intended as Properties;
  return change.unset.size > 0 || isEncrypted(properties)
    ? { kind: "replace", key, properties, etag }
    : { kind: "merge", key, set: change.set, etag };
}

/**
 * A Merge that changes nothing, for an entity whose operations cancel each other out: the batch is
 * refused if the entity has changed.
 */
export const conditionOn = (key: Key, { row }: Base & { kind: "row" }): RemoteOperation => ({
  kind: "merge",
  key,
  set: new Map(),
  etag: row.etag,
});

/** Before a push with an outdated Base could be sent, its members are read. */
export const isSendable = ({ members }: Pick<FrozenPush, "members">): boolean =>
  members.every(({ base }) => base.kind !== "outdated");

/**
 * The operations of a push, in the order in which they are sent. The receipt is the first.
 * REQUIRES: isSendable().
 */
export function operationsOf(push: FrozenPush, client: string): RemoteOperation[] {
  const operations = push.members.map(
    (member) =>
      operationFor(member) ?? conditionOn(member.key, member.base as Base & { kind: "row" }),
  );
  if (push.receipt) operations.unshift(receiptOperation(push, push.receipt.etag, client));
  return operations;
}

/** The property of a receipt that holds the token of the client's last push. */
export const receiptProperty = "push";

/** The text that a fence stores in the place of a token. */
export const fenceToken = ({ token }: Pick<PushName, "token">): string => `not ${token}`;

/** `etag`: the receipt's; undefined: the receipt is absent. */
export function receiptOperation(
  { partition, token }: PushName,
  etag: Receipt["etag"] | undefined,
  client: string,
): RemoteOperation {
  const key = receiptKey(partition, client);
  const properties = new Map<string, Value>([[receiptProperty, { type: "String", value: token }]]);
  return etag === undefined
    ? { kind: "insert", key, properties }
    : { kind: "replace", key, properties, etag };
}

const bytesOfEnvelope = 1024; // of an operation in a batch: boundaries, headers, and its URL
const bytesOfType = 64; // of a property's Edm type and punctuation

/** An upper bound of the operation's length in the body of a batch. */
export function bytesOf(operation: RemoteOperation): number {
  const properties = operation.kind === "merge" ? operation.set : propertiesOf(operation);
  let bytes = bytesOfEnvelope + 2 * 3 * utf8.encode(operation.key).length; // body; URL, escaped
  for (const [name, { value }] of properties) {
    bytes += 2 * utf8.encode(name).length + bytesOfType;
    bytes += utf8.encode(JSON.stringify(value)).length;
  }
  return bytes;
}

const utf8 = new TextEncoder();
const nothing: Properties = new Map();

const propertiesOf = (operation: RemoteOperation): Properties =>
  "properties" in operation ? operation.properties : nothing;
