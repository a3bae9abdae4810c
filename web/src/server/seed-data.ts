// Fixtures from a folder: `<table>.json`, an array of entities, and `<table>.ndjson`, an entity on each line.
//
// Entities as the official client has them ({ "partitionKey": …, "age": { "type": "Int64", "value": "7" } }), or as the service
// sends them ({ "PartitionKey": …, "age@odata.type": "Edm.Int64", "age": "7" }), so that what was saved from either can be
// used as it is. What the service itself says of an entity (timestamp, ETag, odata.*) is left out, and so is null.

import { StoreError } from "../errors.ts";
import { codeOf, nodeModule } from "../node.ts";
import type { Fixtures } from "../testing/types.ts";
import type { TableEntity } from "../types.ts";

type Json = Record<string, unknown>;

const keys = new Map([
  ["PartitionKey", "partitionKey"],
  ["RowKey", "rowKey"],
]);
const annotation = /^(.+)@odata\.type$/;
const ofTheService = /^(timestamp|Timestamp|etag)$|^odata\.|@odata\./;

/** Rejects with StoreError ValidationFailed, naming the file. */
export async function readSeedData(folder: string): Promise<Fixtures> {
  const [{ promises: fs }, { join }] = [await nodeModule("node:fs"), await nodeModule("node:path")];
  const names = await fs.readdir(folder).catch((error: unknown) => {
    throw invalid(`${folder} is no folder that can be read (${codeOf(error)}).`, error);
  });
  const fixtures = new Map<string, TableEntity[]>();
  const from = new Map<string, string>(); // the file, by the table in lower case
  for (const name of names.sort()) {
    const [, table, kind] = /^([^.].*)\.(json|ndjson)$/.exec(name) ?? [];
    if (table === undefined) continue;
    const other = from.get(table.toLowerCase());
    if (other !== undefined) throw invalid(`${other} and ${name} are for the same table.`);
    from.set(table.toLowerCase(), name);
    const bytes = await fs.readFile(join(folder, name)).catch((error: unknown) => {
      throw invalid(`${name} can't be read (${codeOf(error)}).`, error);
    });
    const text = new TextDecoder().decode(bytes); // without the mark that Windows puts in front
    fixtures.set(table, kind === "json" ? fromJson(name, text) : fromLines(name, text));
  }
  if (fixtures.size === 0) throw invalid(`${folder} has no <table>.json and no <table>.ndjson.`);
  return Object.fromEntries(fixtures);
}

function fromJson(name: string, text: string): TableEntity[] {
  const entities = parse(name, text);
  if (!Array.isArray(entities)) throw invalid(`${name} is no array of entities.`);
  return entities.map((entity, i) => entityOf(`${name}[${i}]`, entity));
}

function fromLines(name: string, text: string): TableEntity[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    const where = `${name}:${i + 1}`;
    return [entityOf(where, parse(where, line))];
  });
}

function parse(where: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${where}: ${(error as Error).message}`, error);
  }
}

function entityOf(where: string, json: unknown): TableEntity {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid(`${where} is no entity.`);
  }
  const names = Object.keys(json);
  const lone = names.find((name) => !Object.hasOwn(json, annotation.exec(name)?.[1] ?? name));
  if (lone !== undefined) throw invalid(`${where}: ${lone} is of no property.`);
  const entity: Json = Object.fromEntries(
    names
      .filter((name) => !ofTheService.test(name) && (json as Json)[name] !== null)
      .map((name) => [keys.get(name) ?? name, propertyOf(where, name, json as Json)]),
  );
  for (const key of keys.values()) {
    if (typeof entity[key] !== "string") throw invalid(`${where} has no ${key} that is a string.`);
  }
  return entity as TableEntity;
}

function propertyOf(where: string, name: string, json: Json): unknown {
  const type = json[`${name}@odata.type`];
  if (type === undefined || keys.has(name)) return json[name];
  const [, edm] = /^Edm\.(\w+)$/.exec(String(type)) ?? [];
  if (edm === undefined) throw invalid(`${where}: ${String(type)} is no type of a property.`);
  return { type: edm, value: json[name] };
}

function invalid(message: string, cause?: unknown): StoreError {
  return new StoreError("ValidationFailed", message, { cause });
}
