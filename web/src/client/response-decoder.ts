// Decodes RPC response messages into entities, pages and errors (core/rpc/LAYOUT.md).

import type { StoreErrorCode } from "../errors.ts";
import { StoreError, serviceError } from "../errors.ts";
import { hintHeader } from "../hints/hint-header.ts";
import type { Explain, ExplainRange, ExplainWarning, PlanKind } from "../types.ts";
import { freeBytes } from "../util/free-bytes.ts";
import { flagHeaders, flagLocalError, responseKind } from "./message-layout.ts";
import { MessageReader } from "./message-reader.ts";
import { type DecodeOptions, decodePage, type EntityPage } from "./page-decoder.ts";
import { ShapeCache } from "./row-shapes.ts";

const defaults: DecodeOptions = {};
const separateBinaries: DecodeOptions = { copyBinaries: true };

// Each function decodes a whole message: its result has copies of everything, so that the message
// is not needed afterwards. Throws the error that the message holds instead.
export class ResponseDecoder {
  #reader = new MessageReader();
  readonly #shapes = new ShapeCache();
  #isReleased = false;

  // Also frees the message if it has a buffer of its own: a page may have megabytes.
  page(response: Uint8Array, options = defaults): EntityPage {
    try {
      return this.#read(response, responseKind.page, (reader) =>
        decodePage(reader, response, this.#shapes, options),
      );
    } finally {
      freeBytes(response);
    }
  }

  entity(response: Uint8Array, options = defaults): Record<string, unknown> {
    return this.page(response, options).rows[0] as Record<string, unknown>;
  }

  tables(response: Uint8Array): { names: string[]; next?: string } {
    return this.#read(response, responseKind.tables, readTables);
  }

  count(response: Uint8Array): RowCount {
    return this.#read(response, responseKind.count, readCount);
  }

  // Decodes the ETag of a single write; undefined for a delete.
  etagOfWrite(response: Uint8Array): string | undefined {
    return this.#read(response, responseKind.writeResult, readEtag);
  }

  // Decodes one ETag per operation; undefined for a delete and for a table operation.
  etagsOfWrite(response: Uint8Array): (string | undefined)[] {
    return this.#read(response, responseKind.writeResult, readEtags);
  }

  explain(response: Uint8Array): Explain {
    return this.#read(response, responseKind.explanation, readExplain);
  }

  // Decodes rows that were read from a watch, and what follows the rows.
  watchPage(response: Uint8Array): WatchPage {
    return this.#read(response, responseKind.watchPage, (reader) => {
      const { rows } = decodePage(reader, response, this.#shapes, separateBinaries);
      const rowsRead = reader.readWord();
      const isComplete = reader.readWord() === 1;
      return { rows, rowsRead, isComplete, sequence: reader.readLong() };
    });
  }

  // Decodes a message of another kind. `decode`: as in #read().
  message<R>(response: Uint8Array, kind: number, decode: (reader: MessageReader) => R): R {
    return this.#read(response, kind, decode);
  }

  // Returns the error that the response holds. Throws VersionConflict if it is not an error.
  error(response: Uint8Array): Error {
    return this.#read(response, responseKind.error, readError);
  }

  // Passes a reader of the message to `decode`, which must not call the store. The reader throws
  // once `decode` has returned. Throws VersionConflict if the message is of another kind.
  #read<R>(response: Uint8Array, kind: number, decode: (reader: MessageReader) => R): R {
    const reader = this.#reader;
    const found = reader.open(response);
    try {
      if (found === kind) return decode(reader);
      if (found === responseKind.error) throw readError(reader);
      throw new StoreError("VersionConflict", `The response is of kind ${found}, not ${kind}.`);
    } finally {
      reader.close();
      if (this.#isReleased) this.dropCaches();
    }
  }

  // Drops the cached shapes and text, and all views of the store's memory. A response that arrives
  // later is decoded without a cache.
  dropCaches(): void {
    this.#isReleased = true;
    this.#reader = new MessageReader();
    this.#shapes.clear();
  }
}

