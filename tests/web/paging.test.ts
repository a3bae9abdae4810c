// Tests continuation tokens and the iterators over items and pages.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  checkedPageSize,
  decodeEntityToken,
  decodeTableToken,
  encodeEntityToken,
  encodeTableToken,
  type PageReader,
  pagedIterator,
} from "../../web/src/client/paging.ts";
import type { PageSettings } from "../../web/src/types.ts";

const invalidInput = {
  name: "RestError",
  statusCode: 400,
  code: "InvalidInput",
  message: "One of the request inputs is not valid.",
};

// Encodes the service's two headers as the official client does.
function officialToken(nextPartitionKey: string, nextRowKey?: string): string {
  return Buffer.from(JSON.stringify({ nextPartitionKey, nextRowKey })).toString("base64");
}

describe("entity tokens", () => {
  const keys = [
    "",
    "a",
    "pk810168",
    "it's 100 %",
    "ü",
    "日本",
    "😀",
    "\ud800", // unpaired surrogates are legal in keys
    "a\udfff",
    "\udfff\ud800",
    "\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}",
    ">>>???", // + and / in base64
    "x".repeat(512),
  ];

  test("are decoded as they were encoded", () => {
    for (const partitionKey of keys) {
      for (const rowKey of keys) {
        const token = encodeEntityToken({ partitionKey, rowKey });
        assert.deepEqual(decodeEntityToken(token), { partitionKey, rowKey });
        assert.match(token, /^[A-Za-z0-9+/]+=*$/);
      }
    }
  });

  test("have the official client's format and the service's headers", () => {
    const token = encodeEntityToken({ partitionKey: "pk810168", rowKey: "x" });
    assert.equal(token, officialToken("1!12!cGs4MTAxNjg-", "1!4!eA--"));
    assert.equal(
      encodeEntityToken({ partitionKey: "", rowKey: "" }),
      officialToken("1!0!"),
      "an empty row key is left out, an empty partition key is not",
    );
  });

  test("with an explicit empty row key, or further members, are accepted", () => {
    const expected = { partitionKey: "a", rowKey: "" };
    assert.deepEqual(decodeEntityToken(officialToken("1!4!YQ--", "1!0!")), expected);
    const more = btoa(JSON.stringify({ nextPartitionKey: "1!4!YQ--", more: 1 }));
    assert.deepEqual(decodeEntityToken(more), expected);
  });

  test("that are malformed are InvalidInput", () => {
    const bad = [
      "",
      "x",
      "not base64 !",
      btoa("not JSON"),
      btoa("null"),
      btoa('"text"'),
      btoa("{}"),
      btoa(JSON.stringify({ nextRowKey: "1!0!" })),
      officialToken("a"),
      officialToken("1!4!YQ-"), // length
      officialToken("1!3!YQ-"), // padding missing
      officialToken("1!04!YQ--"),
      officialToken("2!4!YQ--"),
      officialToken("1!4!YR--"), // non-zero bits after the last byte
      officialToken("1!4!Y Q-"),
      officialToken("1!4!wIA-"), // C0 80: longer than necessary
      officialToken("1!4!gIA-"), // 80 80: without a lead byte
      officialToken("1!4!w---"),
      officialToken("1!8!7aCB7bCA"), // a surrogate pair as two code points
      officialToken("1!8!-7+_vw--"),
      officialToken("1!4!YQ--", "x"),
      btoa(JSON.stringify({ nextPartitionKey: 5 })),
      btoa(JSON.stringify({ nextPartitionKey: "1!4!YQ--", nextRowKey: 5 })),
    ];
    for (const token of bad) assert.throws(() => decodeEntityToken(token), invalidInput, token);
  });
});

test("table tokens are bare names, or the value of the service's header", () => {
  assert.equal(encodeTableToken("people"), "1!8!cGVvcGxl");
  assert.equal(decodeTableToken("people"), "people");
  assert.equal(decodeTableToken("1!8!cGVvcGxl"), "people");
  assert.throws(() => decodeTableToken("1!7!cGVvcGxl"), invalidInput);
});

test("page sizes that can't be a $top are InvalidInput", () => {
  for (const size of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, "5"]) {
    assert.throws(() => checkedPageSize(size as number), invalidInput, String(size));
  }
  for (const size of [0, 1, 1000, 1001]) assert.equal(checkedPageSize(size), size);
});

// Pages of numbers. A page's continuation token is the number of the next page. Empty pages with a
// token are legal.
const pages = [[1, 2, 3], [], [4], [], [], [5, 6]];

