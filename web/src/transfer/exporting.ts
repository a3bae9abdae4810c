// A table, or what a query finds in it, as a file: a piece per page, so that no more than a page is ever held.

import type { ExportOptions, ListTableEntitiesOptions, TableClient } from "../types.ts";
import { CsvWriter } from "./csv-rows.ts";
import { jsonOf } from "./json-entity.ts";
import { checkFormat, checkSignal, type Shared } from "./options.ts";

type Entity = Readonly<Record<string, unknown>>;

/** Rejects as Store.export says. */
export async function* exportFile(
  client: TableClient,
  options: ExportOptions,
  shared: Shared,
): AsyncGenerator<Uint8Array> {
  checkFormat(options.format, shared);
  const text = { ndjson: ndjson, json: json, csv: csv }[options.format];
  const encoder = new TextEncoder();
  for await (const piece of text(client, options, shared)) {
    if (piece !== "") yield encoder.encode(piece);
    await shared.nextTurn();
  }
}

async function* ndjson(
  client: TableClient,
  options: ExportOptions,
  shared: Shared,
): AsyncGenerator<string> {
  const { typed = true } = options;
  for await (const page of pages(client, options, shared)) {
    yield page.map((entity) => `${jsonOf(entity, typed)}\n`).join("");
  }
}

async function* json(
  client: TableClient,
  options: ExportOptions,
  shared: Shared,
): AsyncGenerator<string> {
  const { typed = true } = options;
  let before = "[\n";
  for await (const page of pages(client, options, shared)) {
    if (page.length === 0) continue;
    yield before + page.map((entity) => jsonOf(entity, typed)).join(",\n");
    before = ",\n";
  }
  yield before === ",\n" ? "\n]\n" : "[]\n";
}

async function* csv(
  client: TableClient,
  options: ExportOptions,
  shared: Shared,
): AsyncGenerator<string> {
  const select = asked(options);
  const names = await namesOf(client, options, select, shared);
  const writer = new CsvWriter(names, select, options.typed ?? true, shared);
  let header = writer.header();
  for await (const page of pages(client, options, shared)) {
    yield header + page.map((entity) => writer.row(entity)).join("");
    header = "";
  }
}

// None and * stand for everything.
function asked({ query }: ExportOptions): ReadonlySet<string> | undefined {
  const select = (query?.select ?? []).filter((name) => name !== "etag" && name !== "odata.etag");
  return select.length === 0 || select.includes("*") ? undefined : new Set(select);
}

const system: ReadonlySet<string> = new Set([
  "partitionKey",
  "rowKey",
  "timestamp",
  "etag",
  "PartitionKey",
  "RowKey",
  "Timestamp",
]);

async function namesOf(
  client: TableClient,
  options: ExportOptions,
  select: ReadonlySet<string> | undefined,
  shared: Shared,
): Promise<string[]> {
  const names = new Set(select);
  if (select === undefined) {
    for await (const page of pages(client, options, shared)) {
      for (const entity of page) for (const name in entity) names.add(name);
      await shared.nextTurn();
    }
  }
  return [...names].filter((name) => !system.has(name));
}

async function* pages(
  client: TableClient,
  { query, signal }: ExportOptions,
  shared: Shared,
): AsyncGenerator<Entity[]> {
  const options: ListTableEntitiesOptions = { disableTypeConversion: true };
  if (query !== undefined) options.queryOptions = query;
  for await (const page of client.listEntities(options).byPage()) {
    checkSignal(signal, shared);
    yield page;
  }
}
