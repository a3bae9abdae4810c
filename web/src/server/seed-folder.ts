// Reads seed data from the files of a folder: `<table>.json`, `<table>.ndjson` and `<table>.csv`,
// in the formats of store.import() (transfer/FORMATS.md).

import { StoreError } from "../errors.ts";
import type { Fixtures } from "../testing/types.ts";
import { decodeText, InvalidTextError } from "../transfer/decode-text.ts";
import { createReader } from "../transfer/readers.ts";
import type { FileFormat, TableEntity } from "../types.ts";
import { chunksFrom } from "../util/chunks.ts";
import { nodeModule, systemErrorCode } from "../util/node.ts";

/**
 * Reads the files. Resolves to the entities by table. Rejects with StoreError ValidationFailed; the
 * message names the file and the line.
 */
export async function readSeedFolder(folder: string): Promise<Fixtures> {
  const [{ promises: fs }, { join }] = [await nodeModule("node:fs"), await nodeModule("node:path")];
  const names = await fs.readdir(folder).catch((error: unknown) => {
    throw invalid(`${folder} is no folder that can be read (${systemErrorCode(error)}).`, error);
  });
  const fixtures = new Map<string, TableEntity[]>();
  const from = new Map<string, string>(); // file names by table name in lower case
  for (const name of names.sort()) {
    const [, table, format] = /^([^.].*?)(?:\.typed)?\.(json|ndjson|csv)$/.exec(name) ?? [];
    if (table === undefined) continue;
    const other = from.get(table.toLowerCase());
    if (other !== undefined) throw invalid(`${other} and ${name} are for the same table.`);
    from.set(table.toLowerCase(), name);
    const bytes = await fs.readFile(join(folder, name)).catch((error: unknown) => {
      throw invalid(`${name} can't be read (${systemErrorCode(error)}).`, error);
    });
    fixtures.set(table, await entitiesOf(name, bytes, format as FileFormat));
  }
  if (fixtures.size === 0) {
    throw invalid(`${folder} has no <table>.json, no <table>.ndjson and no <table>.csv.`);
  }
  return Object.fromEntries(fixtures);
}

async function entitiesOf(
  name: string,
  bytes: Uint8Array,
  format: FileFormat,
): Promise<TableEntity[]> {
  const reader = createReader(format);
  const entities: TableEntity[] = [];
  const addRows = (rows: ReturnType<typeof reader.feed>) => {
    for (const row of rows) {
      if ("problem" in row) throw invalid(`${name}:${row.line}: ${row.problem}`);
      entities.push(row.entity);
    }
  };
  try {
    for await (const text of decodeText(bytes, chunksFrom)) addRows(reader.feed(text));
  } catch (error) {
    if (error instanceof InvalidTextError)
      throw invalid(`${name}:${reader.line}: ${error.message}`, error);
    throw error;
  }
  addRows(reader.end());
  return entities;
}

function invalid(message: string, cause?: unknown): StoreError {
  return new StoreError("ValidationFailed", message, { cause });
}
