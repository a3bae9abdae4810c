// More chapters on patterns. The test presses the buttons and compares what is shown with the data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

test("a queue in the browser continues after a reload", async () => {
  const page = await guide.open("patterns/eventually-consistent");
  const block = (await page.locator("table-playground").count()) - 1;
  const givenOut = async () => {
    const { tables, values } = await runBlock(page, block);
    const [message, times] = tables[0] ?? [];
    if (message === undefined)
      assert.deepEqual(values, ["Hidden: a worker has received the message."]);
    else assert.deepEqual(message, ["message", "Move 000456 to the archive"]);
    return times?.[1];
  };
  assert.equal(await givenOut(), "1");
  await page.reload();
  // The message is hidden for three seconds.
  let times = await givenOut();
  while (times === undefined) {
    await page.waitForTimeout(500);
    times = await givenOut();
  }
  assert.equal(times, "2");
  await guide.leave(page);
});

test("eventually consistent transactions", async () => {
  const page = await guide.resume("patterns/eventually-consistent");

  const naive = await runBlock(page, 0);
  const where = (current: string) => [
    ["Current", current],
    ["Archive", "found"],
  ];
  assert.deepEqual(naive.tables, [where("found")]);
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.tables, [where("not found")]);

  const steps = ["message taken", "employee read", "copied", "deleted", "message removed"];
  const stopped = await runBlock(page, 2);
  const left = [
    ["yes", "no"],
    ["yes", "no"],
    ["yes", "yes"],
    ["no", "yes"],
    ["no", "yes"],
  ];
  assert.equal(stopped.figures["Requests"], "73"); // all of them to forks
  assert.deepEqual(stopped.tables, [
    steps.map((step, i) => [step, ...(left[i] ?? [])]),
    steps.map((step) => [step, "no", "yes", "0"]),
  ]);

  const failing = await runBlock(page, 3);
  assert.deepEqual(failing.tables[0], [
    ["no such employee", "1", "1", "false"],
    ["000456", "1", "1", "true"],
    ...["2", "3", "4", "5"].map((round) => ["no such employee", round, round, "false"]),
  ]);
  assert.deepEqual(failing.tables[1], [["no such employee", "5"]]);

  const workers = await runBlock(page, 4);
  const got = workers.tables[0]?.map(([, messages = ""]) => messages.split(", ")) ?? [];
  assert.deepEqual(
    got.map(({ length }) => length),
    [2, 2, 2],
  );
  assert.deepEqual(got.flat().sort(), ["1", "2", "3", "4", "5", "6"]);
  assert.equal(workers.tables[1]?.length, 6);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("compound key", async () => {
  const page = await guide.open("patterns/compound-key");
  // Employee 123 has the ratings 1 + (123 + year) % 5 and 1 + (369 + year) % 5, and one of four
  // comments, chosen by (123 + year) % 4.
  const ratings = [
    ["2009", "3", "4", "Fine"],
    ["2010", "4", "5", "Good"],
    ["2011", "5", "1", "Kind"],
    ["2012", "1", "2", "Quick"],
    ["2013", "2", "3", "Fine"],
  ];

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Access: "table scan, point query",
    Requests: "6", // one for the employee, and one partition for each of five years
    "Rows read": "5,001",
    Returned: "6",
  });
  assert.deepEqual([naive.values, naive.tables[0]], [["Employee 123"], ratings]);
  const years = Object.fromEntries(ratings.map(([year]) => [year, "1,000 read"]));
  assert.deepEqual(naive.heat, { Sales: "1 read", ...years });

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, {
    Access: "row range",
    Requests: "1",
    "Rows read": "6",
    Returned: "6",
  });
  const family = [
    ["empid_000123", "", "", ""],
    ...ratings.map(([year, ...rest]) => [`empid_000123_${year}`, ...rest]),
  ];
  assert.deepEqual(pattern.tables, [family]);
  assert.deepEqual(pattern.heat, { Sales: "6 read" });
  const cut = await page
    .locator(".versus table-playground")
    .evaluateAll((blocks) =>
      blocks.flatMap(({ shadowRoot }) =>
        [...(shadowRoot?.querySelectorAll(".scroll") ?? [])].map(
          ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
        ),
      ),
    );
  assert.deepEqual(cut, [false, false], "both tables have room");

  const overHttp = await runBlock(page, 2);
  assert.deepEqual([overHttp.captions, overHttp.tables], [["200"], [family]]);
  assert.deepEqual(overHttp.figures, pattern.figures);

  const one = await runBlock(page, 3);
  assert.equal(one.figures["Access"], "point query");
  assert.deepEqual(one.tables, [
    [
      ["Year", "2012"],
      ["ManagerRating", "1"],
      ["PeerRating", "2"],
    ],
  ]);

  const review = await runBlock(page, 4);
  assert.deepEqual(review.tables, [
    [
      ["Sales", "empid_000123", "Employee 123", "2014", "", "", ""],
      ["Sales", "empid_000123_2014", "", "", "2014", "5", "4"],
    ],
  ]);

  const other = await runBlock(page, 5);
  assert.deepEqual(other.values, ["1,000"]);
  assert.equal(other.figures["Rows read"], "6,000");

  const parts = await runBlock(page, 6);
  assert.deepEqual(parts.tables, [
    [
      ["app", "main", "app_main", "app!main"],
      ["app", "old_notes", "app_old_notes", "app!old_notes"],
      ["app_old", "notes", "app_old_notes", "app_old!notes"],
      ["app server", "main", "app server_main", 'app" server!main'],
    ],
  ]);
  assert.deepEqual(parts.captions, [`RowKey ge 'app!' and RowKey lt 'app"'`]);
  assert.deepEqual(parts.values, ["main, old_notes"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

// Inverted ticks, counted as in .NET from the end of the year 9999.
function invertedTicks(ms: number): string {
  return String(3155378975999999999n - 621355968000000000n - BigInt(ms) * 10000n).padStart(19, "0");
}

test("log tail", async () => {
  const page = await guide.open("patterns/log-tail");
  // Entry n of 2,000 is from 3n hours after the start of the year. Its amount is 5 + 13n % 90.
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Access: "partition scan",
    Requests: "2",
    "Rows read": "2,001", // to find the next key, the end of the first page reads one more row
    Returned: "2,000",
  });
  const rows = naive.tables[0] ?? [];
  assert.deepEqual(
    rows.map(([, amount]) => amount),
    Array.from({ length: 10 }, (_, i) => String(5 + (((1999 - i) * 13) % 90))),
  );
  assert.match(rows[0]?.[0] ?? "", /^2026-09-07T21:00/);

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.tables, naive.tables);
  assert.deepEqual(pattern.figures, {
    Access: "partition scan",
    Requests: "1",
    "Rows read": "11",
    Returned: "10",
  });
  assert.deepEqual(pattern.heat, { "000123": "11 read" });

  const overHttp = await runBlock(page, 2);
  const newest = (n: number) => invertedTicks(Date.UTC(2026, 0, 1, 3 * (1999 - n)));
  assert.deepEqual(overHttp.tables, [rows.map(([, amount], n) => [newest(n), amount])]);
  assert.deepEqual(overHttp.captions, ["200", "With only one of the two keys"]);
  assert.deepEqual(overHttp.values, ["400 InvalidInput"]);

  // The 1st of September is day 244, which begins with entry 1,944.
  const since = await runBlock(page, 3);
  assert.deepEqual(since.captions, ["The oldest three of 56"]);
  const [key, time = "", amount] = since.tables[0]?.at(-1) ?? [];
  assert.deepEqual([key, amount], [invertedTicks(Date.UTC(2026, 8, 1)), "77"]);
  assert.match(time, /^2026-09-01T00:00/);
  assert.deepEqual([since.figures["Access"], since.figures["Rows read"]], ["row range", "56"]);

  // January has 31 days with 8 entries each.
  const cut = await runBlock(page, 4);
  assert.deepEqual(cut.tables, [
    [
      ["deleted", "248"],
      ["transactions", "3"],
    ],
  ]);
  assert.deepEqual([cut.figures["Rows read"], cut.figures["Rows deleted"]], ["248", "248"]);

  const same = await runBlock(page, 5);
  const now = invertedTicks(Date.UTC(2026, 8, 8));
  assert.deepEqual(same.values, ["409 EntityAlreadyExists"]);
  assert.deepEqual(
    same.tables[0]?.map((row) => row[1]),
    [now, `${now}!hotel`, `${now}!taxi`],
  );
  await checkPage(guide, page);
  await guide.leave(page);
});

