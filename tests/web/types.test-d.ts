// Checked only by the compiler (types.test.ts runs it). The data types of this package and of the
// official client are mutually assignable.

import type * as official from "@azure/data-tables";
import type * as ours from "../../web/src/index.ts";
import { RestError, type StoreError, TableTransaction } from "../../web/src/index.ts";

type Both<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const same = <_T extends true>() => {};

interface Person {
  name: string;
  age: number;
  born?: Date;
}

// ---- Entities, options, results, responses ------------------------------------------------------

same<Both<ours.EdmTypes, official.EdmTypes>>();
same<Both<ours.Edm<"Binary">, official.Edm<"Binary">>>();
same<Both<ours.Edm<"Boolean">, official.Edm<"Boolean">>>();
same<Both<ours.Edm<"Double">, official.Edm<"Double">>>();
same<Both<ours.Edm<"Int32">, official.Edm<"Int32">>>();
same<Both<ours.Edm<"Int64">, official.Edm<"Int64">>>();
same<Both<ours.TableEntity<Person>, official.TableEntity<Person>>>();
same<Both<ours.TableEntity, official.TableEntity>>();
same<Both<ours.TableEntityResult<Person>, official.TableEntityResult<Person>>>();
same<Both<ours.TableEntityResultPage<Person>, official.TableEntityResultPage<Person>>>();
same<Both<ours.GetTableEntityResponse<Person>, official.GetTableEntityResponse<Person>>>();
same<Both<ours.UpdateMode, official.UpdateMode>>();
same<Both<ours.TableEntityQueryOptions, official.TableEntityQueryOptions>>();
same<Both<ours.TableQueryOptions, official.TableQueryOptions>>();
same<
  Both<ours.OperationOptions, NonNullable<Parameters<official.TableClient["createTable"]>[0]>>
>();
same<Both<ours.GetTableEntityOptions, official.GetTableEntityOptions>>();
same<Both<ours.ListTableEntitiesOptions, official.ListTableEntitiesOptions>>();
same<Both<ours.ListTableItemsOptions, official.ListTableItemsOptions>>();
same<Both<ours.UpdateTableEntityOptions, official.UpdateTableEntityOptions>>();
same<Both<ours.DeleteTableEntityOptions, official.DeleteTableEntityOptions>>();
same<Both<ours.CreateTableEntityResponse, official.CreateTableEntityResponse>>();
same<Both<ours.UpdateEntityResponse, official.UpdateEntityResponse>>();
same<Both<ours.UpsertEntityResponse, official.UpsertEntityResponse>>();
same<Both<ours.DeleteTableEntityResponse, official.DeleteTableEntityResponse>>();
same<Both<ours.TableItem, official.TableItem>>();
same<Both<ours.TableItemResultPage, official.TableItemResultPage>>();
same<Both<ours.TransactionAction, official.TransactionAction>>();
same<Both<ours.CreateDeleteEntityAction, official.CreateDeleteEntityAction>>();
same<Both<ours.UpdateEntityAction, official.UpdateEntityAction>>();
same<Both<ours.TableTransactionResponse, official.TableTransactionResponse>>();
same<Both<ours.TableTransactionEntityResponse, official.TableTransactionEntityResponse>>();
same<Both<ours.TableTransaction, official.TableTransaction>>();

// ---- Clients: code written for the official methods accepts ours --------------------------------

type Methods =
  | "tableName"
  | "createTable"
  | "deleteTable"
  | "createEntity"
  | "getEntity"
  | "listEntities"
  | "updateEntity"
  | "upsertEntity"
  | "deleteEntity"
  | "submitTransaction";

declare const client: ours.TableClient;
declare const service: ours.TableServiceClient;
client satisfies Pick<official.TableClient, Methods>;
service satisfies Pick<official.TableServiceClient, "createTable" | "deleteTable" | "listTables">;
new TableTransaction() satisfies official.TableTransaction;
declare const officialError: official.RestError;
officialError satisfies Pick<RestError, "code" | "statusCode" | "message">;

// ---- Table<T> -----------------------------------------------------------------------------------

declare const store: ours.Store;
const people = store.table<Person>("people", { types: { age: "Double" } });
const key = { partitionKey: "p", rowKey: "r" };

async function typed(): Promise<void> {
  const person = await people.getEntity("p", "r");
  person.name satisfies string;
  person.born satisfies Date | undefined;
  person.etag satisfies string;
  person.timestamp satisfies string | undefined;
  // @ts-expect-error: no such property
  person.surname;
  for await (const row of people.listEntities()) row.age satisfies number;
  for await (const page of people.listEntities().byPage({ maxPageSize: 5 })) {
    page.continuationToken satisfies string | undefined;
    page[0]?.age satisfies number | undefined;
  }

  people satisfies Pick<official.TableClient, "deleteEntity" | "submitTransaction">;
  await people.createEntity({ ...key, name: "Ann", age: 3 });
  await people.createEntity({ ...key, name: "Ann", age: { type: "Double", value: 3 } });
  // @ts-expect-error: age is missing
  await people.createEntity({ ...key, name: "Ann" });
  // @ts-expect-error: the row key is missing
  await people.createEntity({ partitionKey: "p", name: "Ann", age: 3 });
  // @ts-expect-error: a text is no age
  await people.createEntity({ ...key, name: "Ann", age: "3" });
  await people.updateEntity({ ...key, age: 4 }, "Merge", { etag: person.etag });
  await people.upsertEntity({ ...key, name: "Bo", age: 4 }, "Replace", { durability: "deferred" });
  // @ts-expect-error: no such mode
  await people.updateEntity({ ...key, age: 4 }, "merge");
  // @ts-expect-error: no such durability
  await people.deleteEntity("p", "r", { durability: "sync" });

  const plan = await people.explain({ queryOptions: { filter: "age gt 3.0" } });
  plan.kind satisfies "empty" | "point" | "range" | "partition" | "table";
}

