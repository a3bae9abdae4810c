// The pages on files and on the two custom elements. What they show is compared with the data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

test("import and export: invalid rows are reported by line, and types are kept", async () => {
  const page = await guide.open("files");
  const read = await runBlock(page, 0);
  assert.deepEqual(read.captions, ["4 rows, of which 2 were rejected", "What is in the table"]);
  assert.deepEqual(read.tables, [
    [
      ["desk", "0043", "4", 'stock is "many", which is not a valid Int32.', "InvalidInput"],
      ["", "", "5", "The row has 5 cells, the header 9.", ""],
    ],
    [
      ["desk", "0041", "0", "149", "2019-05-02T00:00:00.1234567Z"],
      ["desk", "0042", "9007199254740993", "", ""],
    ],
  ]);

  const both = await runBlock(page, 1);
  assert.deepEqual(both.captions, ["ndjson", "csv"]);
  assert.deepEqual(both.tables, [
    [
      [
        "line 1",
        '{"PartitionKey":"desk","RowKey":"0041","name":"Ray, the \\"small\\" one","sold@odata.type":"Edm.Int64","sold":"1152921504606846976"}',
      ],
      [
        "line 2",
        '{"PartitionKey":"desk","RowKey":"0042","ratio@odata.type":"Edm.Double","ratio":"NaN","plan@odata.type":"Edm.Binary","plan":"AQID"}',
      ],
    ],
    [
      [
        "line 1",
        "PartitionKey,RowKey,name,name@type,sold,sold@type,ratio,ratio@type,plan,plan@type",
      ],
      ["line 2", 'desk,0041,"Ray, the ""small"" one",String,1152921504606846976,Int64,,,,'],
      ["line 3", "desk,0042,,,,,NaN,Double,AQID,Binary"],
    ],
  ]);
  const same = "2 rows written, all the same";
  assert.deepEqual(both.values, [same, same]);

  const moved = await runBlock(page, 2);
  assert.deepEqual(moved.tables, [
    [
      ["written", "2"],
      ["skipped", "1"],
    ],
    [
      ["desk", "0007", "desk", "Arc"],
      ["floor", "0012", "floor", "Bow"],
    ],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("the table-explorer element: a query runs, and its plan is shown", async () => {
  const page = await guide.open("explorer");
  const explorer = page.locator("table-explorer");
  await explorer.getByText("200 entities shown, and there are more.").waitFor();
  // A third of the 600 rows are desks: the numbers that are divisible by 3. Four of them are below
  // 10.
  await explorer.getByRole("combobox").fill("PartitionKey eq 'desk' and RowKey lt '0010'");
  await page.keyboard.press("Enter");
  await explorer.getByText("4 entities shown, that is all.").waitFor();
  const keys = await explorer.locator("tr[data-row] td:nth-child(2)").allTextContents();
  assert.deepEqual(keys, ["0000", "0003", "0006", "0009"]);
  assert.equal(await explorer.locator("[data-figure=Plan] dd").textContent(), "Row range");
  assert.equal(await explorer.locator("[data-figure='Rows read'] dd").textContent(), "4");
  await checkPage(guide, page);
  await guide.leave(page);
});

test("the table-playground element: the code block of its page runs", async () => {
  const page = await guide.open("playground");
  const { tables, captions, figures } = await runBlock(page, 0);
  assert.deepEqual(captions, ["In stock"]);
  assert.deepEqual(tables, [[["desk", "0042", "Arc", "7"]]]);
  assert.equal(figures["Access"], "table scan");
  await checkPage(guide, page);
  await guide.leave(page);
});

test("all pages whose blocks run here are checked", () => {
  assert.deepEqual(checkedPages(), pagesWithOwnTest.elements);
});

test("no page printed or threw anything", () => assert.deepEqual(guide.problems, []));
