// Imports a file into a table. Rows are read up to a limit, grouped by partition, and written as
// concurrent entity group transactions; then the next rows are read. If a row is rejected, it is
// reported, and the other rows of its transaction are sent again (bulk/send-batch.ts).

import { BatchQueue } from "../bulk/batch-queue.ts";
import { type BatchCallbacks, sendBatch } from "../bulk/send-batch.ts";
import { isValidEdmText } from "../edm/text-validation.ts";
import type {
  EdmTypes,
  ImportedRow,
  ImportOptions,
  ImportReport,
  ImportSource,
  RejectedRow,
  TableClient,
  TableEntity,
  TransactionAction,
} from "../types.ts";
import { decodeText, InvalidTextError } from "./decode-text.ts";
import {
  checkFormat,
  checkOneOf,
  type TransferDependencies,
  throwIfAborted,
} from "./option-checks.ts";
import { createReader } from "./readers.ts";
import type { Row } from "./row-reader.ts";

const bufferedRowsMax = 2000;
const bufferedUnitsMax = 4 * 1024 * 1024;
const rejectionsMax = 1000;

/** Implements Store.import. Rejects with the errors that Store.import documents. */
export async function importFile(
  client: TableClient,
  source: ImportSource,
  options: ImportOptions,
  dependencies: TransferDependencies,
): Promise<ImportReport> {
  checkFormat(options.format, dependencies);
  checkOneOf("mode", options.mode ?? "insert", ["insert", "upsert", "replace"], dependencies);
  throwIfAborted(options.signal, dependencies);
  await client.createTable(durabilityOf(options));
  return await new Import(client, options, dependencies).run(source);
}

interface BufferedRow {
  readonly line: number;
  readonly action: TransactionAction;
}

class Import {
  readonly #client: TableClient;
  readonly #options: ImportOptions;
  readonly #dependencies: TransferDependencies;
  readonly #report: ImportReport = {
    rows: 0,
    written: 0,
    skipped: 0,
    rejected: 0,
    rejections: [],
    complete: true,
  };
  #buffered: BufferedRow[] = [];
  #bufferedUnits = 0;
  // No two buffered rows have the same key, because rows are written concurrently and the later row
  // must be written last.
  #bufferedKeys = new Set<string>();

  constructor(client: TableClient, options: ImportOptions, dependencies: TransferDependencies) {
    this.#client = client;
    this.#options = options;
    this.#dependencies = dependencies;
  }

  async run(source: ImportSource): Promise<ImportReport> {
    const reader = createReader(this.#options.format, this.#options.types);
    try {
      for await (const text of decodeText(source, this.#dependencies.chunksFrom)) {
        await this.#processRows(reader.feed(text));
        if (reader.hasFailed) break;
      }
      if (!reader.hasFailed) await this.#processRows(reader.end());
      this.#report.complete = !reader.hasFailed;
    } catch (error) {
      if (!(error instanceof InvalidTextError)) throw error;
      this.#rejectUnreadableRow({ line: reader.line, message: error.message });
      this.#report.complete = false;
    }
    await this.#writeBuffered();
    this.#report.rejections.sort((a, b) => a.line - b.line);
    return this.#report;
  }

  async #processRows(rows: readonly Row[]): Promise<void> {
    for (const row of rows) {
      if ("problem" in row) this.#rejectUnreadableRow({ line: row.line, message: row.problem });
      else await this.#bufferRow(row);
    }
  }

  async #bufferRow({ line, units, entity: read }: Row & { entity: object }): Promise<void> {
    this.#report.rows += 1;
    const entity = await this.#applyOnRow({ line, entity: read as unknown as TableEntity });
    if (entity === undefined) return;
    const { partitionKey, rowKey } = entity;
    const key = `${partitionKey.length} ${partitionKey}${rowKey}`;
    if (this.#bufferedKeys.has(key)) await this.#writeBuffered();
    this.#bufferedKeys.add(key);
    this.#buffered.push({ line, action: actionOf(entity, this.#options.mode) });
    this.#bufferedUnits += units;
    if (this.#buffered.length >= bufferedRowsMax || this.#bufferedUnits >= bufferedUnitsMax)
      await this.#writeBuffered();
  }

  // Calls onRow and returns the entity to write. Returns undefined if onRow skipped the row or
  // threw.
  async #applyOnRow(row: ImportedRow): Promise<TableEntity | undefined> {
    const { onRow } = this.#options;
    if (onRow === undefined) return row.entity;
    const { partitionKey, rowKey } = row.entity;
    try {
      const replacement = await onRow(row);
      if (replacement === null) {
        this.#report.skipped += 1;
        return undefined;
      }
      const entity = replacement ?? row.entity;
      if (typeof entity.partitionKey === "string" && typeof entity.rowKey === "string") {
        return entity;
      }
      throw new TypeError("onRow returned an entity whose keys are not strings.");
    } catch (error) {
      const { message = String(error) } = Object(error) as { message?: string };
      this.#reject({ line: row.line, message, partitionKey, rowKey });
      return undefined;
    }
  }

  // Writes all buffered rows. Resolves when they are written.
  async #writeBuffered(): Promise<void> {
    throwIfAborted(this.#options.signal, this.#dependencies);
    const buffered = this.#buffered;
    this.#buffered = [];
    this.#bufferedUnits = 0;
    this.#bufferedKeys = new Set();
    const groups = Array.from(groupsOf(buffered), (group) => sendBatch(group, this.#callbacks));
    const settled = await Promise.allSettled(groups);
    const { rows, written, skipped, rejected } = this.#report;
    this.#options.onProgress?.({ rows, written, skipped, rejected });
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    await this.#dependencies.yieldToEventLoop();
  }

  readonly #callbacks: BatchCallbacks<BufferedRow> = {
    submit: (actions) =>
      this.#client.submitTransaction(actions, {
        ...durabilityOf(this.#options),
        ...(this.#options.signal && { abortSignal: this.#options.signal }),
      }),
    done: ({ length }) => {
      this.#report.written += length;
    },
    failed: (rows, error, { kind }) => {
      if (kind === "all" || !isRowError(error)) throw error;
      for (const row of rows) this.#rejectRow(row, error);
    },
    shouldContinue: () => true,
  };

  #rejectRow({ line, action: [, entity] }: BufferedRow, error: RowError): void {
    const { partitionKey, rowKey } = entity;
    const bad = error.code === "InvalidInput" ? typeMismatchMessage(entity) : undefined;
    const message = bad ?? error.message.replace(/^\d+:/, "");
    const code = error.code === undefined ? {} : { code: error.code };
    this.#reject({ line, message, ...code, partitionKey, rowKey });
  }

  // Reports a row that could not be read from the file.
  #rejectUnreadableRow(rejected: RejectedRow): void {
    this.#report.rows += 1;
    this.#reject(rejected);
  }

  #reject(rejected: RejectedRow): void {
    this.#report.rejected += 1;
    const { rejections } = this.#report;
    if (rejections.length < rejectionsMax) rejections.push(rejected);
  }
}

