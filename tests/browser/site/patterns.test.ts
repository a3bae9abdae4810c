// The chapters on patterns. The test presses the buttons and compares what is shown with the data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

// The rows that a block shows after a worker was stopped: afterEach() for the state after each
// step, afterAll() for the state after another worker has continued.
const afterEach = (steps: readonly string[], states: readonly (readonly string[])[]) =>
  steps.map((step, index) => [step, ...(states[index] ?? [])]);
const afterAll = (steps: readonly string[], ...state: string[]) =>
  steps.map((step) => [step, ...state, "0"]);

const scan = (access: string, read: string, returned: string, requests = "1") => ({
  Access: access,
  Requests: requests,
  "Rows read": read,
  Returned: returned,
});

test("intra-partition secondary index", async () => {
  const page = await guide.open("patterns/intra-partition-index");
  const jones = ["jonesj@contoso.com", "51"]; // 20 + (223 * 7) % 45

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, scan("partition scan", "2,000", "1"));
  assert.deepEqual(naive.tables, [[["000223", ...jones]]]);
  assert.deepEqual(naive.heat, { Sales: "2,000 read" });

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, scan("point query", "1", "1"));
  assert.deepEqual(pattern.tables, [[["email_jonesj@contoso.com", ...jones]]]);
  assert.deepEqual(pattern.heat, { Sales: "1 read" });

  const filters = await runBlock(page, 2);
  assert.deepEqual(filters.captions, [
    "(PartitionKey eq 'Sales') and (RowKey eq 'empid_000223')",
    "(PartitionKey eq 'Sales') and (RowKey eq 'email_jonesj@contoso.com')",
    "(PartitionKey eq 'Sales') and (RowKey ge 'empid_000100') and (RowKey le 'empid_000199')",
    "(PartitionKey eq 'Sales') and (RowKey ge 'email_a') and (RowKey lt 'email_b')",
  ]);
  assert.deepEqual(filters.values, [
    "point: 1 found, the first is jonesj@contoso.com",
    "point: 1 found, the first is jonesj@contoso.com",
    "range: 100 found, the first is adams100@contoso.com",
    "range: 200 found, the first is adams0@contoso.com",
  ]);
  assert.deepEqual(filters.heat, { Sales: "302 read" });

  const both = await runBlock(page, 3);
  const failure = both.tables[0]?.map((row) => row[1]);
  assert.deepEqual(failure?.slice(0, 2), ["409", "EntityAlreadyExists"]);
  assert.match(failure?.[2] ?? "", /^1:The specified entity already exists\./);
  assert.deepEqual(both.tables[1], [["Sales", "empid_002000", "002000", "new@contoso.com"]]);
  assert.deepEqual([both.figures["Rejected"], both.figures["Rows written"]], ["1", "2"]);
  await guide.leave(page);
});

