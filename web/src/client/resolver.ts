// Rows of several kinds in one table, each as what it stands for.

import { StoreError } from "../errors.ts";
import type { RawEntity, Resolver, StandardSchema } from "../types.ts";

const system = ["etag", "partitionKey", "rowKey", "timestamp"] as const;

/** What the resolver makes of an entity as it was read. What the service adds to it is kept, whatever a shape leaves out. */
export function applyResolver<T extends object>(
  entity: RawEntity,
  resolver: Resolver<T>,
): T | RawEntity {
  const { by, shapes, otherwise } = resolver;
  const kind = typeof by === "function" ? by(entity) : entity[by];
  const shape = typeof kind === "string" && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  if (shape === undefined) {
    if (otherwise !== "error") return entity;
    throw invalid(entity, `no shape is called ${String(kind)}`);
  }
  const value = typeof shape === "function" ? shape(entity) : validateWith(shape, entity);
  const missing = system.filter((name) => name in entity && !(name in value));
  const added = Object.fromEntries(missing.map((name) => [name, entity[name]]));
  if (Object.isExtensible(value)) return Object.assign(value, added);
  return Object.assign(Object.create(Object.getPrototypeOf(value)), value, added); // it was frozen
}

function validateWith<T>(schema: StandardSchema<T>, entity: RawEntity): T {
  const result = schema["~standard"].validate(entity);
  if (result instanceof Promise) {
    throw new StoreError("NotSupported", "A shape validates at once, not by a promise.");
  }
  if (result.issues === undefined) return result.value;
  throw invalid(entity, result.issues.map(({ message }) => message).join("; "));
}

function invalid({ partitionKey, rowKey }: RawEntity, why: string): StoreError {
  const keys = `partitionKey ${JSON.stringify(partitionKey)} and rowKey ${JSON.stringify(rowKey)}`;
  return new StoreError("ValidationFailed", `The entity with ${keys} can't be resolved: ${why}.`);
}
