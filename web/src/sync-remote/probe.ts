// Finds out what a remote can do, by a few reads of the table. An empty table shows little, so the
// profile of the service holds for what was not shown.

import { odata } from "../filter/odata.ts";
import { partitionOf, rowKeyOf } from "../sync/keys.ts";
import type { Failure, ScannedRow } from "../sync/remote.ts";
import type { Http, HttpResponse } from "./http.ts";
import { profileOf, type RemoteProfile, type Service, serviceOf } from "./profile.ts";
import { areSorted, continuationOf, rowsOfPage } from "./scans.ts";
import { failureOfQuery, isRefusal } from "./service-error.ts";
import { timestampOfETag, timestampText } from "./timestamp.ts";

export interface Probe {
  readonly kind: "probed";
  readonly profile: RemoteProfile;
  /** Whether the table had enough rows to show everything: else probe again when it has some. */
  readonly isComplete: boolean;
  readonly isDateReadable: boolean;
}

export interface ProbeOptions {
  /** Default: by the address, or by the name that the service sends, if it can be read. */
  readonly service?: Service | undefined;
  /** How old a read may be: with Cosmos DB, the account's consistency says it. */
  readonly staleReadMs?: number | undefined;
}

/** Reads only. */
export async function probe(
  http: Pick<Http, "base" | "send">,
  table: string,
  options: ProbeOptions = {},
): Promise<Probe | Failure> {
  const prober = new Prober(http, table);
  const page = await prober.page({ $top: `${rowsMax}` });
  if (page.kind !== "page") return failureOfPage(page);
  const { rows, response } = page;
  const { service = serviceOf(http.base, response.headers.get("Server")) } = options;
  const known = profileOf(service);
  const [row] = rows;
  const hasTimestampFilter = known.traits.hasTimestampFilter
    ? row && (await prober.hasTimestampFilter(row))
    : false;
  if (typeof hasTimestampFilter === "object") return hasTimestampFilter;
  const canContinue = await prober.canContinue(rows.length, response);
  if (typeof canContinue === "object") return canContinue;
  const traits = {
    ...known.traits,
    hasTimestampFilter: hasTimestampFilter ?? known.traits.hasTimestampFilter,
    // A few rows of a service without an order may be sorted by accident.
    isSorted: known.traits.isSorted && service !== "unknown" && areSorted(rows),
    staleReadMs: options.staleReadMs ?? known.traits.staleReadMs,
  };
  const isTimestampInETag = rows.every(
    ({ row: { etag, timestamp } }) => timestampOfETag(etag) === timestamp,
  );
  return {
    kind: "probed",
    profile: { ...known, traits, isTimestampInETag, canContinue: canContinue ?? false },
    isComplete: hasTimestampFilter !== undefined && canContinue !== undefined,
    isDateReadable: response.date !== undefined,
  };
}

const rowsMax = 100;
const emptyPagesMax = 100;

type Page =
  | { readonly kind: "page"; readonly rows: readonly ScannedRow[]; readonly response: HttpResponse }
  | { readonly kind: "refused" }
  | Failure;

const failureOfPage = (page: Exclude<Page, { kind: "page" }>): Failure =>
  page.kind === "refused" ? { kind: "failed" } : page;

class Prober {
  readonly #http: Pick<Http, "send">;
  readonly #table: string;

  constructor(http: Pick<Http, "send">, table: string) {
    this.#http = http;
    this.#table = table;
  }

  /** The first page that has rows, or the last. */
  async page(options: Readonly<Record<string, string>>): Promise<Page> {
    let next: Record<string, string> = {};
    for (let pages = 0; pages < emptyPagesMax; ++pages) {
      const page = await this.#page({ ...options, ...next });
      if (page.kind !== "page" || page.rows.length > 0) return page;
      const [partition, row] = continuationOf(page.response.headers) ?? [];
      if (partition === undefined) return page;
      next = { NextPartitionKey: partition, ...(row ? { NextRowKey: row } : {}) };
    }
    return { kind: "failed" };
  }

  async #page(options: Readonly<Record<string, string>>): Promise<Page> {
    const query = { $select: "PartitionKey,RowKey,Timestamp", ...options };
    const response = await this.#http.send({ method: "GET", path: `${this.#table}()`, query });
    if (typeof response !== "object" || response.status !== 200) {
      const isRefused = typeof response === "object" && isRefusal(response);
      return isRefused ? { kind: "refused" } : failureOfQuery(response);
    }
    const rows = rowsOfPage(response.text, true);
    return rows ? { kind: "page", rows, response } : { kind: "failed" };
  }

  /** A row that was changed meanwhile is returned, too. Undefined: the row was deleted. */
  async hasTimestampFilter({ key, row }: ScannedRow): Promise<boolean | undefined | Failure> {
    const partition = partitionOf(key);
    const isRow = odata`PartitionKey eq ${partition} and RowKey eq ${rowKeyOf(key)}`;
    const since = `Timestamp ge datetime'${timestampText(row.timestamp)}'`;
    const found = await this.page({ $filter: `${isRow} and ${since}` });
    if (found.kind === "refused") return false;
    if (found.kind !== "page") return found;
    if (found.rows.length > 0) return true;
    const again = await this.page({ $filter: isRow });
    if (again.kind !== "page") return failureOfPage(again);
    return again.rows.length > 0 ? false : undefined;
  }

  /** Undefined: the table has too few rows to show it. */
  async canContinue(rows: number, response: HttpResponse): Promise<boolean | undefined | Failure> {
    if (!response.mayHideHeaders || continuationOf(response.headers)) return true;
    if (rows < 2) return undefined;
    const page = await this.page({ $top: "1" });
    if (page.kind !== "page") return failureOfPage(page);
    return continuationOf(page.response.headers) !== undefined;
  }
}
