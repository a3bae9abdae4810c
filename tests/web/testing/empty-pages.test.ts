// Tests pages that end early. A reader that follows the continuation tokens gets each row once, by
// RPC and by REST.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TableClient, TableServiceClient } from "@azure/data-tables";
import type { MockStore } from "../../../web/src/testing/index.ts";
import { mockStore } from "../../../web/src/testing/index.ts";
import { type Random, seededRandom } from "../support/random.ts";

const url = "https://acme.table.core.windows.net";

interface Row {
  partitionKey: string;
  rowKey: string;
  n: number;
}

interface Question {
  filter: string | undefined;
  holds: (row: Row) => boolean;
}

function rowsFor(random: Random): Row[] {
  const rows = new Map<string, Row>();
  for (let i = random.below(60); i > 0; --i) {
    const partitionKey = "abcd"[random.below(4)] as string;
    const rowKey = String(random.below(100)).padStart(2, "0");
    rows.set(partitionKey + rowKey, { partitionKey, rowKey, n: random.below(10) });
  }
  return [...rows.keys()].sort().map((key) => rows.get(key) as Row);
}

function questionFrom(random: Random): Question {
  const n = random.below(11);
  const from = String(random.below(100)).padStart(2, "0");
  const questions: Question[] = [
    { filter: undefined, holds: () => true },
    { filter: `n ge ${n}`, holds: (row) => row.n >= n },
    { filter: "PartitionKey eq 'b'", holds: (row) => row.partitionKey === "b" },
    {
      filter: `PartitionKey eq 'c' and RowKey ge '${from}' and n lt ${n}`,
      holds: (row) => row.partitionKey === "c" && row.rowKey >= from && row.n < n,
    },
  ];
  return questions[random.below(questions.length)] as Question;
}

const keyOf = ({ partitionKey, rowKey }: { partitionKey?: string; rowKey?: string }) =>
  `${partitionKey} ${rowKey}`;

// Requests pages, and resolves to the keys in each.
type Ask = (filter: string | undefined, most: number | undefined) => Promise<string[][]>;

async function pagesOf(pages: AsyncIterable<{ partitionKey?: string; rowKey?: string }[]>) {
  const all: string[][] = [];
  for await (const page of pages) all.push(page.map(keyOf));
  return all;
}

function byClient(client: Pick<TableClient, "listEntities">): Ask {
  return (filter, most) => {
    const options = filter === undefined ? {} : { queryOptions: { filter } };
    const size = most === undefined ? {} : { maxPageSize: most };
    return pagesOf(client.listEntities(options).byPage(size));
  };
}

function byFetch(store: MockStore): Ask {
  return async (filter, most) => {
    const all: string[][] = [];
    const query = new URLSearchParams();
    if (filter !== undefined) query.set("$filter", filter);
    if (most !== undefined) query.set("$top", String(most));
    for (;;) {
      const answer = await store.fetch(`${url}/rows()?${query}`);
      const { value } = (await answer.json()) as { value: Record<string, string>[] };
      all.push(value.map((row) => `${row["PartitionKey"]} ${row["RowKey"]}`));
      const partition = answer.headers.get("x-ms-continuation-nextpartitionkey");
      if (partition === null) return all;
      query.set("NextPartitionKey", partition);
      query.set("NextRowKey", answer.headers.get("x-ms-continuation-nextrowkey") ?? "");
    }
  };
}

describe("pages that end early", () => {
  test("lose no row and repeat none", async (t) => {
    const seed = Number(process.env["ENTITABLE_SEED"] ?? Date.now() % 1_000_000_007);
    t.diagnostic(`ENTITABLE_SEED=${seed}`);
    const random = seededRandom(seed);
    const seen = { pages: 0, empty: 0, partial: 0 };
    for (let round = 0; round < 40; ++round) {
      const rows = rowsFor(random);
      const emptyPages = [0.2, 0.7, 1][random.below(3)] as number;
      await using store = await mockStore({
        name: "acme",
        seed: random.below(2 ** 31),
        fixtures: { rows },
        emptyPages,
      });
      const official = new TableClient(url, "rows", { httpClient: store.httpClient });
      for (const ask of [byClient(store.tableClient("rows")), byClient(official), byFetch(store)]) {
        const { filter, holds } = questionFrom(random);
        const most = random.below(3) === 0 ? undefined : 1 + random.below(9);
        const pages = await ask(filter, most);
        assert.deepEqual(pages.flat(), rows.filter(holds).map(keyOf), `round ${round}: ${filter}`);
        const full = Math.min(most ?? 1000, 1000);
        assert(pages.every(({ length }) => length <= full));
        seen.pages += pages.length;
        seen.empty += pages.filter(({ length }) => length === 0).length;
        seen.partial += pages.slice(0, -1).filter((p) => p.length > 0 && p.length < full).length;
      }
    }
    t.diagnostic(JSON.stringify(seen));
    assert(seen.empty > 40 && seen.partial > 40, "there were such pages");
  });

  test("of tables lose none and repeat none", async () => {
    const names = ["alpha", "beta", "gamma", "omega", "zeta"];
    const fixtures = Object.fromEntries(names.map((name) => [name, []]));
    await using store = await mockStore({ name: "acme", fixtures, emptyPages: 1 });
    const httpClient = store.httpClient;
    for (const service of [store.serviceClient(), new TableServiceClient(url, { httpClient })]) {
      const pages: string[][] = [];
      for await (const page of service.listTables().byPage({ maxPageSize: 3 })) {
        pages.push(page.map(({ name }) => name as string));
      }
      assert.deepEqual(pages.flat(), names);
      assert(pages.length > 2);
    }
  });

  test("repeat with the seed, and change nothing else", async () => {
    const row = { partitionKey: "p", rowKey: "r" };
    const run = async (seed: number) => {
      const more = ["a", "b", "c", "d", "e"].map((rowKey) => ({ partitionKey: "p", rowKey }));
      const fixtures = { rows: [row, ...more] };
      await using store = await mockStore({ name: "acme", seed, fixtures, emptyPages: 1 });
      const table = store.tableClient("rows");
      await table.getEntity("p", "r");
      const { rowsRead, rowsReturned } = store.requests.all()[0] ?? {};
      assert.deepEqual([rowsRead, rowsReturned], [1, 1]);
      return await byClient(table)(undefined, undefined);
    };
    const first = await run(1);
    assert.deepEqual(await run(1), first);
    const others = await Promise.all([2, 3, 4, 5].map(run));
    assert(others.some((other) => JSON.stringify(other) !== JSON.stringify(first)));
  });

  for (const emptyPages of [-0.1, 1.1, Number.NaN]) {
    test(`with a probability of ${emptyPages} are rejected`, () =>
      assert.rejects(mockStore({ emptyPages }), {
        code: "ValidationFailed",
        message: /emptyPages must be a probability/,
      }));
  }
});