test("high-volume delete", async () => {
  const page = await guide.open("patterns/high-volume-delete");
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.values, ["3,000"]); // 30 days with 100 rows each
  assert.deepEqual(naive.figures, {
    Access: "table scan",
    // In each of 20 partitions: one query that reads 450 rows, and two transactions that delete
    // 150.
    Requests: "60",
    "Rows read": "9,000",
    Returned: "3,000",
    "Rows deleted": "3,000",
  });
  assert.equal(naive.heat["000007"], "450 read, 150 deleted"); // initially 5 rows a day for 90 days

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.values, ["30"]);
  assert.deepEqual(pattern.figures, { Requests: "31" });

  const days = await runBlock(page, 2);
  assert.deepEqual(days.tables, [
    ["29", "30", "31"].map((day) => [
      `202603${day}`,
      "5",
      `2026-03-${day}T07:21:00.000Z`,
      `2026-03-${day}T11:21:00.000Z`,
    ]),
  ]);
  assert.deepEqual([days.figures["Requests"], days.figures["Rows read"]], ["3", "15"]);

  const again = await runBlock(page, 3);
  assert.deepEqual(again.values, ["409 TableBeingDeleted", "created"]);
  // The requests went to the store that the block opened.
  assert.deepEqual(again.figures, { Requests: "3", Rejected: "1" });
  await checkPage(guide, page);
  await guide.leave(page);
});