export interface WatchPage {
  rows: Record<string, unknown>[]; // none if the client only counts
  rowsRead: number;
  isComplete: boolean;
  sequence: bigint;
}

export interface RowCount {
  rows: number;
  next?: { partitionKey: string; rowKey: string }; // where the count goes on
}

const localErrorCodes: Readonly<Record<string, StoreErrorCode>> = {
  OutOfMemory: "OutOfMemory",
  Corrupted: "Corrupted",
  FormatTooNew: "FormatTooNew",
};

function readError(reader: MessageReader): Error {
  const status = reader.readWord();
  reader.readWord(); // the failing operation; the message names it
  const code = reader.readText();
  const message = reader.readText();
  const storeCode = reader.flags & flagLocalError ? localErrorCodes[code] : undefined;
  if (storeCode !== undefined) return new StoreError(storeCode, message);
  const headers: [string, string][] = [];
  for (let count = reader.flags & flagHeaders ? reader.readWord() : 0; count > 0; --count) {
    headers.push([reader.readText().toLowerCase(), reader.readText()]);
  }
  const { [hintHeader]: hint, ...others } = Object.fromEntries(headers); // hint: of a mock store
  const error = serviceError(status, code, message, hint);
  // The official client puts the headers of an error response there.
  Object.assign(error.details ?? {}, others);
  return error;
}

function readTables(reader: MessageReader): { names: string[]; next?: string } {
  const count = reader.readWord();
  const next = reader.readOptionalText();
  const names: string[] = [];
  for (let i = 0; i < count; ++i) names.push(reader.readText());
  return next === undefined ? { names } : { names, next };
}

function readCount(reader: MessageReader): RowCount {
  const rows = reader.readLongAsNumber();
  const partitionKey = reader.readOptionalText();
  const rowKey = reader.readOptionalText();
  return partitionKey === undefined
    ? { rows }
    : { rows, next: { partitionKey, rowKey: rowKey ?? "" } };
}

function readEtag(reader: MessageReader): string | undefined {
  reader.readWord(); // the count, which is 1
  return reader.readOptionalText();
}

function readEtags(reader: MessageReader): (string | undefined)[] {
  const count = reader.readWord();
  const etags: (string | undefined)[] = [];
  for (let i = 0; i < count; ++i) etags.push(reader.readOptionalText());
  return etags;
}

function readExplain(reader: MessageReader): Explain {
  const kind = reader.readText() as PlanKind;
  const serviceKind = reader.readText() as PlanKind;
  const rowsRead = reader.readLongAsNumber();
  const rowsReturned = reader.readLongAsNumber();
  const bytesRead = reader.readLongAsNumber();
  const serviceRoundTrips = reader.readLongAsNumber();
  const serviceTransactions = reader.readLongAsNumber();
  const rangeCount = reader.readWord();
  const warningCount = reader.readWord();
  const ranges: ExplainRange[] = [];
  for (let i = 0; i < rangeCount; ++i) ranges.push(readRange(reader));
  const warnings: ExplainWarning[] = [];
  for (let i = 0; i < warningCount; ++i) {
    warnings.push({
      code: reader.readText(),
      message: reader.readText(),
      help: reader.readText(),
    });
  }
  return {
    kind,
    ranges,
    rowsRead,
    rowsReturned,
    bytesRead,
    serviceKind,
    serviceRoundTrips,
    serviceTransactions,
    warnings,
  };
}

function readRange(reader: MessageReader): ExplainRange {
  const from = { partitionKey: reader.readText(), rowKey: reader.readText() };
  const partitionKey = reader.readOptionalText();
  const rowKey = reader.readOptionalText();
  if (partitionKey === undefined) return { from };
  return { from, to: { partitionKey, rowKey: rowKey ?? "" } };
}
