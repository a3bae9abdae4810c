// Entity group transactions: the official client's builder, and the conversions between actions and
// the store's operations.

import type {
  TableEntity,
  TableTransactionEntityResponse,
  TableTransactionResponse,
  TransactionAction,
  UpdateMode,
  UpdateTableEntityOptions,
} from "../types.ts";
import { requireKeys, writeKind } from "./operation-checks.ts";
import type { WriteOperation } from "./rpc-codec.ts";

/** Collects actions for submitTransaction. */
export class TableTransaction {
  actions: TransactionAction[];

  constructor(actions?: TransactionAction[]) {
    this.actions = actions ?? [];
  }

  createEntity<T extends object = Record<string, unknown>>(entity: TableEntity<T>): void {
    this.actions.push(["create", entity as TableEntity]);
  }

  deleteEntity(partitionKey: string, rowKey: string): void {
    this.actions.push(["delete", { partitionKey, rowKey }]);
  }

  updateEntity<T extends object = Record<string, unknown>>(
    entity: TableEntity<T>,
    updateOptions?: UpdateTableEntityOptions,
  ): void;
  updateEntity<T extends object = Record<string, unknown>>(
    entity: TableEntity<T>,
    updateMode: UpdateMode,
    updateOptions?: UpdateTableEntityOptions,
  ): void;
  updateEntity<T extends object = Record<string, unknown>>(
    entity: TableEntity<T>,
    modeOrOptions?: UpdateMode | UpdateTableEntityOptions,
    updateOptions?: UpdateTableEntityOptions,
  ): void {
    const mode = typeof modeOrOptions === "string" ? modeOrOptions : "Merge";
    const options = typeof modeOrOptions === "object" ? modeOrOptions : updateOptions;
    this.actions.push(["update", entity as TableEntity, mode, options ?? {}]);
  }

  upsertEntity<T extends object = Record<string, unknown>>(
    entity: TableEntity<T>,
    updateMode: UpdateMode = "Merge",
  ): void {
    this.actions.push(["upsert", entity as TableEntity, updateMode]);
  }
}

/**
 * Converts actions to operations. Makes the checks that the official client makes before it sends a
 * request; the core makes all others.
 * @internal
 */
export function operationsFromActions(
  actions: readonly Readonly<TransactionAction>[],
): WriteOperation[] {
  const first = actions[0];
  if (first === undefined) throw new TypeError("A transaction needs at least one action.");
  return actions.map((action) => {
    const operation = operationFromAction(action);
    if (operation.partitionKey !== first[1].partitionKey) {
      throw new Error("All operations in a transaction must target the same partitionKey");
    }
    return operation;
  });
}

function operationFromAction(action: Readonly<TransactionAction>): WriteOperation {
  const [verb, entity, mode = "Merge", options] = action;
  const { partitionKey, rowKey } = entity;
  switch (verb) {
    case "create":
      return { kind: "insert", partitionKey, rowKey, entity };
    case "delete":
      requireKeys(partitionKey, rowKey, entity);
      return { kind: "delete", partitionKey, rowKey, etag: "*" };
    case "update": {
      requireKeys(partitionKey, rowKey, entity);
      const kind = writeKind(mode, "merge", "replace");
      return { kind, partitionKey, rowKey, entity, etag: options?.etag ?? "*" };
    }
    case "upsert":
      requireKeys(partitionKey, rowKey, entity);
      return {
        kind: writeKind(mode, "insertOrMerge", "insertOrReplace"),
        partitionKey,
        rowKey,
        entity,
      };
    default:
      throw new TypeError(`Unknown transaction action: ${String(verb)}`);
  }
}

/** @internal */
export function transactionResponse(
  operations: readonly WriteOperation[],
  etags: readonly (string | undefined)[],
): TableTransactionResponse {
  const subResponses = operations.map(({ rowKey }, i): TableTransactionEntityResponse => {
    const etag = etags[i];
    return { status: 204, rowKey, ...(etag === undefined ? {} : { etag }) };
  });
  return {
    status: 202,
    subResponses,
    getResponseForEntity: (rowKey) => subResponses.find((response) => response.rowKey === rowKey),
  };
}
