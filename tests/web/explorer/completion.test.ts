// Tests what the filter's completion suggests, and which position an error marks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  completeFilter,
  errorRange,
  PropertySamples,
  parseErrorPosition,
} from "../../../web/src/explorer/explorer-completion.ts";

const seen = new PropertySamples();
seen.addRows([
  {
    partitionKey: "o'clock",
    rowKey: "1",
    timestamp: "2026-01-01T00:00:00Z",
    etag: "x",
    age: { type: "Int64", value: "7" },
    name: { type: "String", value: "Ann" },
    done: { type: "Boolean", value: "true" },
    ratio: { type: "Double", value: "3" },
    gone: null,
  },
  { partitionKey: "p", rowKey: "x".repeat(100), etag: "x", age: { type: "String", value: "old" } },
]);

// In `text`, "|" is the caret. Returns the suggested texts, and the filter after the first
// suggestion was accepted, with the caret.
function offered(text: string): { options: string; first: string | undefined } {
  const caret = text.indexOf("|");
  const filter = text.replace("|", "");
  const { from, to, options } = completeFilter(filter, caret, seen);
  const [first] = options;
  const taken =
    first === undefined
      ? undefined
      : `${filter.slice(0, from)}${first.text.slice(0, first.text.length - first.back)}|${first.text.slice(first.text.length - first.back)}${filter.slice(to)}`;
  return { options: options.map((option) => option.text.trimEnd()).join(" "), first: taken };
}

const operators = "eq ne gt ge lt le";
const names = "PartitionKey RowKey Timestamp age name done ratio not (";

describe("completion offers", () => {
  const cases: [text: string, options: string, first?: string][] = [
    ["|", names, "PartitionKey |"],
    ["(|", names, "(PartitionKey |"],
    ["not (|", names],
    ["PA|", "PartitionKey", "PartitionKey |"],
    ["n|", "name not (", "name |"],
    ["age|", "", undefined],
    ["age |", operators, "age eq |"],
    ["age g|", "gt ge", "age gt |"],
    ["age eq |", "7L 'old' 0L ''", "age eq 7L |"],
    ["age eq '|", "'old' ''", "age eq 'old' |"],
    ["PartitionKey eq |", "'o''clock' 'p' ''"],
    ["PartitionKey eq o|", "'o''clock'", "PartitionKey eq 'o''clock' |"],
    ["PartitionKey eq 'o''c|lock' and", "", undefined],
    ["RowKey ge |", "'1' ''", "RowKey ge '1' |"],
    ["Timestamp gt |", "datetime'2026-01-01T00:00:00Z' datetime''"],
    ["ratio eq |", "3.0 0.0"],
    ["done eq |", "true false"],
    ["unknown eq |", "'' 0", "unknown eq '|'"],
    ["age eq 7L |", "and or", "age eq 7L and |"],
    ["(age eq 7L |", "and or )", "(age eq 7L and |"],
    ["(age eq 7L) |", "and or"],
    ["age eq 7L and |", names],
    ["done and |", names],
    ["done a|", "", undefined],
    ["age eq 7L a| name eq 'x'", "and", "age eq 7L and | name eq 'x'"],
    ["name eq 'a b' o|", "or", "name eq 'a b' or |"],
    ["na|me eq 'x'", "", undefined],
  ];
  for (const [text, options, first] of cases) {
    test(JSON.stringify(text), () => {
      const got = offered(text);
      assert.equal(got.options, options);
      if (first !== undefined || options === "") assert.equal(got.first, first);
    });
  }
});

describe("an error points at", () => {
  const cases: [filter: string, position: number, stretch: string][] = [
    ["PartitionKey eq 'FR' adn name eq 'Lyon'", 24, "adn"],
    ["aaa bbb ccc", 7, "bbb"],
    ["a eq", 4, "eq"],
    ["a eq 'x", 7, "'x"],
    ["(a eq 1", 7, "1"],
    ["", 0, ""],
    ["a eq 1'invalid'", 7, "'"],
  ];
  for (const [filter, position, stretch] of cases) {
    test(`${JSON.stringify(filter)} at ${position}`, () => {
      const { from, to } = errorRange(filter, position);
      assert.equal(filter.slice(from, to), stretch);
      assert.equal(
        parseErrorPosition(`Syntax error at position ${position} in '${filter}'.`),
        position,
      );
    });
  }

  test("nothing, if the message contains no position", () =>
    assert.equal(parseErrorPosition("One of the request inputs is not valid."), undefined));
});
