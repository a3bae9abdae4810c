// The chapters on patterns: buttons are pressed, and what is shown is compared with what the data says.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const scan = (access: string, read: string, returned: string, requests = "1") => ({
  Access: access,
  Requests: requests,
  "Rows read": read,
  Returned: returned,
});

test("intra-partition secondary index", async () => {
  const page = await guide.open("patterns/intra-partition-index");
  const jones = ["000223", "jonesj@contoso.com", "51"]; // 20 + (223 * 7) % 45

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, scan("partition scan", "2,000", "1"));
  assert.deepEqual(naive.tables, [[["Sales", "000223", ...jones]]]);
  assert.deepEqual(naive.heat, { Sales: "2,000 read" });

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, scan("point query", "1", "1"));
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

test("inter-partition secondary index", async () => {
  const page = await guide.open("patterns/inter-partition-index");
  const jones = ["000223", "jonesj@contoso.com", "51"];
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, scan("partition scan", "2,000", "1"));
  assert.deepEqual(naive.tables, [[["empid_Sales", "000223", ...jones]]]);
  assert.deepEqual(naive.heat, { empid_Sales: "2,000 read" });
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, scan("point query", "1", "1"));
  assert.deepEqual(pattern.tables, [[["email_Sales", "jonesj@contoso.com", ...jones]]]);
  assert.deepEqual(pattern.heat, { email_Sales: "1 read" });

  const ranges = await runBlock(page, 2);
  assert.deepEqual(ranges.captions, [
    "(PartitionKey eq 'empid_Sales') and (RowKey eq '000223')",
    "(PartitionKey eq 'empid_Sales') and (RowKey ge '000100') and (RowKey le '000199')",
    "(PartitionKey eq 'email_Sales') and (RowKey ge 'a') and (RowKey lt 'b')",
  ]);
  assert.deepEqual(ranges.values, [
    "1 found, the first is jonesj@contoso.com",
    "100 found, the first is adams100@contoso.com",
    "200 found, the first is adams0@contoso.com",
  ]);

  assert.deepEqual((await runBlock(page, 3)).tables[0], [
    ["status", "400 Bad Request"],
    ["code", "CommandsInBatchActOnDifferentPartitions"],
  ]);
  const repaired = await runBlock(page, 4);
  assert.deepEqual(repaired.values, ["503 ServerBusy"]);
  assert.deepEqual(repaired.tables, [
    [
      ["by number", "found"],
      ["by address", "404"],
    ],
    [
      ["by number", "found"],
      ["by address", "found"],
    ],
  ]);
  await page.close();
});

test("index entities", async () => {
  const page = await guide.open("patterns/index-entities");
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, scan("partition scan", "2,100", "20"));
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, {
    Access: "point query",
    Requests: "21",
    "Rows read": "21",
    Returned: "21",
  });
  const joneses = Array.from({ length: 20 }, (_, i) => [
    "Sales",
    String(i * 100 + 52).padStart(6, "0"),
    "Jones",
  ]);
  assert.deepEqual(naive.tables, [joneses]);
  assert.deepEqual(pattern.tables, [joneses]);

  const hired = await runBlock(page, 2);
  assert.deepEqual(hired.captions[0], "Hiring 002001: somebody was faster");
  assert.deepEqual(hired.values, ["412 UpdateConditionNotSatisfied", "001952,002000,002001"]);

  const scanned = await runBlock(page, 3);
  assert.deepEqual(scanned.figures, scan("table scan", "21,000", "200", "10"));
  const indexed = await runBlock(page, 4);
  assert.equal(indexed.figures["Requests"], "201");
  assert.deepEqual([scanned.values, indexed.values], [["200"], ["200"]]);
  assert.equal(indexed.heat["Jone"], "1 read");

  const limit = await runBlock(page, 5);
  assert.deepEqual(limit.captions, ["32766 letters", "And one number more"]);
  assert.deepEqual(limit.values, ["written", "400 PropertyValueTooLarge"]);
  await page.close();
});

test("denormalization", async () => {
  const page = await guide.open("patterns/denormalization");
  const manager = [
    ["Name", "Employee 70"],
    ["Email", "e70@contoso.com"],
  ];
  const naive = await runBlock(page, 0);
  const pattern = await runBlock(page, 1);
  assert.deepEqual([naive.tables, pattern.tables], [[manager], [manager]]);
  assert.deepEqual([naive.figures["Requests"], pattern.figures["Requests"]], ["2", "1"]);
  const changed = await runBlock(page, 2);
  assert.deepEqual(changed.tables[0], [
    ["employee", "boss@contoso.com"],
    ["department", "boss@contoso.com"],
  ]);
  assert.deepEqual(changed.heat, { Sales: "3 read, 2 written" });
  await page.close();
});

test("large entities", async () => {
  const page = await guide.open("patterns/large-entities");
  assert.deepEqual((await runBlock(page, 0)).values, ["400 PropertyValueTooLarge"]);
  assert.deepEqual((await runBlock(page, 1)).tables[0], [
    ["Name", "Employee 123"],
    ["Photo", "/photos/empid_000123/1.jpg"],
    ["bytes", "200000"],
  ]);
  const pieces = await runBlock(page, 2);
  assert.deepEqual(pieces.tables[0], [
    ["empid_000123", ""],
    ["empid_000123_photo_000", "65536"],
    ["empid_000123_photo_001", "65536"],
    ["empid_000123_photo_002", "65536"],
    ["empid_000123_photo_003", "3392"],
  ]);
  assert.deepEqual(pieces.values, ["true"]);
  assert.deepEqual(pieces.heat, { Sales: "5 read, 5 written" });
  await page.close();
});

test("prepend and append", async () => {
  const page = await guide.open("patterns/append");
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Requests: "5,000",
    "Rows written": "2,000",
    Refused: "3,000",
  });
  assert.deepEqual(naive.heat, { "2026-11-21": "2,000 written, 3,000 refused" });
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, { Requests: "5,000", "Rows written": "5,000" });
  const spread = Object.entries(pattern.heat);
  assert.equal(spread.length, 50);
  assert(spread.every(([name, text]) => name.startsWith("Sales_") && text === "100 written"));
  const everybody = await runBlock(page, 2);
  assert.deepEqual(everybody.values, ["500"]);
  await page.close();
});

test("log data", async () => {
  const page = await guide.open("patterns/log-data");
  // Minute m of service s is an error if m + s is divisible by ten; its second is 3 s.
  const errors = [
    ["2014-07-31T15:04:18", "Message 904 of service 6"],
    ["2014-07-31T15:04:48", "Message 904 of service 16"],
    ["2014-07-31T15:05:15", "Message 905 of service 5"],
    ["2014-07-31T15:05:45", "Message 905 of service 15"],
  ];
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.tables, [errors]);
  assert.deepEqual(naive.figures, {
    Access: "row range",
    Requests: "20",
    "Rows read": "40",
    Returned: "4",
  });
  assert.equal(Object.keys(naive.heat).length, 20);
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.tables, [errors]);
  assert.deepEqual(pattern.figures, { Requests: "0" });
  await page.close();
});

test("nothing was printed and nothing went wrong", () => {
  assert.deepEqual(guide.problems, []);
});
