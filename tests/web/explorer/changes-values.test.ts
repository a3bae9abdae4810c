// Tests how the explorer shows what has changed in a property.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { areEqual, differingTexts } from "../../../web/src/explorer/changes-values.ts";
import { valueText } from "../../../web/src/explorer/dom.ts";

const image = (last: number) => Uint8Array.from([...new Array(40).fill(1), last]);

describe("values before and after a commit", () => {
  test("are equal only if their types are", () => {
    assert.equal(areEqual(1, "1"), false);
    assert.equal(areEqual({ type: "Double", value: 1 }, 1), false);
    assert.equal(areEqual({ type: "Int64", value: "1" }, { type: "Guid", value: "1" }), false);
    assert.equal(areEqual({ type: "Int64", value: "1" }, { type: "Int64", value: "1" }), true);
    assert.equal(areEqual(new Date(1), new Date(1)), true);
    assert.equal(areEqual(new Date(1), new Date(2)), false);
    assert.equal(areEqual(image(1), image(1)), true);
    assert.equal(areEqual(image(1), image(2)), false);
  });

  test("have their types if their texts are equal", () => {
    assert.deepEqual(differingTexts(valueText, 1, "1"), ["1 (Int32)", "1 (String)"]);
    assert.deepEqual(differingTexts(valueText, undefined, "1"), ["", "1"]);
  });

  test("are cut around their first difference", () => {
    const long = "x".repeat(1000);
    const [before, after] = differingTexts(valueText, `${long}a`, `${long}b`);
    assert.equal(before, `…${"x".repeat(20)}a`);
    assert.equal(after, `…${"x".repeat(20)}b`);
    assert.deepEqual(differingTexts(valueText, image(2), image(3)), [
      "… 01 01 01 01 02",
      "… 01 01 01 01 03",
    ]);
  });
});
