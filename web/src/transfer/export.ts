// Exports a table, or the result of a query, as a file. Yields one chunk per page, so that only one
// page is in memory at a time.

import type { ExportOptions, ListTableEntitiesOptions, TableClient } from "../types.ts";
import { CsvWriter } from "./csv-entities.ts";
import { entityToJson } from "./json-entity.ts";
import {
  checkFormat,
  checkSafeCells,
  type TransferDependencies,
  throwIfAborted,
} from "./option-checks.ts";

type Entity = Readonly<Record<string, unknown>>;

/** Implements Store.export. Throws the errors that Store.export documents. */
export async function* exportFile(
  client: TableClient,
  options: ExportOptions,
  dependencies: TransferDependencies,
): AsyncGenerator<Uint8Array> {
  checkFormat(options.format, dependencies);
  checkSafeCells(options, dependencies);
  const text = { ndjson: ndjson, json: json, csv: csv }[options.format];
  const encoder = new TextEncoder();
  for await (const chunk of text(client, options, dependencies)) {
    if (chunk !== "") yield encoder.encode(chunk);
    await dependencies.yieldToEventLoop();
  }
}

async function* ndjson(
  client: TableClient,
  options: ExportOptions,
  dependencies: TransferDependencies,
): AsyncGenerator<string> {
  const { typed = true } = options;
  for await (const page of pages(client, options, dependencies)) {
    yield page.map((entity) => `${entityToJson(entity, typed)}\n`).join("");
  }
}

async function* json(
  client: TableClient,
  options: ExportOptions,
  dependencies: TransferDependencies,
): AsyncGenerator<string> {
  const { typed = true } = options;
  let before = "[\n";
  for await (const page of pages(client, options, dependencies)) {
    if (page.length === 0) continue;
    yield before + page.map((entity) => entityToJson(entity, typed)).join(",\n");
    before = ",\n";
  }
  yield before === ",\n" ? "\n]\n" : "[]\n";
}

async function* csv(
  client: TableClient,
  options: ExportOptions,
  dependencies: TransferDependencies,
): AsyncGenerator<string> {
  const select = selectedProperties(options);
  const names = await namesOf(client, options, select, dependencies);
  const writer = new CsvWriter(names, select, options, dependencies);
  let header = writer.header();
  for await (const page of pages(client, options, dependencies)) {
    yield header + page.map((entity) => writer.row(entity)).join("");
    header = "";
  }
}

// Returns the selected properties. Returns undefined if all are selected.
function selectedProperties({ query }: ExportOptions): ReadonlySet<string> | undefined {
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
  dependencies: TransferDependencies,
): Promise<string[]> {
  const names = new Set(select);
  if (select === undefined) {
    for await (const page of pages(client, options, dependencies)) {
      for (const entity of page) for (const name in entity) names.add(name);
      await dependencies.yieldToEventLoop();
    }
  }
  return [...names].filter((name) => !system.has(name));
}

async function* pages(
  client: TableClient,
  { query, signal }: ExportOptions,
  dependencies: TransferDependencies,
): AsyncGenerator<Entity[]> {
  const options: ListTableEntitiesOptions = { disableTypeConversion: true };
  if (query !== undefined) options.queryOptions = query;
  for await (const page of client.listEntities(options).byPage()) {
    throwIfAborted(signal, dependencies);
    yield page;
  }
}
