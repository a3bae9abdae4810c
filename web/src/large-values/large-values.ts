// Reads and writes values that are larger than a property, or a row, may be.

import { parseServiceError } from "../service-error.ts";
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

/** The methods of a table that it needs: the official TableClient has them, and so has every table of a store. */
export interface LargeValueTable {
  submitTransaction(actions: TransactionAction[]): Promise<unknown>;
  listEntities(options: {
    queryOptions: { filter: string; select?: string[] };
  }): AsyncIterable<object>;
}

export interface LargeValueOptions {
  random?: RandomSource;
}

/** What else is to be done in the same transaction, in the same partition. */
export interface LargeValueWriteOptions {
  additionalActions?: readonly TransactionAction[];
}

/**
 * Values of up to 2,883,584 bytes, each under keys of its own, in up to four rows of a table that is to be there. A write replaces all of a value in one
 * transaction, and takes away the rows that it needs no longer, so a value is there whole or not at all. A reader never gets parts of two: rows say of
 * which write they are, and while they differ they are read again. What is larger belongs beside the table, with its address in a row.
 */
export class LargeValues {
  /** 2,883,584: as base64, in whole rows, that is what 4 MiB of a transaction have room for, and for some other actions. */
  static readonly bytesMax: number = valueBytesMax;
  readonly #table: LargeValueTable;
  readonly #random: RandomSource;

  constructor(table: LargeValueTable, { random = platformRandom }: LargeValueOptions = {}) {
    this.#table = table;
    this.#random = random;
  }

  /** Undefined if there is none. Rejects if its rows are not those of a write, since somebody else has changed them. */
  async read(partitionKey: string, rowKey: string): Promise<Uint8Array | undefined> {
    const key = { partitionKey, rowKey };
    let before: string | undefined;
    for (;;) {
      const rows = await this.#rows(key);
      const [first] = rows;
      if (first?.rowKey !== rowKey) return undefined;
      const value = decodeRows(key, rows);
      if (value !== undefined) return value;
      // Between two pages of the answer another write may have come; but then the first row is another one now: by its ETag, since a client that lost an
      // answer may carry out a write of the same Version again.
      if (first.etag === before) throw new Error(inconsistentRowsMessage(key));
      before = first.etag;
    }
  }

  /**
   * Writes a value, whether there is one or not. `additionalActions`: more actions of the partition, which are carried out in the same transaction, or not at all
   * either; such as a change of the entity that the value is of. If they fail, it rejects with their error.
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
      // It was carried out; but its answer was lost, and the client tried again by itself.
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
   * False if there was none. `additionalActions` is carried out in any case; even twice, if an answer is lost and the client tries again by itself. A write at the same
   * time, or somebody who deletes the first row alone, may leave rows that no reader sees, and that the next write takes away.
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
      // Rows without a first one may be those of a write that came between two pages, and must stay with it.
      const deletes = isThere ? deleteActions(partitionKey, found) : [];
      if (deletes.length + additionalActions.length === 0) return wasThere;
      if (await this.#submit(deletes, additionalActions)) return wasThere;
    }
  }

  // In the order of their keys; without those of others that stand between.
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

  // False if somebody else has changed the value since its rows were listed.
  async #submit(
    own: TransactionAction[],
    additionalActions: readonly TransactionAction[],
  ): Promise<boolean> {
    const actions = [...own, ...additionalActions];
    try {
      await this.#table.submitTransaction(actions);
      return true;
    } catch (error) {
      // Where there is only one action the service does not say which.
      const { code = "", failedIndex = actions.length === 1 ? 0 : own.length } =
        parseServiceError(error);
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
  return `A value has at most ${valueBytesMax} bytes, and this one ${bytes}: put it beside the table, and its address into a row.`;
}

function inconsistentRowsMessage({ partitionKey, rowKey }: Key): string {
  return `The rows of the value "${rowKey}" in the partition "${partitionKey}" are not all of the same write.`;
}