// REQUIRES: no two rows have the same key, so that the groups may be written in any order.
function* groupsOf(rows: readonly BufferedRow[]): Iterable<BufferedRow[]> {
  const batches = new BatchQueue<BufferedRow>();
  for (const row of rows) batches.add(row);
  for (let next = batches.takeNext(true); next; next = batches.takeNext(true)) {
    yield next.entries;
    batches.finishBatch(next.partition);
  }
}

function actionOf(entity: TableEntity, mode: ImportOptions["mode"] = "insert"): TransactionAction {
  if (mode === "insert") return ["create", entity];
  return ["upsert", entity, mode === "upsert" ? "Merge" : "Replace"];
}

function durabilityOf({ durability }: ImportOptions): Pick<ImportOptions, "durability"> {
  return durability === undefined ? {} : { durability };
}

interface RowError {
  message: string;
  code?: string;
}

// Returns whether an error is caused by the row, and not by the store or its state. A TypeError is:
// it means that onRow returned a value that has no Edm type.
function isRowError(error: unknown): error is RowError {
  const { name, statusCode } = Object(error) as { name?: string; statusCode?: number };
  if (name === "TypeError") return true;
  return name === "RestError" && [400, 409, 413].includes(statusCode ?? 0);
}

// Returns a message that names the first value that does not fit its type; undefined: all fit. The
// service's message does not name the property.
function typeMismatchMessage(entity: TableEntity): string | undefined {
  for (const [name, property] of Object.entries(entity)) {
    const { type, value } = (property ?? {}) as { type?: EdmTypes; value?: unknown };
    if (type === undefined || typeof value !== "string" || isValidEdmText(type, value)) continue;
    return `${name} is ${JSON.stringify(value.slice(0, 60))}, which is not a valid ${type}.`;
  }
  return undefined;
}
