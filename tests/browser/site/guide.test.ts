// The chapters that explain the service. The test presses the buttons and compares what is shown
// with the data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock, writeCode } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

test("the design guide: a table scan and a point query", async () => {
  const page = await guide.open("design-guide");
  const employee = [["Legal", "000223", "51"]]; // 20 + (223 * 7) % 45

  const naive = await runBlock(page, 0);
  assert.deepEqual(naive.figures, {
    Access: "table scan",
    Requests: "10", // one for each partition
    "Rows read": "20,000",
    Returned: "1",
  });
  assert.deepEqual(naive.tables, [employee]);
  assert.equal(Object.keys(naive.heat).length, 10);
  assert.equal(naive.heat["Supply"], "2,000 read");

  const pattern = await runBlock(page, 1);
  assert.deepEqual(pattern.figures, {
    Access: "point query",
    Requests: "1",
    "Rows read": "1",
    Returned: "1",
  });
  assert.deepEqual(pattern.tables, [employee]);
  assert.deepEqual(pattern.heat, { Legal: "1 read" });
  await checkPage(guide, page);
  await guide.leave(page);
});

test("one button runs both panes and compares them", async () => {
  const page = await guide.open("design-guide");
  await page.getByRole("button", { name: "Run both" }).click();
  const comparison = page.locator(".cost-comparison .bars");
  await comparison.getByText("20,000 times fewer").waitFor();
  const [rows, requests] = await comparison.locator(".comparison").allTextContents();
  assert.equal(rows, "Rows read: 20,000 times fewer20,000 naive1 pattern");
  assert.equal(requests, "Requests: 10 times fewer10 naive1 pattern");
  await page.locator("table-playground").first().getByRole("textbox").fill("throw new Error();");
  await runBlock(page, 0);
  assert.equal(await comparison.textContent(), "");
  await guide.leave(page);

  const append = await guide.open("patterns/append-anti-pattern");
  await append.getByRole("button", { name: "Run both" }).click();
  // The pattern wrote more rows because fewer requests were rejected. A factor ("2.5 times") would
  // mislead, so none is shown.
  await append.getByText("Rows written: 5,000 instead of 2,000").waitFor();
  await append.getByText("Rejected: none instead of 3,000").waitFor();
  await guide.leave(append);

  const servers = await guide.open("servers");
  await servers.getByRole("button", { name: "Run both" }).click();
  await servers.getByText("Both blocks take the same number of requests and rows.").waitFor();
  await guide.leave(servers);
});

test("the home page: ten lines run, also a second time", async () => {
  const page = await guide.open("");
  for (const _ of ["the first time", "with the data of the first time"]) {
    const { tables, error } = await runBlock(page, 0);
    assert.equal(error, "");
    assert.deepEqual(tables, [[["desk", "0042", "Arc", "7"]]]);
  }
  await checkPage(guide, page);
  await guide.leave(page);
});