test("data series", async () => {
  const page = await guide.open("patterns/data-series");
  // The count of employee 42 on day 5 is (42 * 7 + 5 * 5 + 3 * hour) % 60.
  const counts = Array.from({ length: 24 }, (_, hour) => (319 + 3 * hour) % 60).join(", ");

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.values, [counts]);
  assert.deepEqual([naive.figures["Access"], naive.figures["Rows read"]], ["row range", "24"]);
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.values, [counts]);
  assert.deepEqual([pattern.figures["Access"], pattern.figures["Rows read"]], ["point query", "1"]);

  const week = await runBlock(page, 2);
  assert.deepEqual(
    week.tables[0],
    [26, 31, 36, 41, 46, 51, 56].map((nine, day) => [
      `000042_2026010${day + 1}`,
      ...[nine, nine + 3, (nine + 6) % 60].map(String),
    ]),
  );
  assert.equal(week.figures["Rows read"], "7");

  const merges = await runBlock(page, 3);
  const day = ["Sales", "000042_20260108"];
  assert.deepEqual(merges.tables, [[[...day, "4", "17"]], [[...day, "2"]]]);

  const both = await runBlock(page, 4);
  assert.deepEqual(both.tables, [
    [
      ["before", "58"],
      ["two more, without ETags", "59"],
      ["two more, with ETags", "61"],
    ],
  ]);
  assert.equal(both.figures["Rejected"], "1");

  const long = await runBlock(page, 5);
  assert.deepEqual(long.captions, ["252 values", "253 values"]);
  assert.deepEqual(long.values, ["written", "400 TooManyProperties"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("wide entities", async () => {
  const page = await guide.open("patterns/wide-entities");
  const rejected = await runBlock(page, 0);
  assert.deepEqual(rejected.tables[0]?.slice(0, 2), [
    ["status", "400"],
    ["code", "TooManyProperties"],
  ]);

  // The count of employee 123 on day d is (123 * 31 + 17d) % 100. In three hundred days, every
  // remainder occurs three times; 65 days remain.
  let total = 3 * 4950;
  for (let day = 301; day <= 365; day += 1) total += (3813 + 17 * day) % 100;
  const year = [
    [
      ["days", "365"],
      ["total", total.toLocaleString("en-US")],
    ],
  ];
  const naive = await runBlock(page, 1);
  assert.deepEqual(naive.tables, year);
  assert.deepEqual([naive.figures["Access"], naive.figures["Rows read"]], ["row range", "365"]);
  const pattern = await runBlock(page, 2);
  assert.deepEqual(pattern.tables, year);
  assert.deepEqual([pattern.figures["Access"], pattern.figures["Rows read"]], ["row range", "2"]);

  const together = await runBlock(page, 3);
  assert.deepEqual(together.values, ["24", "24", "1000"]);
  assert.deepEqual(together.tables, [
    [
      ["status", "400"],
      ["code", "PropertyValueTooLarge"],
    ],
  ]);
  const one = await runBlock(page, 4);
  assert.deepEqual([one.figures["Requests"], one.figures["Rows written"]], ["1", "1"]);

  const points = await runBlock(page, 5);
  assert.deepEqual(points.values, ["365", "1, 2"]);
  assert.equal(points.figures["Access"], "point query");
  await checkPage(guide, page);
  await guide.leave(page);
});

test("heterogeneous entity types", async () => {
  const page = await guide.open("modelling/heterogeneous-entity-types");
  const sales = [["Sales", "DEPARTMENT_SALES", "Department", "Sales", "300"]];
  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.tables, [sales]);
  const read = ({ figures }: typeof naive) => [figures["Access"], figures["Rows read"]];
  assert.deepEqual(read(naive), ["partition scan", "301"]);
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.tables, [sales]);
  assert.deepEqual(read(pattern), ["row range", "1"]);

  // Sales is department 7, whose employees begin with number 2,100. The age of employee n is 20 +
  // 7n % 45.
  const resolved = await runBlock(page, 2);
  assert.deepEqual(resolved.tables, [
    [
      ["DEPARTMENT_SALES", "Department", "Sales, 300 employees"],
      ["EMPLOYEE_002100", "Employee", "Employee 2100, 20"],
      ["EMPLOYEE_002101", "Employee", "Employee 2101, 27"],
      ["EMPLOYEE_002102", "Employee", "Employee 2102, 34"],
    ],
  ]);

  const unknown = await runBlock(page, 3);
  assert.deepEqual(unknown.values, ["Don Hall"]);
  assert.deepEqual(unknown.tables[0]?.[0], ["code", "ValidationFailed"]);
  assert.match(unknown.tables[0]?.[1]?.[1] ?? "", /there is no schema for EMPLOYEE2\.$/);

  const copied = { naive: await runBlock(page, 4), pattern: await runBlock(page, 5) };
  const types = "String DateTime Guid Int64 Binary Double Int32 Boolean".split(" ");
  const lost = types.map((type) => (type === "Double" ? "Int32" : type));
  const columns = ({ tables }: typeof naive) =>
    [1, 2].map((column) => tables[0]?.map((row) => row[column]));
  assert.deepEqual(columns(copied.naive), [types, lost]);
  assert.deepEqual(columns(copied.pattern), [types, types]);
  assert.deepEqual(copied.pattern.values, ["true"]);

  const typed = await runBlock(page, 6);
  assert.deepEqual(typed.tables[0]?.sort(), [
    ["DepartmentName", "String", "Sales"],
    ["EmployeeCount", "Int32", "300"],
    ["EntityType", "String", "Department"],
  ]);
  assert.deepEqual(typed.values, ["301"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("client-side encryption", async () => {
  const page = await guide.open("modelling/client-side-encryption");
  const clear = [
    ["Name", "Ken Kwok"],
    ["Account", "DE89 3704 0044 0532 0130 00"],
  ];
  assert.deepEqual((await runBlock(page, 0)).tables, [clear]);
  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.tables[0], clear);
  assert.match(pattern.tables[1]?.[1]?.[1] ?? "", / \(55 bytes\)$/);
  assert.equal(pattern.figures["Requests"], "3");

  const chosen = await runBlock(page, 2);
  assert.deepEqual(chosen.tables, [
    [
      ["Sales", "000503", "Ken Kwok", "5,400", "55 bytes"],
      // 12 bytes nonce, 5 bytes text, 16 bytes authentication tag
      ["Board", "000503", "Ken Kwok", "33 bytes", "55 bytes"],
    ],
    [["Board", "000503", "Ken Kwok", "5,400", "DE89 3704 0044 0532 0130 00"]],
  ]);

  const keys = await runBlock(page, 3);
  assert.deepEqual(keys.tables[0], [
    ["v", "2"],
    ["key", "2026"],
    ["names", '["Account"]'],
    ["wrapped", "56 characters"], // 40 bytes in base64
  ]);
  assert.deepEqual(keys.tables[1]?.[0], ["code", "DecryptionFailed"]);
  assert.match(keys.tables[1]?.[1]?.[1] ?? "", /There is no key "2026"\.$/);
  assert.deepEqual(keys.values, ["DE75 5121 0800 1245 1261 99"]);

  const moved = await runBlock(page, 4);
  assert.deepEqual(moved.tables[0]?.[0], ["code", "DecryptionFailed"]);
  assert.match(moved.tables[0]?.[1]?.[1] ?? "", /Its key is another one, or it was changed\.$/);
  assert.match(moved.tables[1]?.[1]?.[1] ?? "", /Account is not encrypted, and should be\.$/);

  const rejected = await runBlock(page, 5);
  assert.deepEqual(
    rejected.tables[0]?.map(([what, code]) => [what, code]),
    [
      ["filter", "EncryptedProperty"],
      ["merge", "NotSupported"],
    ],
  );
  assert.deepEqual(rejected.values, ["0", "DE90"]);
  assert.equal(rejected.figures["Requests"], "4"); // all of them for writes that were not rejected
  await checkPage(guide, page);
  await guide.leave(page);
});

test("all pages whose blocks run here are checked", () => {
  assert.deepEqual(checkedPages(), pagesWithOwnTest.morePatterns);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
