// The options of the search index. The build and the page must use the same ones.
import type { Options, Query } from "minisearch";

/** A section of a page. */
export interface SearchEntry {
  readonly id: number;
  /** Relative to the start page: "querying/#point-query". */
  readonly path: string;
  readonly page: string;
  readonly title: string;
  /** What is searched. */
  readonly text: string;
  /** The beginning of `text`, which results show. */
  readonly excerpt: string;
}

export const searchOptions: Options<SearchEntry> = {
  fields: ["title", "page", "text"],
  storeFields: ["path", "page", "title", "excerpt"],
  tokenize,
  searchOptions: {
    boost: { title: 4, page: 2 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  },
};

/** Returns the query for text of a reader: every word must be found, or all parts of it. */
export function queryFor(text: string): Query {
  const queries = wordsOf(text).map((word): Query => {
    const parts: Query = { combineWith: "AND", queries: partsOf(word) };
    return { combineWith: "OR", queries: [word, parts] };
  });
  // A word is not split again.
  return { combineWith: "AND", queries, tokenize: (word) => [word] };
}

// A name such as `EntityAlreadyExists` is a word, and so is each of its parts.
function tokenize(text: string): string[] {
  return wordsOf(text).flatMap((word) => [...new Set([word, ...partsOf(word)])]);
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function partsOf(word: string): string[] {
  return word.match(/\p{Lu}?[^\p{Lu}]+|\p{Lu}+(?!\p{Ll})/gu) ?? [];
}
