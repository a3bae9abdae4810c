// The older JavaScript client with promises instead of callbacks, and types for what the test
// reads.

import { createRequire } from "node:module";

// A property of an entity. The property ".metadata", which the client adds, has the ETag.
export interface Property {
  _?: unknown;
  $?: string;
  etag?: string;
}
export type Entity = Record<string, Property>;

export interface Answer<T> {
  result: T;
  response: { statusCode: number; headers: Record<string, string>; body: unknown };
}

export interface Page<T> {
  entries: T[];
  continuationToken: object | null;
}

// The result of one operation of a batch.
export interface Outcome {
  entity?: Entity;
  response: { statusCode: number; isSuccessful: boolean };
}

export interface Query {
  select(...names: string[]): Query;
  top(rows: number): Query;
  where(condition: string, ...values: unknown[]): Query;
  and(condition: string, ...values: unknown[]): Query;
  or(condition: string, ...values: unknown[]): Query;
}

export interface Batch {
  insertEntity(entity: Entity, options?: { echoContent: boolean }): void;
  deleteEntity(entity: Entity): void;
  mergeEntity(entity: Entity): void;
  replaceEntity(entity: Entity): void;
  insertOrReplaceEntity(entity: Entity): void;
  insertOrMergeEntity(entity: Entity): void;
  retrieveEntity(partitionKey: string, rowKey: string): void;
}

export interface AccessPolicy {
  Permissions?: string;
  Start?: Date;
  Expiry?: Date;
  StartPk?: string;
  StartRk?: string;
  EndPk?: string;
  EndRk?: string;
  IPAddressOrRange?: string;
}

export interface Service {
  enableGlobalHttpAgent: boolean;
  generateSharedAccessSignature(
    table: string,
    policy: { Id?: string; AccessPolicy?: AccessPolicy },
  ): string;
}

type Value = (value: unknown) => Property;

export interface Library {
  createTableService(
    account: string,
    key: string,
    host: string | { primaryHost: string; secondaryHost: string },
  ): Service;
  createTableService(connectionString: string): Service;
  createTableServiceWithSas(host: string, sas: string): Service;
  generateAccountSharedAccessSignature(account: string, key: string, policy: object): string;
  TableQuery: (new () => Query) & Record<string, (value: unknown) => string>;
  TableBatch: new () => Batch;
  TableUtilities: {
    entityGenerator: Record<
      "Int32" | "Int64" | "Binary" | "Boolean" | "String" | "Guid" | "Double" | "DateTime",
      Value
    >;
  };
}

// The test stage installs the client next to this file.
export const library: Library = createRequire(import.meta.url)("azure-storage");

// Calls a method that expects a callback. Resolves to the callback's result, or rejects with its
// error.
export function ask<T = unknown>(
  service: Service,
  method: string,
  ...words: unknown[]
): Promise<Answer<T>> {
  const methods = service as unknown as Record<string, (...words: unknown[]) => void>;
  return new Promise((resolve, reject) => {
    const tell = (error: Error | null, result: T, response: Answer<T>["response"]) => {
      if (error === null) resolve({ result, response });
      else reject(error);
    };
    methods[method]?.call(service, ...words, tell);
  });
}

// Reads all pages. Returns all entries and the sizes of the pages.
export async function all<T>(
  next: (token: object | null) => Promise<Answer<Page<T>>>,
): Promise<{ entries: T[]; sizes: number[] }> {
  const entries: T[] = [];
  const sizes: number[] = [];
  let token: object | null = null;
  do {
    const { result }: Answer<Page<T>> = await next(token);
    entries.push(...result.entries);
    sizes.push(result.entries.length);
    token = result.continuationToken;
  } while (token !== null);
  return { entries, sizes };
}