test("intra-partition secondary index: a transaction changes or deletes both rows, or neither", async () => {
  const page = await guide.resume("patterns/intra-partition-index");
  const changed = await runBlock(page, 4);
  const [before, after] = ["jonesj@contoso.com", "jones@contoso.com"];
  const none = ["not found", ""];
  const moved = [
    ["empid_000223", "52", after],
    [`email_${before}`, ...none],
    [`email_${after}`, "52", after],
  ];
  assert.deepEqual(changed.tables, [
    [
      ["empid_000223", "52", before],
      [`email_${before}`, "52", before],
      [`email_${after}`, ...none],
    ],
    moved,
    moved, // the failed transaction changed nothing
    [
      ["empid_000223", ...none],
      [`email_${before}`, ...none],
      [`email_${after}`, ...none],
    ],
  ]);
  assert.deepEqual(changed.values, ["404 ResourceNotFound"]);
  // Two rows changed. For the new address: a new row, the employee's row, and a deleted row. Then
  // two rows deleted.
  assert.deepEqual([changed.figures["Rows written"], changed.figures["Rows deleted"]], ["4", "3"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("inter-partition secondary index", async () => {
  const page = await guide.open("patterns/inter-partition-index");
  const jones = ["jonesj@contoso.com", "51"];
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, scan("partition scan", "2,000", "1"));
  assert.deepEqual(naive.tables, [[["000223", ...jones]]]);
  assert.deepEqual(naive.heat, { empid_Sales: "2,000 read" });
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, scan("point query", "1", "1"));
  assert.deepEqual(pattern.tables, [[["jonesj@contoso.com", ...jones]]]);
  assert.deepEqual(pattern.heat, { email_Sales: "1 read" });

  const filters = await runBlock(page, 2);
  assert.deepEqual(filters.captions, [
    "(PartitionKey eq 'empid_Sales') and (RowKey eq '000223')",
    "(PartitionKey eq 'email_Sales') and (RowKey eq 'jonesj@contoso.com')",
    "(PartitionKey eq 'empid_Sales') and (RowKey ge '000100') and (RowKey le '000199')",
    "(PartitionKey eq 'email_Sales') and (RowKey ge 'a') and (RowKey lt 'b')",
  ]);
  assert.deepEqual(filters.values, [
    "point: 1 found, the first is jonesj@contoso.com",
    "point: 1 found, the first is jonesj@contoso.com",
    "range: 100 found, the first is adams100@contoso.com",
    "range: 200 found, the first is adams0@contoso.com",
  ]);
  assert.deepEqual(filters.heat, { email_Sales: "201 read", empid_Sales: "101 read" });

  assert.deepEqual((await runBlock(page, 3)).tables[0], [
    ["status", "400 Bad Request"],
    ["code", "CommandsInBatchActOnDifferentPartitions"],
  ]);
  await guide.leave(page);
});

test("inter-partition secondary index: inconsistent copies are repaired", async () => {
  const page = await guide.resume("patterns/inter-partition-index");
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
  const steps = [
    "message taken",
    "row by number updated",
    "row by new address written",
    "row by old address deleted",
    "message removed",
  ];
  const [before, after] = ["jonesj@contoso.com", "jones@contoso.com"];
  const left = [
    [before, "yes", "no"],
    [after, "yes", "no"],
    [after, "yes", "yes"],
    [after, "no", "yes"],
    [after, "no", "yes"],
  ];
  const stopped = await runBlock(page, 5);
  assert.deepEqual(stopped.tables, [afterEach(steps, left), afterAll(steps, after, "no", "yes")]);
  await checkPage(guide, page);
  await guide.leave(page);
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
  assert.deepEqual(hired.captions[0], "Hiring 002001: another client was faster");
  assert.deepEqual(hired.values, ["412 UpdateConditionNotSatisfied", "001952,002000,002001"]);

  const renamed = await runBlock(page, 3);
  assert.deepEqual(renamed.captions, ["Jones", "Name7"]);
  assert.deepEqual(renamed.values, ["18: 000052, 000352 … 001952", "22: 000007, 000107 … 000252"]);
  assert.deepEqual(renamed.tables, [
    [
      ["000152", "Name7"],
      ["000252", "Name7"],
    ],
  ]);
  // Two transactions of three rows each, and one that came too late, which counts as one rejected
  // request.
  assert.deepEqual([renamed.figures["Rows written"], renamed.figures["Rejected"]], ["6", "1"]);
  assert.deepEqual(renamed.heat, { Sales: "13 read, 6 written, 1 request rejected" });

  const limit = await runBlock(page, 8);
  assert.deepEqual(limit.captions, ["32,766 characters", "One more key"]);
  assert.deepEqual(limit.values, ["written", "400 PropertyValueTooLarge"]);
  await guide.leave(page);
});

test("index entities in another table and in a file", async () => {
  const page = await guide.resume("patterns/index-entities");
  const scanned = await runBlock(page, 4);
  assert.deepEqual(scanned.figures, scan("table scan", "21,000", "200", "10"));
  const indexed = await runBlock(page, 5);
  assert.equal(indexed.figures["Requests"], "201");
  assert.equal(indexed.heat["Jone"], "1 read");
  const inFile = await runBlock(page, 6);
  assert.deepEqual([inFile.figures["Requests"], inFile.figures["Rows read"]], ["200", "200"]);
  assert.deepEqual([scanned.values, indexed.values, inFile.values], [["200"], ["200"], ["200"]]);

  const steps = [
    "message taken",
    "employee written",
    "list in the table",
    "list in the file",
    "message removed",
  ];
  const left = [
    ["0", "0", "0"],
    ["1", "0", "0"],
    ["1", "1", "0"],
    ["1", "1", "1"],
    ["1", "1", "1"],
  ];
  const stopped = await runBlock(page, 7);
  assert.deepEqual(stopped.tables, [afterEach(steps, left), afterAll(steps, "1", "1", "1")]);
  await checkPage(guide, page);
  await guide.leave(page);
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
  await checkPage(guide, page);
  await guide.leave(page);
});

test("large entities", async () => {
  const page = await guide.open("patterns/large-entities");
  const limits = await runBlock(page, 0);
  assert.deepEqual(limits.values, [
    "written",
    "400 PropertyValueTooLarge",
    "400 PropertyValueTooLarge",
    "written",
    "400 EntityTooLarge",
  ]);

  assert.deepEqual((await runBlock(page, 1)).values, ["400 PropertyValueTooLarge"]);
  assert.deepEqual((await runBlock(page, 2)).tables[0], [
    ["Name", "Employee 123"],
    ["Photo", "/photos/empid_000123/1.jpg"],
    ["bytes", "200,000"],
  ]);

  const steps = [
    "message put",
    "new file stored",
    "row changed",
    "old file deleted",
    "message removed",
  ];
  const left = [
    ["1", "1"],
    ["1", "1 and 2"],
    ["2", "1 and 2"],
    ["2", "2"],
    ["2", "2"],
  ];
  const [, ...stored] = steps;
  const stopped = await runBlock(page, 3);
  assert.deepEqual(stopped.tables, [
    afterEach(steps, left),
    // Without a file, there is nothing to do.
    [["message put", "1", "1", "0"], ...afterAll(stored, "2", "2")],
  ]);
  await guide.leave(page);
});

test("large entities over several rows", async () => {
  const page = await guide.resume("patterns/large-entities");
  const chunks = await runBlock(page, 4);
  assert.deepEqual(chunks.tables, [
    [
      ["empid_000123", "2,000,000", "0", "0"],
      ["empid_000123_photo", "", "11", "720,896"],
      ["empid_000123_photo!1", "", "11", "720,896"],
      ["empid_000123_photo!2", "", "9", "558,208"],
    ],
    [
      ["empid_000123", "70,000", "0", "0"],
      ["empid_000123_photo", "", "2", "70,000"],
    ],
  ]);
  assert.deepEqual(chunks.values, ["true", "true"]);
  // 3 chunks and the employee are written. Then 1 chunk and the employee are written, and 2 chunks
  // are deleted.
  assert.deepEqual([chunks.figures["Rows written"], chunks.figures["Rows deleted"]], ["6", "2"]);
  const limit = await runBlock(page, 5);
  assert.deepEqual(limit.values, [
    "written",
    "A value has at most 2883584 bytes, and this one has 2883585. " +
      "Store it outside the table, and put its address into a row.",
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("prepend/append anti-pattern", async () => {
  const page = await guide.open("patterns/append-anti-pattern");
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Requests: "5,000",
    "Rows written": "2,000",
    Rejected: "3,000",
  });
  assert.deepEqual(naive.heat, { "2026-11-21": "2,000 written, 3,000 requests rejected" });
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, { Requests: "5,000", "Rows written": "5,000" });
  const spread = Object.entries(pattern.heat);
  assert.equal(spread.length, 50);
  assert(spread.every(([name, text]) => name.startsWith("Sales_") && text === "100 written"));
  const everybody = await runBlock(page, 2);
  assert.deepEqual(everybody.values, ["500"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("log data anti-pattern", async () => {
  const page = await guide.open("patterns/log-data");
  const hot = await runBlock(page, 0);
  assert.deepEqual(hot.tables, [
    [
      ["messages", "3,000"],
      ["throttled", "1,000"],
      ["errors found", "20"],
    ],
  ]);
  assert.deepEqual(hot.heat, {
    "2014-07-31T1500": "2,000 read, 2,000 written, 1,000 requests rejected",
  });
  assert.equal(hot.figures["Access"], "row range");

  // Minute m of service s is an error if m + s is divisible by ten. Its second is 3s.
  const errors = [
    ["2014-07-31T15:04:18", "Message 904 of service 6"],
    ["2014-07-31T15:04:48", "Message 904 of service 16"],
    ["2014-07-31T15:05:15", "Message 905 of service 5"],
    ["2014-07-31T15:05:45", "Message 905 of service 15"],
  ];
  const naive = await runBlock(page, 1);
  assert.deepEqual(naive.tables, [errors]);
  assert.deepEqual(naive.figures, {
    Access: "row range",
    Requests: "20",
    "Rows read": "40",
    Returned: "4",
  });
  assert.equal(Object.keys(naive.heat).length, 20);
  const pattern = await runBlock(page, 2);
  assert.deepEqual(pattern.tables, [errors]);
  assert.deepEqual(pattern.figures, { Requests: "0" });

  const written = await runBlock(page, 3);
  assert.deepEqual(written.tables, [
    [
      ["messages", "1,000"],
      ["writes", "4"],
      ["errors", "10"],
    ],
  ]);
  assert.deepEqual(written.figures, { Requests: "0" });
  await checkPage(guide, page);
  await guide.leave(page);
});

test("all pages whose blocks run here are checked", () => {
  assert.deepEqual(checkedPages(), pagesWithOwnTest.patterns);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
