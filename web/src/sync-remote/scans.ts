// Scans of key ranges, page by page.

import { isInRange, type Key, type KeyRange, keyAfter } from "../sync/keys.ts";
import type { RemoteTraits, ScanAnswer, ScannedRow, ScanRequest } from "../sync/remote.ts";
import { type JsonEntity, parseTypedJson, rowOf } from "./entity-json.ts";
import type { Http, HttpRequest, HttpResponse, HttpResult } from "./http.ts";
import { stretchesOf } from "./key-stretches.ts";
import type { RemoteProfile } from "./profile.ts";
import { failureOfQuery } from "./service-error.ts";
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
  /** The last key of the pages before. */
  readonly last?: Key | undefined;
  readonly stretch: number;
  /** Of the service. */
  readonly next?: readonly [partition: string, row: string | null] | undefined;
  /** How many of the last pages had nothing but the token that they were asked with. */
  readonly idle?: number | undefined;
}

export class Scans {
  readonly #http: Http;
  readonly #options: ScanOptions;
  #isSorted: boolean;
  #canContinue: boolean;
  #hasReadToken = false;

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
    const { last, next: asked } = position;
    if (asked && last !== undefined && this.#isSorted && isUrlTooLong(result)) {
      return this.page(
        { ...request, token: JSON.stringify({ after: last, last, stretch: 0 }) },
        top,
      );
    }
    const rows = this.#rowsOf(result, request, range, last);
    if (rows === undefined) return { answer: failureOfQuery(result), result };
    const next = this.#nextPosition(position, stretches.length, rows, result as HttpResponse);
    if (next === "hidden") return { answer: { kind: "tokensHidden" }, result };
    const isIdle = rows.length === 0 && isSameToken(asked, next?.next);
    const idle = isIdle ? (position.idle ?? 0) + 1 : undefined;
    if (idle === idleMax) return { answer: { kind: "failed" }, result };
    const token = next && JSON.stringify({ ...next, idle });
    // Keys and texts are mostly ASCII, so this is about the number of bytes.
    const bytes = (result as HttpResponse).text.length;
    return { answer: { kind: "page", rows, token, bytes }, result };
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
        NextRowKey: next?.[1] || undefined, // the service refuses an empty one
      },
    };
  }

  /**
   * Returns undefined if it is not a page of the request. `last`: of the pages before. If the rows
   * are not sorted, `traits` say so from now on.
   */
  #rowsOf(
    result: HttpResult,
    request: ScanRequest,
    range: KeyRange,
    last: Key | undefined,
  ): ScannedRow[] | undefined {
    if (typeof result !== "object" || result.status !== 200) return undefined;
    const rows = rowsOfPage(result.text, request.keysOnly);
    if (!rows?.every(({ key }) => isInRange(key, range))) return undefined;
    if (areSorted(rows, last)) return rows;
    this.#isSorted = false;
    return request.needsOrder ? undefined : rows;
  }

  /** "hidden": there may be more, but nothing tells. */
  #nextPosition(
    { after, stretch, last: before }: Position,
    stretches: number,
    rows: readonly ScannedRow[],
    { headers, mayHideHeaders }: HttpResponse,
  ): Position | "hidden" | undefined {
    const next = continuationOf(headers);
    const last = rows.at(-1)?.key ?? before;
    if (next) {
      this.#canContinue = true;
      this.#hasReadToken = true;
      return { after, stretch, next, last };
    }
    // What a probe has shown may have been long ago.
    const mayHideToken = mayHideHeaders && !this.#hasReadToken;
    if (mayHideToken && this.#isSorted && rows.length > 0) return { after: last, stretch: 0, last };
    if (mayHideToken && !this.#isSorted && !this.#canContinue) return "hidden";
    return stretch + 1 < stretches ? { after, stretch: stretch + 1, last } : undefined;
  }
}

/** A token and a long key in the filter may be too long together. */
const isUrlTooLong = (result: HttpResult): boolean =>
  typeof result === "object" && (result.status === 414 || result.status === 431);

const isSameToken = (asked: Position["next"], next: Position["next"]): boolean =>
  asked !== undefined && asked[0] === next?.[0] && asked[1] === next[1];

/** So many empty pages, one after the other, may have the token that they were asked with. */
const idleMax = 10;

const keys = "PartitionKey,RowKey";

const emptyPage = {
  answer: { kind: "page", rows: [], token: undefined },
  result: undefined,
} as const;

/**
 * The service allows no control characters in keys, but others may have such keys. They cannot be
 * told from those of other entities, because U+0000 separates PartitionKey and RowKey.
 */
const validKey = /^\P{Control}*\0\P{Control}*$/u;

export const isReadableKey = (key: Key): boolean => validKey.test(key);

/** Returns undefined if the body is not a list of entities. */
export function rowsOfPage(text: string, keysOnly: boolean): ScannedRow[] | undefined {
  const page = parseTypedJson(text);
  const entities = (page as { value?: unknown } | null | undefined)?.value;
  if (!Array.isArray(entities)) return undefined;
  const rows = entities.map((entity: JsonEntity) => rowOf(entity ?? {}, keysOnly));
  if (rows.includes(undefined)) return undefined;
  return (rows as ScannedRow[]).filter(({ key }) => isReadableKey(key));
}

/** Returns undefined if there is no token, or none that can be read. */
export function continuationOf(headers: Headers): Position["next"] {
  const partition = headers.get("x-ms-continuation-NextPartitionKey");
  if (!partition) return undefined;
  return [partition, headers.get("x-ms-continuation-NextRowKey")];
}

/** `last`: the key before them. */
export const areSorted = (rows: readonly ScannedRow[], last?: Key): boolean =>
  rows.every(({ key }, at) => {
    const before = at === 0 ? last : rows[at - 1]?.key;
    return before === undefined || key > before;
  });
