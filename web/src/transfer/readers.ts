// Creates the reader of a file format.

import type { EdmTypes, FileFormat } from "../types.ts";
import { CsvReader } from "./csv-entities.ts";
import { JsonReader, NdjsonReader } from "./json-rows.ts";
import type { RowReader } from "./row-reader.ts";

/**
 * Creates the reader of a format. `types`: for CSV, the types of columns without a type column, by
 * name.
 */
export function createReader(
  format: FileFormat,
  types?: Readonly<Record<string, EdmTypes>>,
): RowReader {
  switch (format) {
    case "ndjson":
      return new NdjsonReader();
    case "json":
      return new JsonReader();
    case "csv":
      return new CsvReader(types);
  }
}
