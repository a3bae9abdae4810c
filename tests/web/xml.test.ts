// Tests the reader of the service's XML documents.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { childOf, childrenOf, childText, parseXml } from "../../web/src/data-tables/xml.ts";
import { parseServiceProperties } from "../../web/src/data-tables/xml-documents.ts";

describe("a document", () => {
  test("is a tree of elements, without declarations and attributes", () => {
    const document = parseXml(
      '<?xml version="1.0"?>\n<a x="1"><!-- c --><b>1</b><b y="2" /><m:c>2</m:c><b>3</b></a>\n',
    );
    const root = childOf(document, "a");
    assert.deepEqual(
      childrenOf(root, "b").map(({ text }) => text),
      ["1", "", "3"],
    );
    assert.equal(childText(root, "m:c"), "2");
    assert.equal(childText(root, "c"), undefined);
    assert.equal(childText(childOf(root, "d"), "b"), undefined);
    assert.deepEqual(childrenOf(childOf(root, "d"), "b"), []);
  });

  test("may have elements within elements of the same name", () => {
    const outer = childOf(parseXml("<a><a>1</a><b>2</b></a>"), "a");
    assert.equal(childText(outer, "a"), "1");
    assert.equal(childText(outer, "b"), "2");
  });

  test("has entities and characters by number", () => {
    const text = (xml: string) => childText(parseXml(`<a>${xml}</a>`), "a");
    assert.equal(text("&lt;&gt;&amp;&quot;&apos;&amp;lt;"), `<>&"'&lt;`);
    assert.equal(text(" &#13;&#xD;&#128512; "), " \r\r\u{1f600} ");
    assert.equal(text("&other; &"), "&other; &");
  });

  test("without an element is empty", () => {
    for (const xml of ["", "text", '{"code":1}']) assert.deepEqual(parseXml(xml).children, []);
  });

  test("must close what it opens", () => {
    for (const xml of ["<a>", "<a><b></a>", "</a>", "<a></a></a><b>"]) {
      assert.throws(() => parseXml(xml), /not XML/);
    }
  });
});

test("a section's own elements are not those of its retention policy", () => {
  const policy = "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>";
  const metrics = `<HourMetrics>${policy}<Enabled>false</Enabled></HourMetrics>`;
  const { hourMetrics } = parseServiceProperties(
    `<StorageServiceProperties>${metrics}</StorageServiceProperties>`,
  );
  assert.deepEqual(hourMetrics, {
    enabled: false,
    retentionPolicy: { enabled: true, days: 7 },
  });
});