type NumberPage = number[] & { continuationToken?: string };

function reader(asynchronous: boolean, reads: PageSettings[]): PageReader<NumberPage> {
  return (settings) => {
    reads.push(settings);
    const at = Number(settings.continuationToken ?? 0);
    const page: NumberPage = [...(pages[at] ?? [])];
    if (at + 1 < pages.length) page.continuationToken = String(at + 1);
    return asynchronous ? Promise.resolve(page) : page;
  };
}

for (const asynchronous of [false, true]) {
  describe(`a list whose pages come ${asynchronous ? "later" : "at once"}`, () => {
    test("returns every item, following empty pages", async () => {
      const items: number[] = [];
      for await (const item of pagedIterator<number, NumberPage>(reader(asynchronous, [])))
        items.push(item);
      assert.deepEqual(items, [1, 2, 3, 4, 5, 6]);
    });

    test("returns every page, with tokens that continue from there", async () => {
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, []));
      const seen: [number[], string | undefined][] = [];
      for await (const page of list.byPage()) seen.push([[...page], page.continuationToken]);
      assert.deepEqual(seen, [
        [[1, 2, 3], "1"],
        [[], "2"],
        [[4], "3"],
        [[], "4"],
        [[], "5"],
        [[5, 6], undefined],
      ]);
      const rest: number[] = [];
      for await (const page of list.byPage({ continuationToken: "2" })) rest.push(...page);
      assert.deepEqual(rest, [4, 5, 6]);
    });

    test("reads nothing before the first next(), and each page when it is needed", async () => {
      const reads: PageSettings[] = [];
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, reads));
      const byPage = list.byPage({ maxPageSize: 7 });
      assert.deepEqual(reads, []);
      await byPage.next();
      assert.deepEqual(reads, [{ maxPageSize: 7 }]);
      await byPage.next();
      assert.deepEqual(reads[1], { maxPageSize: 7, continuationToken: "1" });
      for (let i = 0; i < 3; ++i) await list.next();
      assert.equal(reads.length, 3);
      await list.next();
      assert.equal(reads.length, 5, "the empty page and the next one");
    });

    test("leaving the loop ends the iteration and frees everything", async () => {
      const reads: PageSettings[] = [];
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, reads));
      for await (const item of list) if (item === 2) break;
      assert.deepEqual(await list.next(), { done: true, value: undefined });
      const byPage = list.byPage();
      for await (const page of byPage) if (page.length > 0) break;
      assert.deepEqual(await byPage.next(), { done: true, value: undefined });
      assert.equal(reads.length, 2);
    });

    test("overlapping calls are resolved in order", async () => {
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, []));
      const results = await Promise.all(Array.from({ length: 8 }, () => list.next()));
      assert.deepEqual(
        results.map(({ done, value }) => (done ? "done" : value)),
        [1, 2, 3, 4, 5, 6, "done", "done"],
      );
      const byPage = list.byPage();
      const all = await Promise.all(Array.from({ length: 7 }, () => byPage.next()));
      assert.deepEqual(
        all.map(({ done, value }) => (done ? "done" : [...value])),
        [...pages, "done"],
      );
    });

    test("return() discards a page that is being read", async () => {
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, []));
      const byPage = list.byPage();
      const first = byPage.next();
      await byPage.return?.();
      assert.equal((await first).done, asynchronous);
      assert.deepEqual(await byPage.next(), { done: true, value: undefined });
      const item = list.next();
      await list.return();
      await item;
      assert.deepEqual(await list.next(), { done: true, value: undefined });
    });

    test("an error rejects and ends the iteration", async () => {
      const fail = () => {
        if (asynchronous) return Promise.reject(new Error("read"));
        throw new Error("read");
      };
      const list = pagedIterator<number, NumberPage>(fail);
      await assert.rejects(list.next(), { message: "read" });
      assert.deepEqual(await list.next(), { done: true, value: undefined });
      const byPage = list.byPage();
      await assert.rejects(byPage.next(), { message: "read" });
      assert.deepEqual(await byPage.next(), { done: true, value: undefined });
    });

    test("iterators are their own iterable", () => {
      const list = pagedIterator<number, NumberPage>(reader(asynchronous, []));
      assert.equal(list[Symbol.asyncIterator](), list);
      const byPage = list.byPage();
      assert.equal(byPage[Symbol.asyncIterator](), byPage);
    });
  });
}
