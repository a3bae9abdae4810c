// Checks queries: filters, selections and pages.

import { odata, type TableClient, type TransactionAction } from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, assertRejected, type Check } from "./environment.ts";

interface Keys {
  partitionKey?: string;
  rowKey?: string;
}

const keyOf = ({ partitionKey, rowKey }: Keys) => `${partitionKey}/${rowKey}`;

// Inserts rows 000, 001, … into these partitions. Returns their keys in the order of a listing.
async function fill(table: TableClient, partitions: string[], rows: number): Promise<string[]> {
  const keys: Required<Keys>[] = [];
  for (const partitionKey of partitions) {
    for (let row = 0; row < rows; ++row) {
      keys.push({ partitionKey, rowKey: String(row).padStart(3, "0") });
    }
    const actions = keys.slice(-rows).map((one): TransactionAction => ["create", one]);
    while (actions.length > 0) await table.submitTransaction(actions.splice(0, 100));
  }
  return keys.map(keyOf);
}

export const queries: Check[] = [
  {
    name: "entities are filtered by every type, and properties are selected",
    async run(context) {
      const table = await context.newTable();
      const date = new Date("2024-01-02T03:04:05.678Z");
      for (let v = 0; v < 5; ++v) {
        await table.createEntity({
          partitionKey: "p",
          rowKey: `${v}`,
          v,
          name: `it's ${v}`,
          big: BigInt(v) * 10_000_000_000n,
          half: v + 0.5,
          odd: v % 2 === 1,
          at: new Date(date.getTime() + v),
          id: { type: "Guid", value: `c9da6455-213d-42c9-9a79-3e9149a5783${v}` },
          bytes: Uint8Array.of(v, 0xff),
        });
      }
      const find = async (filter: string) => {
        const found = await all(table.listEntities({ queryOptions: { filter } }));
        return found.map(({ rowKey }) => rowKey).join("");
      };
      equal(await find(odata`v gt ${1} and name ne ${"it's 3"}`), "24");
      equal(await find(odata`at gt ${date} and odd eq ${false}`), "24");
      equal(await find("big ge 20000000000L or half lt 1.0"), "0234");
      equal(await find("id eq guid'c9da6455-213d-42c9-9a79-3e9149a57831'"), "1");
      equal(await find("bytes eq X'02ff' or bytes eq binary'03FF'"), "23");
      equal(await find("not (v lt 4)"), "4");
      equal(await find(odata`Timestamp lt ${date}`), "");
      const select = ["rowKey", "v", "absent"];
      const queryOptions = { filter: "v ge 3", select };
      const some = await all(table.listEntities({ queryOptions }));
      equal(
        some.map(({ rowKey, partitionKey, name, v, absent }) => [
          rowKey,
          partitionKey,
          name,
          v,
          absent,
        ]),
        [
          ["3", undefined, undefined, 3, null],
          ["4", undefined, undefined, 4, null],
        ],
      );
      const wrong = { queryOptions: { filter: "v eq" } };
      await assertRejected(all(table.listEntities(wrong)), 400, "InvalidInput");
    },
  },
  {
    name: "more than 1000 entities of several partitions are listed in pages, complete and in order",
    async run(context) {
      const table = await context.newTable();
      const keys = await fill(table, ["", "a", "b'\u20ac"], 400);
      equal((await all(table.listEntities())).map(keyOf), keys);
      const pages = await all(table.listEntities().byPage());
      equal(
        pages.map((page) => page.length),
        [1000, 200],
      );
      equal(pages.flat().map(keyOf), keys);
      const filter = odata`RowKey ge ${"390"}`;
      const found = await all(table.listEntities({ queryOptions: { filter } }));
      equal(
        found.map(keyOf),
        keys.filter((key) => key.slice(-3) >= "390"),
      );
    },
  },
  {
    name: "pages have the requested size, and tokens continue from them",
    async run(context) {
      const table = await context.newTable();
      const keys = await fill(table, ["", "a", "b"], 7);
      const seen: string[] = [];
      const lengths: number[] = [];
      let continuationToken: string | undefined;
      do {
        const iterator = table.listEntities().byPage({ maxPageSize: 4, continuationToken });
        const { value } = await iterator.next();
        lengths.push(value.length);
        seen.push(...value.map(keyOf));
        continuationToken = value.continuationToken;
      } while (continuationToken !== undefined);
      equal(seen, keys);
      equal(lengths, [4, 4, 4, 4, 4, 1]);
      const tooLong = all(table.listEntities().byPage({ maxPageSize: 1001 }));
      await assertRejected(tooLong, 400, "InvalidInput");
    },
  },
];
