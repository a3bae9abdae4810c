// Encodes request messages and copies them, so that they stay valid.

import {
  type EntityQuery,
  RequestEncoder,
  type TableQuery,
  type WriteOperation,
} from "../../../web/src/client/rpc-codec.ts";
import type { EdmTypes } from "../../../web/src/types.ts";

const encoder = new RequestEncoder();
const copy = (message: Uint8Array) => message.slice();

export const encodeCreateTable = (name: string) => encoder.createTable(name, copy);
export const encodeDropTable = (name: string) => encoder.dropTable(name, copy);
export const encodeExplain = (table: string, query: EntityQuery) =>
  encoder.explain(table, query, copy);
export const encodeGet = (
  table: string,
  partitionKey: string,
  rowKey: string,
  select?: readonly string[],
) => encoder.get(table, partitionKey, rowKey, select, copy);
export const encodeListTables = (query: TableQuery = {}) => encoder.listTables(query, copy);
export const encodeQuery = (table: string, query: EntityQuery) => encoder.query(table, query, copy);
export const encodeWrite = (
  table: string,
  operations: readonly WriteOperation[],
  transaction: boolean,
  types?: Readonly<Record<string, EdmTypes | undefined>>,
) => encoder.write(table, operations, transaction, types, copy);
