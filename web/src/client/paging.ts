// Paged listing: continuation tokens, and the iterators over items and pages.

import { fromBase64 } from "../edm/edm.ts";
import { serviceError } from "../errors.ts";
import type { PagedAsyncIterableIterator, PageSettings } from "../types.ts";

// ---- Tokens -----------------------------------------------------------------------------------

// An entity token has the official client's form of the service's two continuation headers: base64
// of the JSON {"nextPartitionKey": ..., "nextRowKey": ...}. nextRowKey is left out if the key is
// empty. Each value has the header's form 1!<n>!<t>: t is base64 of the key in UTF-8, with * for +,
// _ for / and - for =; n is the length of t (core/query/continuation.h). The keys are those of the
// next entity. A token therefore stays valid after writes, after a restart, and in another tab.
//
// A table token is either the plain name of the next table, or a header value (1!<n>!<t>), which
// the official client passes on unchanged.

export interface NextKeys {
  partitionKey: string;
  rowKey: string;
}

export function encodeEntityToken(next: NextKeys): string {
  const nextPartitionKey = encodeKey(next.partitionKey);
  const nextRowKey = next.rowKey === "" ? undefined : encodeKey(next.rowKey);
  return btoa(JSON.stringify({ nextPartitionKey, nextRowKey }));
}

export function decodeEntityToken(token: string): NextKeys {
  try {
    const parts: unknown = JSON.parse(atob(token));
    if (typeof parts !== "object" || parts === null) throw invalidInput();
    const { nextPartitionKey, nextRowKey } = parts as Record<string, unknown>;
    return { partitionKey: decodeKey(nextPartitionKey), rowKey: decodeKey(nextRowKey ?? "1!0!") };
  } catch {
    throw invalidInput();
  }
}

export function encodeTableToken(next: string): string {
  return encodeKey(next);
}

export function decodeTableToken(token: string): string {
  if (!token.startsWith("1!")) return token;
  try {
    return decodeKey(token);
  } catch {
    throw invalidInput();
  }
}

// Returns the page size for use as $top. Throws InvalidInput if it is not a non-negative 32-bit
// integer; the core checks the service's bounds.
export function checkedPageSize(maxPageSize: number): number {
  const fits = Number.isInteger(maxPageSize) && maxPageSize >= 0 && maxPageSize <= 0x7fffffff;
  if (!fits) throw invalidInput();
  return maxPageSize;
}

function invalidInput(): Error {
  return serviceError(400, "InvalidInput", "One of the request inputs is not valid.");
}

function encodeKey(key: string): string {
  const bytes: number[] = [];
  for (const character of key) {
    const point = character.codePointAt(0) as number;
    // Keys may hold unpaired surrogates. They are encoded like other code points here, whereas
    // TextEncoder would replace them.
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), continuationByte(point));
    else if (point < 0x10000)
      bytes.push(0xe0 | (point >> 12), continuationByte(point >> 6), continuationByte(point));
    else
      bytes.push(
        0xf0 | (point >> 18),
        continuationByte(point >> 12),
        continuationByte(point >> 6),
        continuationByte(point),
      );
  }
  const text = btoa(String.fromCharCode(...bytes));
  const coded = text.replaceAll("+", "*").replaceAll("/", "_").replaceAll("=", "-");
  return `1!${coded.length}!${coded}`;
}

function continuationByte(bits: number): number {
  return 0x80 | (bits & 0x3f);
}

function decodeKey(value: unknown): string {
  const match = typeof value === "string" ? /^1!(\d+)!([\w*-]*)$/.exec(value) : null;
  const coded = match?.[2];
  if (coded === undefined || coded.length !== Number(match?.[1])) throw invalidInput();
  const text = coded.replaceAll("*", "+").replaceAll("_", "/").replaceAll("-", "=");
  const key = decodeUtf8(fromBase64(text));
  // rejects UTF-8 that is invalid or longer than necessary
  if (encodeKey(key) !== value) throw invalidInput();
  return key;
}

// Decodes UTF-8 without checking it. The caller detects invalid UTF-8 by encoding the result again
// and comparing.
function decodeUtf8(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i++] as number;
    const more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    let point = more === 0 ? lead : lead & (0x3f >> more);
    for (let k = 0; k < more; ++k) point = (point << 6) | ((bytes[i++] ?? 0) & 0x3f);
    text += String.fromCodePoint(Math.min(point, 0x10ffff));
  }
  return text;
}

// ---- Iterators --------------------------------------------------------------------------------

type Page<T> = T[] & { continuationToken?: string };

const pageRowsMax = 1000; // of a page without maxPageSize

