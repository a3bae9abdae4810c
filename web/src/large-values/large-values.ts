// Reads and writes values that exceed the size of a property or an entity.

import { serviceErrorFields } from "../service-error-fields.ts";
import type { RandomSource, TransactionAction } from "../types.ts";
import { platformRandom } from "../util/random.ts";
import {
  allPossibleRowKeys,
  decodeRows,
  encodeRows,
  type FoundRow,
  type Key,
  rowRangeFilter,
  valueBytesMax,
} from "./value-rows.ts";

/**
 * The table methods that LargeValues needs. The official TableClient and every table handle have
 * them.
 */
export interface LargeValueTable {
  submitTransaction(actions: TransactionAction[]): Promise<unknown>;
  listEntities(options?: {
    queryOptions?:
      | { filter?: string | undefined; select?: readonly string[] | undefined }
      | undefined;
  }): AsyncIterable<object>;
}

export interface LargeValueOptions {
  random?: RandomSource;
}

/** Additional actions on the same partition, for the same transaction. */
export interface LargeValueWriteOptions {
  additionalActions?: readonly TransactionAction[];
}

/**
 * Values of up to 2,883,584 bytes, each under its own keys, in up to four rows of an existing
 * table. A write replaces the whole value in one transaction, and deletes rows that are no longer
 * needed. A reader never gets a mixture of two values: each row has the version of its write, and
 * if the versions differ, the rows are read again. Store larger values outside the table, with
 * their URL in a row.
 */
export class LargeValues {
  /**
   * The longest value: 2,883,584 bytes. As base64, its rows fit into a transaction's 4 MiB and
   * leave space for other actions.
   */
  static readonly bytesMax: number = valueBytesMax;
  readonly #table: LargeValueTable;
  readonly #random: RandomSource;

  constructor(table: LargeValueTable, { random = platformRandom }: LargeValueOptions = {}) {
    this.#table = table;
    this.#random = random;
  }

  /**
   * Reads a value. Returns undefined if there is none. Rejects if the rows do not form a value
   * because another program changed them.
   */
  async read(partitionKey: string, rowKey: string): Promise<Uint8Array | undefined> {
    const key = { partitionKey, rowKey };
    let before: string | undefined;
    for (;;) {
      const rows = await this.#rows(key);
      const [first] = rows;
      if (first?.rowKey !== rowKey) return undefined;
      const value = decodeRows(key, rows);
      if (value !== undefined) return value;
      // Another write may have happened while the pages of the result were read. The first row then
      // has another ETag than in the previous attempt. (Its Version can be the same, because a
      // client may repeat a write whose response was lost.)
      if (first.etag === before) throw new Error(inconsistentRowsMessage(key));
      before = first.etag;
    }
  }

  /**
   * Inserts or replaces a value. `additionalActions` are further actions on the partition in the
   * same transaction, such as a change of the entity that the value belongs to. If they fail, the
   * call rejects with their error and nothing is written.
   */
  async write(
    partitionKey: string,
    rowKey: string,
    value: Uint8Array,
    { additionalActions = [] }: LargeValueWriteOptions = {},
  ): Promise<void> {
    if (value.length > valueBytesMax) throw new RangeError(tooLargeMessage(value.length));
    const key = { partitionKey, rowKey };
    const version = this.#newVersion();
    const rows = encodeRows(key, version, value);
    const needed = new Set(rows.map((row) => row.rowKey));
    for (;;) {
      const found = await this.#rows(key, ["RowKey", "Version"]);
      const firstRow = found.find((row) => row.rowKey === rowKey);
      // The write has succeeded. Its response was lost, and the client repeated it.
      if (firstRow?.Version === version) return;
      const writes = rows.map((row): TransactionAction => {
        if (row.rowKey !== rowKey) return ["upsert", row, "Replace"];
        return firstRow ? ["update", row, "Replace", { etag: firstRow.etag }] : ["create", row];
      });
      const deletes = deleteActions(
        partitionKey,
        found.filter((row) => !needed.has(row.rowKey)),
      );
      if (await this.#submit([...writes, ...deletes], additionalActions)) return;
    }
  }

  /**
   * Deletes a value. Returns false if there was none. `additionalActions` are carried out even
   * then, and twice if a response is lost and the client repeats the request. After a concurrent
   * write, or if another client deletes only the first row, other rows may remain. No reader sees
   * them, and the next write deletes them.
   */
  async delete(
    partitionKey: string,
    rowKey: string,
    { additionalActions = [] }: LargeValueWriteOptions = {},
  ): Promise<boolean> {
    let wasThere = false;
    for (;;) {
      const found = await this.#rows({ partitionKey, rowKey }, ["RowKey"]);
      const isThere = found[0]?.rowKey === rowKey;
      wasThere ||= isThere;
      // Without a first row, rows may belong to a concurrent write and must be kept.
      const deletes = isThere ? deleteActions(partitionKey, found) : [];
      if (deletes.length + additionalActions.length === 0) return wasThere;
      if (await this.#submit(deletes, additionalActions)) return wasThere;
    }
  }

  // Returns the value's rows in key order. Other rows in the key range are left out.
  async #rows(key: Key, select?: string[]): Promise<FoundRow[]> {
    const queryOptions = { filter: rowRangeFilter(key), ...(select && { select }) };
    const valueRowKeys = allPossibleRowKeys(key);
    const rows: FoundRow[] = [];
    for await (const found of this.#table.listEntities({ queryOptions })) {
      const row = found as FoundRow;
      if (valueRowKeys.includes(row.rowKey)) rows.push(row);
    }
    return rows;
  }

  // Sends `own` and the additional actions as one transaction. Returns false if an action of `own`
  // failed because another client changed the value since its rows were read.
  async #submit(
    own: TransactionAction[],
    additionalActions: readonly TransactionAction[],
  ): Promise<boolean> {
    const actions = [...own, ...additionalActions];
    try {
      await this.#table.submitTransaction(actions);
      return true;
    } catch (error) {
      // If a transaction has a single action, the service reports no index.
      const { code = "", failedIndex = actions.length === 1 ? 0 : own.length } =
        serviceErrorFields(error);
      if (failedIndex < own.length && concurrentChangeCodes.has(code)) return false;
      throw error;
    }
  }

  #newVersion(): string {
    const bytes = new Uint8Array(8);
    this.#random.fill(bytes);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

const concurrentChangeCodes: ReadonlySet<string> = new Set([
  "EntityAlreadyExists",
  "ResourceNotFound",
  "UpdateConditionNotSatisfied",
]);

function deleteActions(partitionKey: string, rows: readonly FoundRow[]): TransactionAction[] {
  return rows.map(({ rowKey }) => ["delete", { partitionKey, rowKey }]);
}

function tooLargeMessage(bytes: number): string {
  return (
    `A value has at most ${valueBytesMax} bytes, and this one has ${bytes}. ` +
    "Store it outside the table, and put its address into a row."
  );
}

function inconsistentRowsMessage({ partitionKey, rowKey }: Key): string {
  return (
    `The rows of the value "${rowKey}" in the partition "${partitionKey}" ` +
    "are not all of the same write."
  );
}
