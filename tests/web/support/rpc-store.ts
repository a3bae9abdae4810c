// An in-memory store for tests that consists only of an engine and the message codec.

import {
  type DecodeOptions,
  type EntityPage,
  type EntityQuery,
  ResponseDecoder,
  type TableQuery,
  type WriteOperation,
} from "../../../web/src/client/rpc-codec.ts";
import type { EdmTypes } from "../../../web/src/types.ts";
import { createEngine, type Engine } from "../../../web/src/wasm/engine.ts";
import { assertLoaded } from "./assert-loaded.ts";
import {
  encodeCreateTable,
  encodeDropTable,
  encodeGet,
  encodeListTables,
  encodeQuery,
  encodeWrite,
} from "./copied-messages.ts";

const decoder = new ResponseDecoder();

export const table = "people";

export class RpcStore {
  readonly engine: Engine;
  now = Date.UTC(2026, 0, 1);

  private constructor(engine: Engine) {
    this.engine = engine;
  }

  static async open(): Promise<RpcStore> {
    const engine = await createEngine();
    engine.recover(undefined);
    engine.finishRecovery();
    const store = new RpcStore(engine);
    store.commit(encodeCreateTable(table));
    return store;
  }

  // Stages, publishes and stores one message. Returns its response.
  commit(request: Uint8Array): Uint8Array {
    const staged = assertLoaded(this.engine.stage([request], this.now));
    if (staged.changes) {
      this.engine.publish();
      const sealed = this.engine.seal();
      if (sealed !== undefined)
        this.engine.markStored(sealed.sequence + sealed.segments.length - 1);
    }
    return staged.responses[0] as Uint8Array;
  }

  #read(request: Uint8Array): Uint8Array {
    return assertLoaded(this.engine.read(request));
  }

  write(operations: WriteOperation[], transaction = false, types?: Record<string, EdmTypes>) {
    return decoder.etagsOfWrite(this.commit(encodeWrite(table, operations, transaction, types)));
  }

  insert(entity: object, partitionKey = "p", rowKey = "r", types?: Record<string, EdmTypes>) {
    const operation: WriteOperation = { kind: "insert", partitionKey, rowKey, entity };
    return this.write([operation], false, types)[0];
  }

  // Inserts or replaces a row. Returns its ETag.
  put(entity: object, partitionKey = "p", rowKey = "r", types?: Record<string, EdmTypes>) {
    const kind = "insertOrReplace" as const;
    return this.write([{ kind, partitionKey, rowKey, entity }], false, types)[0];
  }

  get(
    partitionKey = "p",
    rowKey = "r",
    select?: string[],
    options?: DecodeOptions,
  ): Record<string, unknown> {
    return decoder.entity(
      this.#read(encodeGet(table, partitionKey, rowKey, select)),
      options ?? {},
    );
  }

  query(query: EntityQuery = {}, options?: DecodeOptions): EntityPage {
    return decoder.page(this.#read(encodeQuery(table, query)), options ?? {});
  }

  tables(query: TableQuery = {}) {
    return decoder.tables(this.#read(encodeListTables(query)));
  }

  drop(name: string) {
    return decoder.etagsOfWrite(this.commit(encodeDropTable(name)));
  }

  // Returns an entity without its system properties.
  properties(partitionKey = "p", rowKey = "r", options?: DecodeOptions): Record<string, unknown> {
    const {
      etag,
      timestamp,
      partitionKey: p,
      rowKey: r,
      ...rest
    } = this.get(partitionKey, rowKey, undefined, options);
    return rest;
  }

  // Writes an entity with these properties, and returns what is read.
  roundTrip(entity: object, types?: Record<string, EdmTypes>): Record<string, unknown> {
    this.put(entity, "p", "r", types);
    return this.properties();
  }

  // Like roundTrip(), but returns { type, value } pairs.
  typed(entity: object, types?: Record<string, EdmTypes>): Record<string, unknown> {
    this.put(entity, "p", "r", types);
    return this.properties("p", "r", { disableTypeConversion: true });
  }
}
