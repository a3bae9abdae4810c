// Checks tables, through both clients.

import { odata, type TableClient, type TableItem } from "@azure/data-tables";
import { equal } from "../equal.ts";
import { all, assertRejected, type Check } from "./environment.ts";

type OperationOptions = NonNullable<Parameters<TableClient["createTable"]>[0]>;

const namesOf = (tables: TableItem[]) => tables.map(({ name }) => name);

export const tables: Check[] = [
  {
    name: "both clients create and delete tables, and ignore that this was done already",
    async run(context) {
      const service = context.service();
      const table = context.table(context.name());
      const name = table.tableName;
      const calls: ((options: OperationOptions) => Promise<void>)[] = [
        (options) => service.createTable(name, options),
        (options) => table.createTable(options),
        (options) => table.deleteTable(options),
        (options) => service.deleteTable(name, options),
        (options) => table.createTable(options),
        (options) => service.createTable(name.toUpperCase(), options),
        (options) => service.deleteTable(name, options),
        (options) => table.deleteTable(options),
      ];
      const statuses: number[] = [];
      for (const call of calls) {
        let last = 0;
        await call({
          onResponse: ({ status }) => {
            last = status;
          },
        });
        statuses.push(last);
      }
      equal(statuses, [201, 409, 204, 404, 201, 409, 204, 404]);
      const entity = { partitionKey: "p", rowKey: "r" };
      await assertRejected(table.createEntity(entity), 404, "TableNotFound");
    },
  },
  {
    name: "tables are listed, filtered, paged, and continued from a token",
    async run(context) {
      const service = context.service();
      const root = context.name();
      const names = ["a", "b", "c", "d", "e"].map((letter) => root + letter);
      for (const name of names) await service.createTable(name);
      const filter = odata`TableName ge ${root} and TableName lt ${`${root}e`}`;
      const four = names.slice(0, 4);
      equal(namesOf(await all(service.listTables({ queryOptions: { filter } }))), four);
      const listed = namesOf(await all(service.listTables()));
      equal(
        listed.filter((name) => name?.startsWith(root)),
        names,
      );
      const list = () => service.listTables({ queryOptions: { filter } });
      const pages = await all(list().byPage({ maxPageSize: 3 }));
      equal(pages.map(namesOf), [four.slice(0, 3), four.slice(3)]);
      const continuationToken = pages[0]?.continuationToken;
      equal(typeof continuationToken, "string");
      const rest = await all(list().byPage({ maxPageSize: 3, continuationToken }));
      equal(rest.map(namesOf), [four.slice(3)]);
      for (const name of names) await service.deleteTable(name);
      equal(await all(list()), []);
    },
  },
  {
    name: "illegal table names are rejected",
    async run(context) {
      const service = context.service();
      await assertRejected(service.createTable("ab"), 400, "OutOfRangeInput");
      await assertRejected(service.createTable("1abc"), 400, "InvalidResourceName");
      await assertRejected(service.createTable("a-b-c"), 400, "InvalidResourceName");
      await assertRejected(service.createTable("tables"), 400, "InvalidInput");
    },
  },
];