// Reads one page. An inline store (one in the same thread) returns the page; others return a
// promise. It may throw or reject; the iterator treats both alike.
export type PageReader<P> = (settings: PageSettings) => P | Promise<P>;

// `top`: the most items that each iteration returns.
export function pagedIterator<T, P extends Page<T>>(
  readPage: PageReader<P>,
  top?: number,
): PagedAsyncIterableIterator<T, P> {
  const items = new ItemIterator<T, P>(new PageIterator<P>(readPage, {}, top));
  return {
    next: () => items.next(),
    return: () => items.return(),
    [Symbol.asyncIterator]() {
      return this;
    },
    byPage: (settings = {}) => new PageIterator<P>(readPage, settings, top),
  };
}

// Iterates over pages. Reads nothing before the first next(), and holds no page after return().
// Overlapping calls of next() resolve in the order of the calls.
// The last page before `top` is reached may have a continuation token.
class PageIterator<P extends { length: number; continuationToken?: string }>
  implements AsyncIterableIterator<P>
{
  #readPage: PageReader<P> | undefined; // undefined: the iteration has ended
  readonly #maxPageSize: number | undefined;
  #token: string | undefined;
  #remaining: number; // items until `top`
  #pendingRead: Promise<unknown> | undefined;

  constructor(
    readPage: PageReader<P>,
    settings: PageSettings,
    top: number = Number.POSITIVE_INFINITY,
  ) {
    this.#readPage = top === 0 ? undefined : readPage;
    this.#remaining = top;
    this.#maxPageSize = settings.maxPageSize;
    this.#token = settings.continuationToken || undefined;
  }

  next(): Promise<IteratorResult<P>> {
    if (this.#pendingRead !== undefined)
      return this.#runAfter(this.#pendingRead, () => this.next());
    if (this.#readPage === undefined) return Promise.resolve({ done: true, value: undefined });
    try {
      const settings: PageSettings = {};
      if (this.#token !== undefined) settings.continuationToken = this.#token;
      const size = this.#maxPageSize ?? pageRowsMax;
      if (this.#remaining < size) settings.maxPageSize = this.#remaining;
      else if (this.#maxPageSize !== undefined) settings.maxPageSize = size;
      const page = this.#readPage(settings);
      if (!(page instanceof Promise)) return Promise.resolve(this.#onPage(page));
      const reading = page.then(
        (value) => this.#onPage(value),
        (error) => this.#onError(error),
      );
      this.#pendingRead = reading;
      return reading;
    } catch (error) {
      this.#readPage = undefined;
      return Promise.reject(error);
    }
  }

  return(): Promise<IteratorResult<P>> {
    this.#readPage = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #onPage(page: P): IteratorResult<P> {
    this.#pendingRead = undefined;
    // The iteration was ended by return() during the read.
    if (this.#readPage === undefined) return { done: true, value: undefined };
    this.#token = page.continuationToken;
    this.#remaining -= page.length;
    if (this.#token === undefined || this.#remaining <= 0) this.#readPage = undefined;
    return { done: false, value: page };
  }

  #onError(error: unknown): never {
    this.#pendingRead = undefined;
    this.#readPage = undefined;
    throw error;
  }

  #runAfter<T>(last: Promise<unknown>, then: () => Promise<T>): Promise<T> {
    return last.then(then, then);
  }
}

class ItemIterator<T, P extends Page<T>> {
  readonly #pages: PageIterator<P>;
  #page: readonly T[] = [];
  #at = 0;
  #pendingRead: Promise<unknown> | undefined;
  #returned = false;

  constructor(pages: PageIterator<P>) {
    this.#pages = pages;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#pendingRead !== undefined) {
      const again = () => this.next();
      return this.#pendingRead.then(again, again);
    }
    if (this.#at < this.#page.length) {
      return Promise.resolve({ done: false, value: this.#page[this.#at++] as T });
    }
    const reading = this.#advance();
    this.#pendingRead = reading;
    return reading;
  }

  return(): Promise<IteratorResult<T>> {
    this.#returned = true;
    this.#page = [];
    void this.#pages.return();
    return Promise.resolve({ done: true, value: undefined });
  }

  // Returns the first item of the next page that is not empty. The service may return empty pages
  // with a continuation token.
  async #advance(): Promise<IteratorResult<T>> {
    try {
      for (;;) {
        const next = await this.#pages.next();
        if (next.done) {
          this.#page = [];
          return { done: true, value: undefined };
        }
        if (next.value.length > 0) {
          this.#page = this.#returned ? [] : next.value;
          this.#at = 1;
          return { done: false, value: next.value[0] as T };
        }
      }
    } finally {
      this.#pendingRead = undefined;
    }
  }
}
