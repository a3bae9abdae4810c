// The chapters on patterns: buttons are pressed, and what is shown is compared with what the data says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

test("intra-partition secondary index", async () => {
  const page = await guide.open("patterns/intra-partition-index");
  const jones = ["000223", "jonesj@contoso.com", "51"]; // 20 + (223 * 7) % 45

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Access: "partition scan",
    Requests: "1",
    "Rows read": "2,000",
    Returned: "1",
  });
  assert.deepEqual(naive.tables, [[["Sales", "000223", ...jones]]]);
  assert.deepEqual(naive.heat, { Sales: "2,000 read" });

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, {
    Access: "point query",
    Requests: "1",
    "Rows read": "1",
    Returned: "1",
  });
  assert.deepEqual(pattern.tables, [[["Sales", "email_jonesj@contoso.com", ...jones]]]);
  assert.deepEqual(pattern.heat, { Sales: "1 read" });

  const ranges = await runBlock(page, 2);
  assert.equal(ranges.figures["Access"], "row range");
  assert.deepEqual(ranges.values, ["100", "200"]);
  assert.deepEqual(ranges.heat, { Sales: "300 read" });

  const both = await runBlock(page, 3);
  const failure = both.tables[0]?.map((row) => row[1]);
  assert.deepEqual(failure?.slice(0, 2), ["409", "EntityAlreadyExists"]);
  assert.match(failure?.[2] ?? "", /^1:The specified entity already exists\./);
  assert.deepEqual(both.tables[1], [["Sales", "empid_002000", "002000", "new@contoso.com"]]);
  assert.deepEqual([both.figures["Refused"], both.figures["Rows written"]], ["1", "2"]);
  await page.close();
});

test("nothing was printed and nothing went wrong", () => {
  assert.deepEqual(guide.problems, []);
});
