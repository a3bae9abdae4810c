// Encodes operations and queries as RPC request messages (core/rpc/LAYOUT.md).

import { serviceName } from "../edm/service-name.ts";
import { StoreError } from "../errors.ts";
import type { EdmTypes } from "../types.ts";
import {
  absentLength,
  headerBytes,
  notStringLength,
  operationKind,
  requestKind,
  writeTransaction,
} from "./message-layout.ts";
import { MessageWriter } from "./message-writer.ts";
import { PropertyNames } from "./property-names.ts";
import { putValue } from "./property-writer.ts";

export interface WriteOperation {
  kind: keyof typeof operationKind;
  partitionKey: string;
  rowKey: string;
  entity?: object;
  properties?: ReadonlyMap<string, unknown>; // in place of `entity`
  etag?: string; // for replace, merge and delete: "*" or one ETag; required by delete
}

export interface EntityKey {
  partitionKey: string;
  rowKey: string;
}

export interface EntityQuery {
  filter?: string;
  select?: readonly string[]; // names in the client's form or the service's; empty: all
  top?: number; // default: 1000
  next?: { partitionKey: string; rowKey: string };
  descending?: boolean;
}

export interface PartitionKeysQuery {
  top?: number;
  next?: string;
}

export interface TableQuery {
  filter?: string;
  top?: number;
  next?: string;
}

type TypesByName = Readonly<Record<string, EdmTypes | undefined>>;

// Each method encodes a message, passes it to the caller's `send`, and returns the result of
// `send`. The message is valid only until `send` returns; the core rejects later uses. `send` may
// call the encoder again.
export class RequestEncoder {
  #idleWriter: MessageWriter | undefined = new MessageWriter();
  #isReadingEntities = false; // the entities' getters, which may call this encoder, run only then
  readonly #names: PropertyNames;

  // `entitiesHaveKeys` false: entities of writes have no system properties, and may have custom
  // properties with the names of those.
  constructor(entitiesHaveKeys = true) {
    this.#names = new PropertyNames(!entitiesHaveKeys);
  }

  get<R>(
    table: string,
    partitionKey: string,
    rowKey: string,
    select: readonly string[] | undefined,
    send: (message: Uint8Array) => R,
  ): R {
    const writer = this.#begin();
    writer.putText(table);
    writer.putWord(putKey(writer, partitionKey));
    writer.putWord(putKey(writer, rowKey));
    putSelect(writer, select);
    return this.#send(writer, writer.finish(requestKind.get), send);
  }

  // Reads several rows. The response is a page of the rows before the first missing one.
  multiGet<R>(table: string, keys: readonly EntityKey[], send: (message: Uint8Array) => R): R {
    const writer = this.#begin();
    writer.putText(table);
    writer.putWord(keys.length);
    for (const { partitionKey, rowKey } of keys) {
      writer.putText(partitionKey);
      writer.putText(rowKey);
    }
    return this.#send(writer, writer.finish(requestKind.multiGet), send);
  }

  query<R>(table: string, query: EntityQuery, send: (message: Uint8Array) => R): R {
    const kind = query.descending === true ? requestKind.queryDescending : requestKind.query;
    return this.#entityQuery(kind, table, query, send);
  }

  count<R>(table: string, query: EntityQuery, send: (message: Uint8Array) => R): R {
    return this.#entityQuery(requestKind.count, table, query, send);
  }

  partitionKeys<R>(table: string, query: PartitionKeysQuery, send: (message: Uint8Array) => R): R {
    const writer = this.#begin();
    writer.putText(table);
    putTop(writer, query.top);
    writer.putOptionalText(query.next);
    return this.#send(writer, writer.finish(requestKind.partitionKeys), send);
  }

  explain<R>(table: string, query: EntityQuery, send: (message: Uint8Array) => R): R {
    return this.#entityQuery(requestKind.explain, table, query, send);
  }

  listTables<R>(query: TableQuery, send: (message: Uint8Array) => R): R {
    const writer = this.#begin();
    writer.putOptionalText(query.filter);
    putTop(writer, query.top);
    writer.putOptionalText(query.next);
    return this.#send(writer, writer.finish(requestKind.listTables), send);
  }

  // Encodes a message whose words and text `put` writes.
  message<R>(
    kind: number,
    put: (writer: MessageWriter) => void,
    send: (message: Uint8Array) => R,
  ): R {
    const writer = this.#begin();
    put(writer);
    return this.#send(writer, writer.finish(kind), send);
  }

  createTable<R>(name: string, send: (message: Uint8Array) => R): R {
    const writer = this.#begin();
    writer.putText(name);
    return this.#send(writer, writer.finish(requestKind.createTable), send);
  }

  dropTable<R>(name: string, send: (message: Uint8Array) => R): R {
    const writer = this.#begin();
    writer.putText(name);
    return this.#send(writer, writer.finish(requestKind.dropTable), send);
  }

