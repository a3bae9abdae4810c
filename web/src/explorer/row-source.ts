// Reads the rows of a query, with the types of their values.

import type { Store, TableEntityResultPage } from "../types.ts";
import { compareKeys, type GridRow, type RowChange } from "./explorer-grid.ts";

/** A query of the entities of a table, as the user has typed it. */
export interface FilterAndSelect {
  readonly filter: string;
  readonly select: readonly string[];
}

export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

export type RowPages = AsyncIterableIterator<TableEntityResultPage<Record<string, unknown>>>;

/** Adds the keys to a selection. Opening a row and importing an exported file need them. */
export function withKeys(select: readonly string[]): string[] {
  return [...new Set([...select, "PartitionKey", "RowKey"])];
}

export class RowSource {
  readonly #store: Store;
  readonly #table: string;
  readonly #query: FilterAndSelect;

  constructor(store: Store, table: string, query: FilterAndSelect) {
    this.#store = store;
    this.#table = table;
    this.#query = query;
  }

  get queryOptions(): { filter?: string; select?: string[] } {
    const { filter, select } = this.#query;
    return { ...(filter && { filter }), ...(select.length > 0 && { select: withKeys(select) }) };
  }

  pages(maxPageSize: number, filter = this.#query.filter): RowPages {
    const queryOptions = { ...this.queryOptions, ...(filter && { filter }) };
    const options = { queryOptions, disableTypeConversion: true };
    return this.#store.table(this.#table).listEntities(options).byPage({ maxPageSize });
  }

  /** Resolves to the row with the key; undefined, if there is none or the filter rejects it. */
  async rowOf({ partitionKey, rowKey }: RowKey): Promise<RowChange> {
    const key = `PartitionKey eq ${literal(partitionKey)} and RowKey eq ${literal(rowKey)}`;
    const { filter } = this.#query;
    const { value = [] } = await this.pages(
      1,
      filter === "" ? key : `${key} and (${filter})`,
    ).next();
    return { partitionKey, rowKey, row: value[0] as GridRow | undefined };
  }

  /**
   * Resolves to all rows up to and including `last`; undefined: all. Resolves to undefined if there
   * are more than `rowsMax`.
   */
  async rowsUpTo(last: GridRow | undefined, rowsMax: number): Promise<GridRow[] | undefined> {
    const rows: GridRow[] = [];
    for await (const page of this.pages(1000)) {
      for (const row of page as GridRow[]) {
        if (last !== undefined && compareKeys(row, last) > 0) return rows;
        if (rows.push(row) > rowsMax) return undefined;
      }
    }
    return rows;
  }
}

function literal(key: string): string {
  return `'${key.replaceAll("'", "''")}'`;
}