test("getting started: a row in a persistent store is still there after a reload", async () => {
  const page = await guide.open("start");
  assert.match((await runBlock(page, 1)).error, /^404 TableNotFound/);
  const [written] = (await runBlock(page, 0)).tables;
  await page.reload();
  const [found] = (await runBlock(page, 1)).tables;
  assert.deepEqual(found, written);
  assert.deepEqual(found?.at(-1), ["stock", "7"]);

  assert.deepEqual((await runBlock(page, 2)).tables[0], [
    ["name", "shop"],
    ["persistence", "indexeddb"],
  ]);
  const { tables, captions } = await runBlock(page, 3);
  assert.deepEqual(captions, ["In stock", "The cost of this query"]);
  assert.deepEqual(tables[0], [
    ["0042", "Arc", "7"],
    ["0043", "Bow", "3"],
  ]);
  assert.deepEqual(tables[1], [
    ["kind", "partition"],
    ["rowsRead", "3"],
    ["rowsReturned", "2"],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("the data model", async () => {
  const page = await guide.open("data-model");
  const company = await runBlock(page, 0);
  assert.deepEqual(company.tables[0], [
    ["Marketing", "00001", "Don", "Hall", "34", "donh@contoso.com", "", ""],
    ["Marketing", "00002", "Jun", "Cao", "47", "junc@contoso.com", "", ""],
    ["Marketing", "Department", "", "", "", "", "Marketing", "153"],
    ["Sales", "00010", "Ken", "Kwok", "23", "kenk@contoso.com", "", ""],
  ]);
  const types = await runBlock(page, 1);
  assert.deepEqual(types.tables[0], [
    ["text", "String", "häuser"],
    ["yes", "Boolean", "true"],
    ["whole", "Int32", "3"],
    ["fraction", "Double", "2.5"],
    ["double", "Double", "3"],
    ["big", "Int64", "9007199254740993"],
    ["moment", "DateTime", "2024-02-29T12:34:56.789Z"],
    ["bytes", "Binary", "AQL/"],
    ["id", "Guid", "8aa7e6c1-27a4-4b6f-8f2b-2f0f4a4f9a11"],
  ]);
  const numbers = async (index: number) =>
    (await runBlock(page, index)).tables[0]?.map((row) => row[2]).join();
  assert.equal(await numbers(2), "1,10,100,11,2,9");
  assert.equal(await numbers(3), "1,2,9,10,11,100");
  const merged = await runBlock(page, 4);
  assert.deepEqual(merged.tables[0], [["Marketing", "Department", "Marketing", "154"]]);
  await checkPage(guide, page);
  await guide.leave(page);
});

// The filters of the design guide. What they return follows from the data: 26 surnames that repeat
// over 400 employees, then ten rows of each other kind.
const eitherOr = "PartitionKey eq 'Sales' and (RowKey eq '121' or RowKey eq '322')";
type Question = [block: number, filter: string, access: string, cost: [number, number, number]];
const filters: Question[] = [
  [0, "(PartitionKey eq 'Sales') and (RowKey eq '2')", "point query", [1, 1, 1]],
  [1, "PartitionKey eq 'Sales' and RowKey ge 'S' and RowKey lt 'T'", "row range", [1, 10, 10]],
  [2, "PartitionKey eq 'Sales' and RowKey ge 'B' and RowKey lt 'C'", "row range", [1, 10, 10]],
  [3, "PartitionKey eq 'Sales' and LastName eq 'Smith'", "partition scan", [1, 660, 15 + 10]],
  [4, "PartitionKey eq 'Sales'", "partition scan", [1, 660, 660]],
  [5, "LastName eq 'Jones'", "table scan", [10, 6600, 10 * (16 + 10)]],
  [6, eitherOr, "partition scan", [1, 660, 2]],
  [9, "PartitionKey eq 'Sales' and RowKey ge 'B' and RowKey lt 'F'", "row range", [1, 40, 40]],
];

test("querying: the filters run with the plans that the text states", async () => {
  const page = await guide.open("querying");
  for (const [block, filter, access, cost] of filters) {
    const code = page.locator("table-playground").nth(block).getByRole("textbox");
    assert((await code.inputValue()).includes(`"${filter}"`), filter);
    const { figures } = await runBlock(page, block);
    const [Requests, read, Returned] = cost.map((n) => n.toLocaleString("en-US"));
    assert.deepEqual(figures, { Access: access, Requests, "Rows read": read, Returned }, filter);
  }
  await guide.leave(page);
});

test("querying: what is shown, and the picture", async () => {
  const page = await guide.resume("querying");
  const point = await runBlock(page, 0);
  assert.deepEqual(point.tables[0], [["Sales", "2", "Employee", "Cohen"]]);
  assert.deepEqual(point.heat, { Sales: "1 read" });
  const smiths = await runBlock(page, 3);
  assert(smiths.tables[0]?.every((row) => row[0] === "Sales" && row[3] === "Smith"));
  assert.deepEqual(smiths.heat, { Sales: "660 read" });
  const joneses = await runBlock(page, 5);
  assert.equal(Object.values(joneses.heat).join(), Array(10).fill("660 read").join());
  const [or, two] = [await runBlock(page, 6), await runBlock(page, 7)];
  assert.deepEqual(or.tables, two.tables);
  assert.deepEqual(two.figures, {
    Access: "point query",
    Requests: "2",
    "Rows read": "2",
    Returned: "2",
  });
  assert.deepEqual([or.heat, two.heat], [{ Sales: "660 read" }, { Sales: "2 read" }]);
  const [here, advice] = (await runBlock(page, 8)).tables;
  assert.deepEqual(here, [
    ["here", "point"],
    ["rowsRead", "2"],
    ["on the service", "partition"],
  ]);
  assert.deepEqual(
    advice?.map(([code]) => code),
    ["PartitionScan", "WiderOnService"],
  );
  const kinds = await runBlock(page, 9);
  assert.deepEqual(kinds.tables[0], [
    ["Customer", "20"],
    ["Supplier", "20"],
  ]);
  const [plan, warnings] = (await runBlock(page, 10)).tables;
  assert.deepEqual(plan, [
    ["kind", "partition"],
    ["rowsRead", "660"],
    ["rowsReturned", "25"],
    ["requests", "1"],
  ]);
  assert.deepEqual(
    warnings?.map(([code]) => code),
    ["PartitionScan"],
  );
  const selected = await runBlock(page, 11);
  assert.deepEqual(selected.tables[0]?.[0], ["Smith-0", "Customer"]);
  await guide.leave(page);
});

test("querying: the bytes that a projection saves", async () => {
  const page = await guide.resume("querying");
  const [weighed = []] = (await runBlock(page, 12)).tables;
  const rows = weighed.map(([select, bytes, rows, metadata, members]) => {
    assert.equal(rows, "660");
    return { select, metadata, bytes: Number(bytes?.replaceAll(",", "")), members };
  });
  assert.deepEqual(
    rows.map(({ select, metadata, members }) => [select, metadata, members]),
    [
      ["everything", "no", "PartitionKey, RowKey, Timestamp, EntityType, LastName"],
      ["LastName", "no", "LastName"],
      [
        "PartitionKey, RowKey, Timestamp, LastName",
        "no",
        "PartitionKey, RowKey, Timestamp, LastName",
      ],
      ["LastName, Email", "no", "LastName, Email (null)"],
      ["LastName", "minimal", "odata.etag, LastName"],
    ],
  );
  const [all, name, keys, missing, minimal] = rows;
  assert(all && name && keys && missing && minimal);
  assert(name.bytes * 6 < all.bytes && keys.bytes < all.bytes && name.bytes < minimal.bytes);
  assert.equal(missing.bytes - name.bytes, 660 * ',"Email":null'.length);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("entity group transactions", async () => {
  const page = await guide.open("transactions");
  const hired = await runBlock(page, 0);
  assert.deepEqual(hired.tables[0], [
    ["Sales", "000001", "Ken Kwok", ""],
    ["Sales", "000002", "Jun Cao", ""],
    ["Sales", "000003", "Don Hall", ""],
    ["Sales", "Department", "", "3"],
  ]);
  const [refusal, after] = (await runBlock(page, 1)).tables;
  assert.deepEqual(refusal?.slice(0, 2), [
    ["status", "409"],
    ["code", "EntityAlreadyExists"],
  ]);
  assert.match(refusal?.[2]?.[1] ?? "", /^1:/);
  assert.deepEqual(after, [
    ["Sales", "000001", "Ken Kwok", ""],
    ["Sales", "000002", "Jun Cao", ""],
    ["Sales", "Department", "", "2"],
  ]);
  assert.deepEqual((await runBlock(page, 2)).figures, { Requests: "100", "Rows written": "100" });
  assert.deepEqual((await runBlock(page, 3)).figures, { Requests: "1", "Rows written": "100" });
  const rejected = await runBlock(page, 4);
  assert.deepEqual(
    rejected.tables[0]?.map((row) => row.slice(0, 2)),
    [
      ["another partition", "rejected by the client"],
      ["101 operations", "400 InvalidInput"],
      ["the same row twice", "400 InvalidDuplicateRow"],
      ["more than 4 MiB", "413 RequestBodyTooLarge"],
    ],
  );
  await checkPage(guide, page);
  await guide.leave(page);
});

test("optimistic concurrency", async () => {
  const page = await guide.open("concurrency");
  assert.deepEqual((await runBlock(page, 0)).values, ["6"]);
  const retried = await runBlock(page, 1);
  assert.deepEqual(retried.values, ["412 UpdateConditionNotSatisfied", "7"]);
  assert.equal(retried.figures["Requests"], "7");
  assert.deepEqual((await runBlock(page, 2)).tables[0], [
    ["with the ETag that was read", "412 UpdateConditionNotSatisfied"],
    ["with *", "written"],
  ]);
  const [merges, claims] = (await runBlock(page, 3)).tables;
  assert.deepEqual(merges, [["blog", "hello", "6", "Hello there"]]);
  assert.deepEqual(claims, [
    ["fulfilled", ""],
    ["rejected", "EntityAlreadyExists"],
  ]);
  await guide.leave(page);
});

test("merge, replace and upsert, on existing and missing rows", async () => {
  const page = await guide.resume("concurrency");
  assert.deepEqual((await runBlock(page, 4)).tables[0], [
    ["likes", "Int32 5", "five", "String five", "String five"],
    ["title", "String Hello", "null", "String Hello", ""],
    ["language", "String en", "", "String en", ""],
    ["author", "", "Ann", "String Ann", "String Ann"],
  ]);
  assert.deepEqual((await runBlock(page, 5)).tables[0], [
    ["update, merge", "written", "10", "Hello"],
    ["update, replace", "written", "10", ""],
    ["update, row missing", "404 ResourceNotFound", "", ""],
    ["upsert, row missing", "written", "10", ""],
    ["create, row exists", "409 EntityAlreadyExists", "10", ""],
  ]);
  assert.deepEqual((await runBlock(page, 6)).tables[0], [
    ["hello", "PATCH", "", "204", "10", "Hello"],
    ["new", "PATCH", "", "204", "10", ""],
    ["hello", "PUT", "", "204", "10", ""],
    ["newer", "PUT", "", "204", "10", ""],
    ["nowhere", "PUT", "*", "404", "", ""],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("paging, and a continuation token that is used after a reload", async () => {
  const page = await guide.open("paging");
  const all = await runBlock(page, 0);
  const first = await runBlock(page, 1);
  assert.deepEqual([all.figures["Requests"], all.figures["Returned"]], ["3", "2,345"]);
  assert.deepEqual([first.figures["Requests"], first.figures["Returned"]], ["1", "50"]);
  assert.deepEqual(first.tables, all.tables);
  assert.equal(first.tables[0]?.length, 50);
  assert.equal((await runBlock(page, 2)).values[0], "00000099");
  await page.reload();
  assert.equal((await runBlock(page, 3)).values[0], "00000100");
  const dear = Array.from({ length: 2345 }, (_, n) => (n * 37) % 500).filter(
    (total) => total > 495,
  );
  const [pages = [], found] = (await runBlock(page, 4)).tables;
  const sizes = pages.map(([rows]) => Number(rows));
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    dear.length,
  );
  assert(sizes.slice(0, -1).some((size) => size === 0));
  assert(sizes.slice(0, -1).some((size) => size > 0 && size < 4));
  assert.deepEqual(
    pages.map(([, token]) => token),
    [...Array(pages.length - 1).fill("there is more"), "none: the last page"],
  );
  assert.deepEqual(found, [
    ["rows", String(dear.length)],
    ["all of them, in order", "true"],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("limits and errors", async () => {
  const page = await guide.open("limits");
  assert.deepEqual((await runBlock(page, 0)).tables[0], [
    ["252 properties", "ok", ""],
    ["253 properties", "400", "TooManyProperties"],
    ["a String of 32,768 characters", "ok", ""],
    ["a String of 32,769 characters", "400", "PropertyValueTooLarge"],
    ["a Binary of 64 KiB", "ok", ""],
    ["a Binary of 64 KiB and one byte", "400", "PropertyValueTooLarge"],
    ["an entity of more than 1 MiB", "400", "EntityTooLarge"],
    ["a key of 512 characters", "ok", ""],
    ["a key of 513 characters", "400", "PropertyValueTooLarge"],
    ["a slash in a key", "400", "OutOfRangeInput"],
    ["a property name of 255 characters", "ok", ""],
    ["a property name of 256 characters", "400", "PropertyNameTooLong"],
    ["a space in a property name", "400", "PropertyNameInvalid"],
    ["a DateTime in the year 1600", "400", "OutOfRangeInput"],
    ["a table named 9x", "400", "OutOfRangeInput"],
  ]);
  assert.deepEqual((await runBlock(page, 1)).tables[0], [
    ["a page of 1,000 rows", "200", ""],
    ["a page of 1,001 rows", "400", "InvalidInput"],
    ["a body of 4 MiB", "201", ""],
    ["a body of 4 MiB and one byte", "413", "RequestBodyTooLarge"],
    ["timeout=30", "200", ""],
    ["timeout=60, treated as 30", "200", ""],
    ["timeout=0", "400", "OutOfRangeQueryParameterValue"],
  ]);
  assert.deepEqual((await runBlock(page, 2)).tables[0], [
    ["100 operations", "201", ""],
    ["101 operations", "400", "InvalidInput"],
    ["two partitions", "400", "CommandsInBatchActOnDifferentPartitions"],
    ["two tables", "400", "CommandsInBatchActOnDifferentPartitions"],
  ]);
  assert.deepEqual((await runBlock(page, 3)).tables[0], [
    ["status", "500"],
    ["code", "OperationTimedOut"],
    ["seconds", "30"],
  ]);
  const comparisons = await runBlock(page, 4);
  assert.deepEqual(comparisons.tables[0], [
    ["15", "ok", "ok"],
    ["16", "ok", "400 InvalidInput"],
  ]);
  assert.deepEqual(comparisons.values, ["TableScan, ManyComparisons"]);
  await guide.leave(page);
});

test("limits of access policies, CORS rules and throughput", async () => {
  const page = await guide.resume("limits");
  assert.deepEqual((await runBlock(page, 5)).tables[0], [
    ["5 policies", "ok", ""],
    ["6 policies", "400", "InvalidXmlDocument"],
    ["a policy name of 64 characters", "ok", ""],
    ["a policy name of 65 characters", "400", "InvalidXmlNodeValue"],
    ["5 CORS rules", "ok", ""],
    ["6 CORS rules", "400", "InvalidXmlDocument"],
    ["an origin of 256 characters", "ok", ""],
    ["an origin of 257 characters", "400", "InvalidXmlNodeValue"],
    ["64 literal headers", "ok", ""],
    ["65 literal headers", "400", "InvalidXmlNodeValue"],
    ["2 header prefixes", "ok", ""],
    ["3 header prefixes", "400", "InvalidXmlNodeValue"],
  ]);
  const busy = await runBlock(page, 6);
  assert.deepEqual(busy.tables, [
    [
      ["entity 2,001 of the partition", "503 ServerBusy"],
      ["another partition", "served"],
    ],
    [["the partition, one second later", "served"]],
    [["request 20,001 of the account", "503 ServerBusy"]],
  ]);
  await guide.leave(page);
});

test("errors and retries", async () => {
  const page = await guide.resume("limits");
  assert.match((await runBlock(page, 7)).tables[0]?.[2]?.[1] ?? "", /at position 24/);
  const retried = await runBlock(page, 8);
  assert.deepEqual(retried.values, [
    "503 ServerBusy: waiting 100 ms",
    "503 ServerBusy: waiting 200 ms",
  ]);
  assert.deepEqual(retried.tables[0], [["p", "r", "1"]]);
  assert.deepEqual((await runBlock(page, 9)).values, ["ETIMEDOUT", "EntityAlreadyExists"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("load balancing: a simulation of the requests of the run, at a chosen rate", async () => {
  const page = await guide.open("servers");
  const summaryOf = (index: number) =>
    page.locator(".servers .summary-text").nth(index).textContent();
  const slow = async (index: number) => {
    const slider = page.getByRole("slider").nth(index);
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowLeft"]) await slider.press(key);
    assert.equal(await slider.getAttribute("aria-valuetext"), "500");
  };
  const { figures } = await runBlock(page, 0);
  assert.deepEqual(figures, { Requests: "2,000", "Rows written": "2,000" });
  assert.equal(
    await summaryOf(0), // 30 times 2,000 of 5,000
    "In 30 seconds, 60,000 requests were served and 90,000 were rejected: 90,000 because their partition was too busy.",
  );
  await runBlock(page, 1);
  assert.match((await summaryOf(1)) ?? "", /because their server was too busy/);
  await slow(1);
  assert.equal(
    await summaryOf(1),
    "In 30 seconds, 15,000 requests were served and 0 were rejected.",
  );

  // The partition's limit counts entities: twenty transactions of a hundred entities reach it.
  const packed = await runBlock(page, 2);
  assert.deepEqual(packed.figures, { Requests: "20", "Rows written": "2,000" });
  await slow(2);
  assert.equal(
    await summaryOf(2),
    "In 30 seconds, 600 requests for 60,000 entities were served and 14,400 were rejected: 14,400 because their partition was too busy.",
  );
  const both = await runBlock(page, 3);
  assert.deepEqual(both.figures, { Requests: "100", "Rows written": "2,000" });
  await slow(3);
  const spread = (await summaryOf(3)) ?? "";
  assert.match(spread, /^In 30 seconds, 1\d,\d{3} requests for 2\d\d,\d{3} entities were served/);
  assert.doesNotMatch(spread, /partition was too busy/);

  await checkPage(guide, page);

  // The counts of an earlier run are no longer shown.
  await page.locator("table-playground").nth(2).getByRole("textbox").fill("show(1);");
  await runBlock(page, 2);
  await page.getByText("This run sent no request to a partition.").waitFor();
  await guide.leave(page);
});

test("the picture of the partitions is drawn during a run, and is cleared for each run", async () => {
  const page = await guide.open("patterns/append-anti-pattern");
  const block = page.locator("table-playground").nth(2);
  const picture = page.locator("table-playground[data-heat] + .heat").last();
  await block.getByRole("textbox").fill(`
    const write = (n) => table("Events").createEntity({ partitionKey: "today", rowKey: String(n) });
    for (let n = 0; n < 20; n += 1) await write(n);
    await new Promise((resolve) => { globalThis.goOn = resolve; });
    for (let n = 0; n < 30; n += 1) await write(n).catch(() => {});`);
  await block.getByRole("button", { name: "Run" }).click();
  await picture.getByText("20 written", { exact: true }).waitFor();
  assert.equal(await picture.getAttribute("data-state"), "running");
  await page.evaluate(() => (globalThis as unknown as { goOn: () => void }).goOn());
  await picture.getByText("30 written, 20 requests rejected", { exact: true }).waitFor();
  await page.locator("[data-state=done]").waitFor();
  assert.equal(await picture.locator("li").getAttribute("data-writes"), "2");

  await writeCode(block, "show(1);");
  assert.deepEqual((await runBlock(page, 2)).heat, {});
  assert.equal(await picture.isHidden(), true); // no partition was used
  await guide.leave(page);
});

test("persistence: rows exist after a reload and in a snapshot", async () => {
  const page = await guide.open("persistence");
  assert.deepEqual((await runBlock(page, 0)).values, ["1"]);
  await page.reload();
  const again = await runBlock(page, 0);
  assert.deepEqual(again.values, ["2"]);
  assert.deepEqual(again.tables[0], [
    ["persistence", "indexeddb"],
    ["state", "open"],
  ]);
  const measured = (await runBlock(page, 1)).tables[0];
  assert.deepEqual(
    measured?.map((row) => row.slice(0, 2).join()),
    ["strict,50", "relaxed,50", "deferred,50"],
  );
  const tabs = await runBlock(page, 2);
  assert.deepEqual(tabs.values, ["this tab"]);
  assert.deepEqual(tabs.tables[0], [["page", "persistence", "2"]]);
  const other = await guide.open("persistence");
  assert.deepEqual((await runBlock(other, 2)).values, ["another tab"]);
  await other.close();
  const copied = (await runBlock(page, 3)).tables[0];
  assert(copied?.some((row) => row.join() === "Visits,1"));
  assert(copied?.some((row) => row.join() === "Writes,150"));
  await checkPage(guide, page);
  await guide.leave(page);
});

test("testing with a mock store", async () => {
  const page = await guide.open("mock-back-end");
  const answer = await runBlock(page, 0);
  assert.match(answer.values[0] ?? "", /^200 W\/"datetime'2026-01-01T/);
  assert.deepEqual(answer.tables[0]?.at(-1), ["Stock", "7"]);
  const forks = await runBlock(page, 1);
  assert.deepEqual(forks.tables[0], [
    ["fork 7", "Ray, Bow"],
    ["fork 8", "Ray, Arc, Bow"],
    ["original", "Ray, Arc, Bow"],
  ]);
  const [[, before = ""] = [], [, after = ""] = []] = (await runBlock(page, 2)).tables[0] ?? [];
  assert.deepEqual([before.slice(0, 10), after.slice(0, 10)], ["2026-01-01", "2026-01-02"]);
  const failures = await runBlock(page, 3);
  assert.deepEqual(failures.values, ["written, 503 ServerBusy, ECONNRESET"]);
  assert.deepEqual(failures.tables[0], [
    ["0044", "insert", "204", ""],
    ["0045", "insert", "503", "ServerBusy"],
    ["", "query", "", "ECONNRESET"],
  ]);
  const secondary = await runBlock(page, 4);
  assert.deepEqual(secondary.tables[0], [
    ["a row", "200", ""],
    ["a query", "200", ""],
    ["an insert", "403", "InsufficientAccountPermissions"],
  ]);
  assert.deepEqual(secondary.values, ["Thu, 01 Jan 2026 00:00:00 GMT"]);
  const tests = await runBlock(page, 5);
  assert.deepEqual(
    tests.tables[0]?.map(([, outcome]) => outcome),
    ["passed", "passed"],
  );
  await checkPage(guide, page);
  await guide.leave(page);
});

test("using @azure/data-tables", async () => {
  const page = await guide.open("official-client");
  assert.deepEqual((await runBlock(page, 0)).tables[0], [["desk", "0042", "Arc", "6"]]);
  assert.deepEqual((await runBlock(page, 1)).tables[0], [
    ["createTable", "201", ""],
    ["insert", "503", "ServerBusy"],
    ["insert", "503", "ServerBusy"],
    ["insert", "204", ""],
  ]);
  assert.deepEqual((await runBlock(page, 2)).tables[0], [["desk", "0042", "Arc", "7"]]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("a chosen colour scheme is kept", async () => {
  const page = await guide.open("");
  const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
  assert.equal(await scheme(), "light dark");
  for (const [name, expected] of [
    ["light", "light"],
    ["dark", "dark"],
  ]) {
    await page.getByRole("button", { name: /^Colours/ }).click();
    await page.getByRole("button", { name: `Colours: ${name}` }).waitFor();
    assert.equal(await scheme(), expected);
  }
  await page.reload();
  assert.equal(await scheme(), "dark");
  await page.getByRole("button", { name: /^Colours/ }).click();
  assert.equal(await scheme(), "light dark");
  await guide.leave(page);
});

test("on a phone the contents are a menu, which the keyboard opens", async () => {
  const page = await guide.open("");
  await page.setViewportSize({ width: 390, height: 844 });
  const entry = page.locator(".guide a", { hasText: "Getting started" });
  await entry.waitFor({ state: "hidden" });
  await page.getByText("Contents").focus();
  await page.keyboard.press("Enter");
  await entry.click();
  await page.waitForURL("**/some/path/start/");
  assert.equal(await page.locator("[aria-current=page]").textContent(), "Getting started");
  await guide.leave(page);
});

test("all pages whose blocks run here are checked", () => {
  assert.deepEqual(checkedPages(), pagesWithOwnTest.guide);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