  // Encodes a write. `types` gives the Edm types of properties whose values are plain numbers.
  // Throws a TypeError if a value has no Edm type; the core checks all other rules. A getter of an
  // entity must not call this encoder: it gets NotSupported.
  write<R>(
    table: string,
    operations: readonly WriteOperation[],
    transaction: boolean,
    types: TypesByName | undefined,
    send: (message: Uint8Array) => R,
  ): R {
    const writer = this.#begin();
    this.#names.beginMessage();
    writer.at += 4; // space for four words that are written when the names are known
    this.#isReadingEntities = true;
    try {
      for (const operation of operations) putOperation(writer, this.#names, operation, types);
    } finally {
      this.#isReadingEntities = false;
    }
    const words = writer.words;
    words[headerBytes / 4] = transaction ? writeTransaction : 0;
    words[headerBytes / 4 + 1] = operations.length;
    words[headerBytes / 4 + 2] = this.#names.countInMessage;
    words[headerBytes / 4 + 3] = table.length;
    return this.#send(
      writer,
      writer.finish(requestKind.write, this.#names.putNames(writer, table)),
      send,
    );
  }

  #entityQuery<R>(
    kind: number,
    table: string,
    query: EntityQuery,
    send: (message: Uint8Array) => R,
  ): R {
    const writer = this.#begin();
    writer.putText(table);
    writer.putOptionalText(query.filter);
    putTop(writer, query.top);
    writer.putOptionalText(query.next?.partitionKey);
    writer.putOptionalText(query.next?.rowKey);
    putSelect(writer, query.select);
    return this.#send(writer, writer.finish(kind), send);
  }

  #begin(): MessageWriter {
    if (this.#isReadingEntities) throw reentrantCallError();
    const writer = this.#idleWriter ?? new MessageWriter();
    this.#idleWriter = undefined;
    writer.begin();
    return writer;
  }

  #send<R>(writer: MessageWriter, message: Uint8Array, send: (message: Uint8Array) => R): R {
    try {
      return send(message);
    } finally {
      writer.invalidateMessage();
      this.#idleWriter = writer;
    }
  }
}

function reentrantCallError(): StoreError {
  const message = "A getter of an entity called a store while that entity was being written.";
  return new StoreError("NotSupported", message, {
    hint: "Call the store before the write, and write the result.",
  });
}

// Writes the selected names. The ETag is always returned, so its name is left out.
function putSelect(writer: MessageWriter, select: readonly string[] | undefined): void {
  const countAt = writer.at;
  writer.putWord(0);
  if (select === undefined) return;
  let count = 0;
  for (const name of select) {
    if (name === "etag" || name === "odata.etag") continue;
    writer.putText(serviceName(name));
    ++count;
  }
  writer.words[countAt] = count;
}

// Writes `top`. The core rejects what is not an integer from 0 to 1000; 1001 stands for all such
// values, because one word cannot represent them.
function putTop(writer: MessageWriter, top: number | undefined): void {
  if (top === undefined) writer.putWord(absentLength);
  else writer.putWord(Number.isInteger(top) && top >= 0 && top <= 1000 ? top : 1001);
}

function putOperation(
  writer: MessageWriter,
  names: PropertyNames,
  operation: WriteOperation,
  types: TypesByName | undefined,
): void {
  const operationAt = writer.at;
  writer.reserveWords(4);
  writer.at += 4;
  writer.words[operationAt + 1] = putKey(writer, operation.partitionKey);
  writer.words[operationAt + 2] = putKey(writer, operation.rowKey);
  writer.words[operationAt + 3] =
    operation.etag === undefined ? absentLength : operation.etag.length;
  if (operation.etag !== undefined) writer.putTextWithoutLength(operation.etag);
  let count = 0;
  let place = 0;
  const entity = operation.entity as Record<string, unknown> | undefined;
  for (const name in entity) {
    const number = names.numberOf(name, place++);
    if (number >= 0) count += putProperty(writer, number, name, entity[name], operation, types);
  }
  for (const [name, value] of operation.properties ?? []) {
    const number = names.numberOf(name, place++);
    if (number >= 0) count += putProperty(writer, number, name, value, operation, types);
  }
  writer.words[operationAt] = operationKind[operation.kind] | (count << 8);
}

// Writes the property if it has a value that is stored. Returns the number of properties written.
function putProperty(
  writer: MessageWriter,
  number: number, // of its name
  name: string,
  value: unknown,
  operation: WriteOperation,
  types: TypesByName | undefined,
): 0 | 1 {
  if (value === undefined || value === null) return 0;
  writer.reserveWords(4);
  writer.words[writer.at] = number;
  if (!putValue(writer, value, name, types, operation)) return 0;
  writer.at += 4;
  return 1;
}

// Writes a key's text and returns its length. For a key that is not a string, returns a special
// length that the core rejects.
function putKey(writer: MessageWriter, key: unknown): number {
  if (typeof key === "string") {
    writer.putTextWithoutLength(key);
    return key.length;
  }
  return key === undefined || key === null ? absentLength : notStringLength;
}
