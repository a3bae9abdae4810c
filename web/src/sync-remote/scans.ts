// Scans of key ranges, page by page.

import { isInRange, type Key, type KeyRange, keyAfter } from "../sync/keys.ts";
import type { RemoteTraits, ScanAnswer, ScannedRow, ScanRequest } from "../sync/remote.ts";
import { type JsonEntity, parseTypedJson, rowOf } from "./entity-json.ts";
import type { Http, HttpRequest, HttpResponse, HttpResult } from "./http.ts";
import { stretchesOf } from "./key-stretches.ts";
import type { RemoteProfile } from "./profile.ts";
import { failureOf } from "./service-error.ts";
import { timestampText } from "./timestamp.ts";

export interface ScanOptions {
  readonly table: string;
  readonly profile: RemoteProfile;
  readonly filter?: string | undefined;
}

/** Where a scan continues: what the planner keeps as a token. */
interface Position {
  /** The scan had no token, so it continued after this key. */
  readonly after?: Key | undefined;
  readonly stretch: number;
  /** Of the service. */
  readonly next?: readonly [partition: string, row: string | null] | undefined;
}

export class Scans {
  readonly #http: Http;
  readonly #options: ScanOptions;
  #isSorted: boolean;
  #canContinue: boolean;

  constructor(http: Http, options: ScanOptions) {
    this.#http = http;
    this.#options = options;
    this.#isSorted = options.profile.traits.isSorted;
    this.#canContinue = options.profile.canContinue;
  }

  /**
   * Pages of a scan by Timestamp are often empty, and then only a token shows that there are more.
   * A later process continues such a scan after its last key, so the keys must be sorted.
   */
  get traits(): RemoteTraits {
    const { traits } = this.#options.profile;
    const isSorted = this.#isSorted;
    const hasTimestampFilter = traits.hasTimestampFilter && this.#canContinue && isSorted;
    return { ...traits, isSorted, hasTimestampFilter };
  }

  /** `top`: the most rows of a page. */
  async page(
    request: ScanRequest,
    top?: number,
  ): Promise<{ answer: ScanAnswer; result: HttpResult }> {
    const position: Position =
      request.token === undefined ? { stretch: 0 } : JSON.parse(request.token);
    const { after } = position;
    const range = after === undefined ? request.range : { ...request.range, from: keyAfter(after) };
    const stretches = stretchesOf(range);
    const filter = stretches[position.stretch];
    if (filter === undefined) return emptyPage;
    const result = await this.#http.send(this.#requestOf(request, filter, position, top));
    const rows = this.#rowsOf(result, request, range);
    if (rows === undefined) return { answer: failureOf(result), result };
    const next = this.#nextPosition(position, stretches.length, rows, result as HttpResponse);
    const token = next && JSON.stringify(next);
    return { answer: { kind: "page", rows, token }, result };
  }

  #requestOf(
    request: ScanRequest,
    stretch: string,
    { next }: Position,
    top: number | undefined,
  ): HttpRequest {
    const { filter, profile, table } = this.#options;
    const conditions = [
      stretch,
      request.since === undefined ? "" : `Timestamp ge datetime'${timestampText(request.since)}'`,
      request.isFiltered && filter ? `(${filter})` : "",
    ];
    const names = profile.isTimestampInETag ? keys : `${keys},Timestamp`;
    return {
      method: "GET",
      path: `${table}()`,
      query: {
        $filter: conditions.filter(Boolean).join(" and ") || undefined,
        $select: request.keysOnly ? names : undefined,
        $top: top === undefined ? undefined : String(top),
        NextPartitionKey: next?.[0],
        NextRowKey: next?.[1] ?? undefined,
      },
    };
  }

  /**
   * Returns undefined if it is not a page of the request. If its rows are not sorted, the next scan
   * does not expect that.
   */
  #rowsOf(result: HttpResult, request: ScanRequest, range: KeyRange): ScannedRow[] | undefined {
    if (typeof result !== "object" || result.status !== 200) return undefined;
    const rows = rowsOfPage(result.text, request.keysOnly);
    if (!rows?.every(({ key }) => isInRange(key, range))) return undefined;
    if (!this.#isSorted) return rows;
    this.#isSorted = areSorted(rows);
    return this.#isSorted ? rows : undefined;
  }

  #nextPosition(
    { after, stretch }: Position,
    stretches: number,
    rows: readonly ScannedRow[],
    { headers, mayHideHeaders }: HttpResponse,
  ): Position | undefined {
    const next = continuationOf(headers);
    if (next) {
      this.#canContinue = true;
      return { after, stretch, next };
    }
    const last = rows.at(-1)?.key;
    const isHidden = mayHideHeaders && !this.#canContinue && this.#isSorted;
    if (isHidden && last !== undefined) return { after: last, stretch: 0 };
    return stretch + 1 < stretches ? { after, stretch: stretch + 1 } : undefined;
  }
}

const keys = "PartitionKey,RowKey";

const emptyPage = {
  answer: { kind: "page", rows: [], token: undefined },
  result: undefined,
} as const;

/** Returns undefined if the body is not a list of entities. */
export function rowsOfPage(text: string, keysOnly: boolean): ScannedRow[] | undefined {
  const page = parseTypedJson(text);
  const entities = (page as { value?: unknown } | null | undefined)?.value;
  if (!Array.isArray(entities)) return undefined;
  const rows = entities.map((entity: JsonEntity) => rowOf(entity ?? {}, keysOnly));
  return rows.includes(undefined) ? undefined : (rows as ScannedRow[]);
}

/** Returns undefined if there is no token, or none that can be read. */
export function continuationOf(headers: Headers): Position["next"] {
  const partition = headers.get("x-ms-continuation-NextPartitionKey");
  if (!partition) return undefined;
  return [partition, headers.get("x-ms-continuation-NextRowKey")];
}

export const areSorted = (rows: readonly ScannedRow[]): boolean =>
  rows.every(({ key }, at) => at === 0 || key > (rows[at - 1]?.key as Key));
