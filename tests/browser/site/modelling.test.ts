// The chapters on modelling. The test presses the buttons and compares what is shown with the data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Guide, openGuide, runBlock } from "../support/guide.ts";
import { checkedPages, checkPage, pagesWithOwnTest } from "../support/guide-check.ts";

let guide: Guide;

before(async () => {
  guide = await openGuide();
});

after(() => guide?.close());

const counted = (n: number) => n.toLocaleString("en-US");

test("choosing PartitionKey and RowKey", async () => {
  const page = await guide.open("modelling/choosing-keys");
  assert.deepEqual((await runBlock(page, 0)).tables[0], partitionSizes());
  const { tables, captions } = await runBlock(page, 1);
  // Order n belongs to customer n * 7919 % 400, and to day floor(n * 365 / 12000) of the year.
  // March consists of the days 59 to 89.
  const orders = Array.from({ length: 12_000 }, (_, n) => ({
    customer: (n * 7919) % 400,
    day: Math.floor((n * 365) / 12_000),
  }));
  const march = orders.filter(({ day }) => day >= 59 && day < 90);
  const own = march.filter(({ customer }) => customer === 42).length;
  const first = march.filter(({ day }) => day === 59).length;
  assert.deepEqual(captions, [
    "The orders of c0042 in March",
    "All orders of c0042",
    "All orders of the first of March",
  ]);
  assert.deepEqual(tables[0], [
    ["ByDay", "table", counted(march.length), String(own)],
    ["ByCustomer", "range", String(own), String(own)],
    ["ByCustomerMonth", "partition", String(own), String(own)],
    ["ByHash", "range", String(own), String(own)],
  ]);
  assert.deepEqual(tables[1], [
    ["ByDay", "table", "12,000", "30"],
    ["ByCustomer", "partition", "30", "30"],
    ["ByCustomerMonth", "table", "30", "30"],
    ["ByHash", "range", "30", "30"],
  ]);
  assert.deepEqual(tables[2], [
    ["ByDay", "partition", String(first), String(first)],
    ["ByCustomer", "table", "12,000", String(first)],
    ["ByCustomerMonth", "table", "12,000", String(first)],
    ["ByHash", "table", "12,000", String(first)],
  ]);
  const hashed = await runBlock(page, 2);
  assert.deepEqual(hashed.tables[0], [
    ["partition", "04"],
    ["orders", "30"],
  ]);
  assert.deepEqual(hashed.heat, { "04": "30 read" });
  await guide.leave(page);
});

// Returns the number of rows per partition for each choice of the partition key. There are 12,000
// orders of 400 customers on 365 days. The choices: by day, by customer, by customer and month, by
// one of 16 parts.
function partitionSizes(): string[][] {
  const hash = (text: string) =>
    [...text].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1009, 7) % 16;
  const choices: Record<string, (customer: string, day: Date) => string> = {
    ByDay: (_, day) => day.toISOString().slice(0, 10),
    ByCustomer: (customer) => customer,
    ByCustomerMonth: (customer, day) => `${customer}_${day.getUTCMonth()}`,
    ByHash: (customer) => String(hash(customer)),
  };
  return Object.entries(choices).map(([name, partitionOf]) => {
    const counts = new Map<string, number>();
    for (let n = 0; n < 12_000; ++n) {
      const customer = `c${String((n * 7919) % 400).padStart(4, "0")}`;
      const day = new Date(Date.UTC(2026, 0, 1 + Math.floor((n * 365) / 12_000)));
      const partition = partitionOf(customer, day);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    const sizes = [...counts.values()];
    return [name, ...[counts.size, Math.min(...sizes), Math.max(...sizes)].map(counted)];
  });
}

test("sortable keys: zero padding and ISO dates", async () => {
  const page = await guide.resume("modelling/choosing-keys");
  const plain = await runBlock(page, 3);
  assert.deepEqual(plain.values, [
    "1, 10, 100, 11, 12",
    "01/03/2026, 01/08/2026, 02/02/2026, 02/06/2026, 02/07/2026",
  ]);
  assert.deepEqual(plain.captions, ["Numbers", "Days", "From 8 to 12"]);
  // The table was shown as a list.
  assert.deepEqual([plain.tables, plain.figures["Returned"]], [[], "100"]);
  const padded = await runBlock(page, 4);
  assert.deepEqual(padded.values, [
    "00000001, 00000002, 00000003, 00000004, 00000005",
    "2026-01-03, 2026-01-06, 2026-01-09, 2026-01-12, 2026-01-15",
  ]);
  assert.deepEqual(
    padded.tables[0]?.map((row) => row[1]),
    ["00000008", "00000009", "00000010", "00000011", "00000012"],
  );
  await checkPage(guide, page);
  await guide.leave(page);
});