async function liveQueries(): Promise<void> {
  const all = people.live({ limit: 5, from: key });
  all.getSnapshot().data?.[0]?.age satisfies number | undefined;
  (await all.ready)[0]?.rowKey satisfies string | undefined;
  for await (const rows of all) rows[0]?.born satisfies Date | undefined;
  all.onDelta(({ inserted, updated }) => {
    inserted[0]?.entity.name satisfies string | undefined;
    updated[0]?.previous.age satisfies number | undefined;
  }) satisfies () => void;
  // @ts-expect-error: the result cannot be changed
  (await all.ready).pop();
  const selected = await people.live({ queryOptions: { select: ["age"] } }).ready;
  selected[0]?.age satisfies number | undefined;
  // @ts-expect-error: name is not selected
  selected[0]?.name;
  // @ts-expect-error: no such property
  people.live({ queryOptions: { select: ["surname"] } });
  // @ts-expect-error: it is named limit
  people.live({ top: 5 });
  (await people.liveEntity("p", "r").ready)?.name satisfies string | undefined;
  (await people.liveCount({ queryOptions: { filter: "age gt 3.0" } }).ready) satisfies number;
  await using count = people.liveCount();
  count.subscribe(() => {}) satisfies () => void;
  (await count.explain()).rowsWatched satisfies number;
  await observedQueries();
  for await (const { changes, sequence } of store.changes({ partitionKey: "p", before: true })) {
    sequence satisfies bigint;
    changes[0]?.op satisfies "insert" | "update" | "delete" | undefined;
  }
}

async function observedQueries(): Promise<void> {
  const observed = store.observe(async (read) => {
    const [first] = await read.entities(people, { limit: 5, from: key });
    const selected = await read.entities(people, { queryOptions: { select: ["age"] } });
    selected[0]?.age satisfies number | undefined;
    // @ts-expect-error: name is not selected
    selected[0]?.name;
    // @ts-expect-error: the result cannot be changed
    selected.sort();
    // @ts-expect-error: no such property
    await read.entities(people, { queryOptions: { select: ["surname"] } });
    // @ts-expect-error: a name is no table
    await read.count("people");
    const one = await read.entity(people, "p", "r");
    one?.born satisfies Date | undefined;
    return { age: first?.age, name: one?.name, count: await read.count(people) };
  });
  (await observed.ready).age satisfies number | undefined;
  observed.getSnapshot().data?.count satisfies number | undefined;
  store.observe(() => 5) satisfies ours.LiveQuery<number>;
  store.observe(async (read) => (await read.count(people)) > 0) satisfies ours.LiveQuery<boolean>;
}

async function untyped(): Promise<void> {
  const any = store.table("any");
  await any.createEntity({ ...key, whatever: 1n, bytes: new Uint8Array(), when: new Date() });
  const entity = await any.getEntity("p", "r");
  entity.whatever satisfies unknown;
  // @ts-expect-error: types name properties of T
  store.table<Person>("people", { types: { surname: "String" } });
  // @ts-expect-error: onResponse has no meaning without a request
  await client.getEntity("p", "r", { onResponse: () => {} });
  await client.getEntity("p", "r", { abortSignal: new AbortController().signal });
}

// ---- Store --------------------------------------------------------------------------------------

({ httpClient: store.httpClient }) satisfies official.TableServiceClientOptions;
store.fetch satisfies typeof fetch;

async function disposed(): Promise<void> {
  await using inBlock = store;
  inBlock.on("persist-error", ({ error, retryInMs }) => {
    error satisfies Error;
    retryInMs satisfies number | undefined;
  }) satisfies () => void;
  // @ts-expect-error: no such event
  inBlock.on("persist", () => {});
  inBlock.status.state satisfies "open" | "read-only" | "closed";
}

({ thread: "worker", tabs: "shared" }) satisfies ours.OpenOptions;
// @ts-expect-error: no such thread
({ thread: "page" }) satisfies ours.OpenOptions;

function errors(error: unknown): void {
  if (error instanceof RestError) error.details?.odataError?.code satisfies string | undefined;
  const storeError = error as StoreError;
  storeError.code satisfies "QuotaExceeded" | (string & {});
}

void [typed, liveQueries, untyped, disposed, errors];
