// Resolvers (types.ts): convert the entities of a table with several entity types, each by the
// schema of its type.

import { StoreError } from "../errors.ts";
import type { RawEntity, Resolver, StandardSchema } from "../types.ts";

const system = ["etag", "partitionKey", "rowKey", "timestamp"] as const;

/**
 * Returns the entity converted by the schema of its type. Adds the system properties that the
 * schema removed. Returns the entity unchanged if there is no schema for its type. Throws
 * StoreError if the schema rejects the entity, or if there is no schema and `otherwise` is "error".
 */
export function convertEntityBySchema<T extends object>(
  entity: RawEntity,
  resolver: Resolver<T>,
): T | RawEntity {
  const { discriminator, schemas, otherwise } = resolver;
  const kind = typeof discriminator === "function" ? discriminator(entity) : entity[discriminator];
  const schema =
    typeof kind === "string" && Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (schema === undefined) {
    if (otherwise !== "error") return entity;
    throw invalid(entity, `there is no schema for ${String(kind)}`);
  }
  const value = typeof schema === "function" ? schema(entity) : validateWith(schema, entity);
  const missing = system.filter((name) => name in entity && !(name in value));
  const added = Object.fromEntries(missing.map((name) => [name, entity[name]]));
  if (Object.isExtensible(value)) return Object.assign(value, added);
  // the value is frozen
  return Object.assign(Object.create(Object.getPrototypeOf(value)), value, added);
}

function validateWith<T>(schema: StandardSchema<T>, entity: RawEntity): T {
  const result = schema["~standard"].validate(entity);
  if (result instanceof Promise) {
    throw new StoreError(
      "NotSupported",
      "A schema must validate synchronously, not with a promise.",
    );
  }
  if (result.issues === undefined) return result.value;
  throw invalid(entity, result.issues.map(({ message }) => message).join("; "));
}

function invalid({ partitionKey, rowKey }: RawEntity, why: string): StoreError {
  const keys = `partitionKey ${JSON.stringify(partitionKey)} and rowKey ${JSON.stringify(rowKey)}`;
  return new StoreError("ValidationFailed", `The entity with ${keys} can't be resolved: ${why}.`);
}