test("one-to-many relationships", async () => {
  const page = await guide.open("modelling/one-to-many");
  const card = [
    ["Name", "Employee 123"],
    ["Building", "Building 5"],
  ];
  const [apart, copied] = [await runBlock(page, 0), await runBlock(page, 1)];
  assert.deepEqual([apart.tables, copied.tables], [[card], [card]]);
  assert.deepEqual([apart.figures["Requests"], copied.figures["Requests"]], ["2", "1"]);
  const [all, one] = [await runBlock(page, 2), await runBlock(page, 3)];
  assert.deepEqual([all.figures["Requests"], all.figures["Rows written"]], ["3", "200"]);
  assert.deepEqual(one.figures, { Requests: "1", "Rows written": "1" });
  const hired = await runBlock(page, 4);
  assert.deepEqual(hired.tables[0], [
    ["before", "200"],
    ["after", "201"],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("one-to-one relationships", async () => {
  const page = await guide.open("modelling/one-to-one");
  const bytesOf = async (index: number) => {
    const { tables, figures } = await runBlock(page, index);
    const [[[, rows] = [], [, bytes] = []] = [], first = []] = tables;
    assert.deepEqual([rows, figures["Rows read"], figures["Requests"]], ["1,000", "1,000", "1"]);
    assert.deepEqual(first[1], ["Employee 1", "555-000001"]);
    return Number(bytes?.replaceAll(",", ""));
  };
  assert((await bytesOf(0)) > 1000 * 8000);
  assert((await bytesOf(1)) < 1000 * 100);
  const both = await runBlock(page, 2);
  assert.deepEqual(both.tables[0], [
    ["Name", "New employee"],
    ["contract", "To be signed."],
  ]);
  assert.deepEqual(both.heat, { Sales: "2 read, 2 written" });
  const linked = await runBlock(page, 3);
  assert.deepEqual(linked.tables, [
    [
      ["Name", "New employee"],
      ["contract", "To be signed."],
    ],
    [
      ["contract", "K-4711"],
      ["Name", "New employee"],
    ],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("joins in the client", async () => {
  const page = await guide.open("modelling/joins");
  const [naive, pattern] = [await runBlock(page, 0), await runBlock(page, 1)];
  assert.deepEqual([naive.figures["Requests"], pattern.figures["Requests"]], ["153", "4"]);
  assert.deepEqual(naive.tables, pattern.tables);
  assert.deepEqual([naive.figures["Returned"], pattern.figures["Returned"]], ["300", "160"]);
  assert.deepEqual(naive.tables[0]?.[7], ["000007", "Sales", "Building 5"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("inheritance relationships", async () => {
  const page = await guide.open("modelling/inheritance");
  const [naive, pattern] = [await runBlock(page, 0), await runBlock(page, 1)];
  assert.deepEqual(naive.tables, pattern.tables);
  assert.deepEqual([naive.figures["Rows read"], naive.figures["Returned"]], ["1,000", "250"]);
  assert.deepEqual([pattern.figures["Rows read"], pattern.figures["Returned"]], ["250", "250"]);
  assert.equal(pattern.figures["Access"], "row range");
  assert.deepEqual((await runBlock(page, 2)).tables[0], [
    ["Person 5 <p5@contoso.com>, ordered 5 times"],
    ["Person 4 <p4@contoso.com>, earns 3004"],
  ]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("parallel operations: the same sum in a twentieth of the time", async () => {
  const page = await guide.open("modelling/parallel");
  let total = 0;
  for (let shop = 0; shop < 20; ++shop) {
    for (let n = 0; n < 500; ++n) {
      const amount = (n * 13 + shop) % 100;
      if (amount >= 95) total += amount;
    }
  }
  const [naive, pattern] = [await runBlock(page, 0), await runBlock(page, 1)];
  assert.deepEqual(naive.tables[0], [
    ["total", counted(total)],
    ["ms", "1,000"],
  ]);
  assert.deepEqual(pattern.tables[0], [
    ["total", counted(total)],
    ["ms", "50"],
  ]);
  assert.equal((await runBlock(page, 2)).values[0], Array(20).fill(25).join(", "));
  const written = await runBlock(page, 3);
  const left = counted(20 * (500 - 50 + 1));
  assert.deepEqual(written.tables[0], [
    ["sequential", "1,000", left],
    ["parallel", "50", left],
  ]);
  assert.deepEqual([written.captions, written.values], [["The same rows"], ["true"]]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("the cost of denormalized entities", async () => {
  const page = await guide.open("modelling/denormalized-entities");
  const [naive, pattern] = [await runBlock(page, 0), await runBlock(page, 1)];
  assert.deepEqual(
    [naive.figures["Requests"], naive.figures["Rows read"], naive.figures["Rows written"]],
    ["110", counted(100 * 2010), "10"],
  );
  assert.deepEqual(
    [pattern.figures["Requests"], pattern.figures["Rows read"], pattern.figures["Rows written"]],
    ["110", "100", "20"],
  );
  // Each mix has twenty writes. If the row has no copy for the lookup, the lookup reads the whole
  // partition.
  const { tables, figures } = await runBlock(page, 2);
  const expected = [0, 0.1, 1, 10].flatMap((mix) => {
    const lookups = 20 * mix;
    return [
      ["one row", mix, 20 + lookups, lookups * 2020, 20],
      ["two rows", mix, 20 + lookups, lookups, 40],
      ["two partitions", mix, 40 + lookups, lookups, 40],
    ];
  });
  assert.deepEqual(
    tables[0],
    expected.map((row) => row.map((cell) => (typeof cell === "number" ? counted(cell) : cell))),
  );
  // The block's cost is the sum of its forks' costs.
  const sum = (column: number) => expected.reduce((total, row) => total + Number(row[column]), 0);
  const [requests, read, written] = [2, 3, 4].map((column) => counted(sum(column)));
  assert.deepEqual(figures, {
    Access: "partition scan, point query",
    Requests: requests,
    "Rows read": read,
    Returned: String(3 * (0 + 2 + 20 + 200)),
    "Rows written": written,
  });
  await checkPage(guide, page);
  await guide.leave(page);
});

test("shared access signatures", async () => {
  const page = await guide.open("modelling/shared-access-signatures");
  const [anns, january] = (await runBlock(page, 0)).tables;
  assert.deepEqual(anns, [
    ["Ann's order", "total 40"],
    ["Ben's order", "403 AuthorizationFailure"],
    ["all orders", "Ann 2025-12, Ann 2026-01, Ann 2026-02"],
    ["an insert", "403 AuthorizationPermissionMismatch"],
  ]);
  assert.deepEqual(january, [
    ["in the range", "total 40"],
    ["at the end", "total 40"],
    ["before the range", "403 AuthorizationFailure"],
  ]);
  const { tables, captions } = await runBlock(page, 3);
  assert.deepEqual(captions, ["Immediately", "Two hours later", "After the policy was deleted"]);
  assert.deepEqual(tables, [
    [
      ["expires after an hour", "total 40"],
      ["stored access policy", "total 40"],
    ],
    [
      ["expires after an hour", "403"],
      ["stored access policy", "total 40"],
    ],
    [["stored access policy", "403"]],
  ]);
  await guide.leave(page);
});

test("shared access signatures: contents of a SAS token, and add-only permission", async () => {
  const page = await guide.resume("modelling/shared-access-signatures");
  const { tables, captions, figures } = await runBlock(page, 1);
  const [signature = [], answers, later] = tables;
  const { sig, ...said } = Object.fromEntries(signature);
  assert.match(sig, /^[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(said, {
    sv: "2019-02-02",
    se: "2026-01-02T00:00:00Z",
    sp: "r",
    tn: "Orders",
    spk: "Ann",
    epk: "Ann",
  });
  assert.deepEqual(answers, [
    ["unchanged", "200: Ann 2025-12, Ann 2026-01, Ann 2026-02"],
    ["with a filter", "200: Ann 2026-01, Ann 2026-02"],
    ["with Ben's partition", "403 AuthenticationFailed"],
    ["with a later expiry", "403 AuthenticationFailed"],
    ["no signature", "403 AuthenticationFailed"],
  ]);
  assert.deepEqual(later, [["unchanged", "403 AuthenticationFailed"]]);
  assert.deepEqual(captions, ["Ann's signature", "Responses", "Two days later"]);
  assert.deepEqual([figures["Requests"], figures["Rejected"]], ["6", "4"]);

  const meter = await runBlock(page, 2);
  assert.deepEqual(meter.tables, [
    [
      ["a new reading", "204"],
      ["the same key again", "409 EntityAlreadyExists"],
      ["another meter's partition", "403 AuthorizationFailure"],
      ["replace the reading", "403 AuthorizationPermissionMismatch"],
      ["read the reading", "403 AuthorizationPermissionMismatch"],
    ],
    [["meter-7", "2026-01-01", "12.5"]],
  ]);
  assert.deepEqual([meter.figures["Rows written"], meter.figures["Rejected"]], ["1", "4"]);
  await checkPage(guide, page);
  await guide.leave(page);
});

test("all pages whose blocks run here are checked", () => {
  assert.deepEqual(checkedPages(), pagesWithOwnTest.modelling);
});

test("no page printed or threw anything", () => {
  assert.deepEqual(guide.problems, []);
});
