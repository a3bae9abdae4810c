// The entities of a file into a table. Rows are gathered up to a bound, grouped by partition, and written as entity group
// transactions that are all under way at once; then the next are read. A row that is refused is reported, and the others of its group are
// sent again, as in a bulk write.

import { type Sending, sendBatch } from "../bulk/send.ts";
import { isTextOf } from "../edm-text.ts";
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
import { checkFormat, checkSignal, oneOf, type Shared } from "./options.ts";
import { readerOf } from "./readers.ts";
import type { Row } from "./rows.ts";
import { NotText, textOf } from "./text.ts";

const heldRows = 2000;
const heldUnits = 4 * 1024 * 1024;
const groupRows = 100;
const groupUnits = 1024 * 1024; // an entity takes at most that; a group must stay below 4 MiB
const keptRejections = 1000;

/** Rejects as Store.import says. */
export async function importFile(
  client: TableClient,
  source: ImportSource,
  options: ImportOptions,
  shared: Shared,
): Promise<ImportReport> {
  checkFormat(options.format, shared);
  oneOf("mode", options.mode ?? "insert", ["insert", "upsert", "replace"], shared);
  checkSignal(options.signal, shared);
  await client.createTable(durabilityOf(options));
  return await new Import(client, options, shared).run(source);
}

interface Held {
  readonly line: number;
  readonly units: number;
  readonly action: TransactionAction;
}

class Import {
  readonly #client: TableClient;
  readonly #options: ImportOptions;
  readonly #shared: Shared;
  readonly #report: ImportReport = {
    rows: 0,
    written: 0,
    skipped: 0,
    rejected: 0,
    rejections: [],
    complete: true,
  };
  #held: Held[] = [];
  #heldUnits = 0;
  #heldKeys = new Set<string>(); // one key is written once at a time, so that the later row is the later write

  constructor(client: TableClient, options: ImportOptions, shared: Shared) {
    this.#client = client;
    this.#options = options;
    this.#shared = shared;
  }

  async run(source: ImportSource): Promise<ImportReport> {
    const reader = readerOf(this.#options.format, this.#options.types);
    try {
      for await (const text of textOf(source, this.#shared.chunksOf)) {
        await this.#take(reader.feed(text));
        if (reader.broken) break;
      }
      if (!reader.broken) await this.#take(reader.end());
      this.#report.complete = !reader.broken;
    } catch (error) {
      if (!(error instanceof NotText)) throw error;
      this.#refuse({ line: reader.line, message: error.message });
      this.#report.complete = false;
    }
    await this.#write();
    this.#report.rejections.sort((a, b) => a.line - b.line);
    return this.#report;
  }

  async #take(rows: readonly Row[]): Promise<void> {
    for (const row of rows) {
      if ("problem" in row) this.#refuse({ line: row.line, message: row.problem });
      else await this.#hold(row);
    }
  }

  async #hold({ line, units, entity: read }: Row & { entity: object }): Promise<void> {
    this.#report.rows += 1;
    const entity = await this.#seen({ line, entity: read as unknown as TableEntity });
    if (entity === undefined) return;
    const { partitionKey, rowKey } = entity;
    const key = `${partitionKey.length} ${partitionKey}${rowKey}`;
    if (this.#heldKeys.has(key)) await this.#write();
    this.#heldKeys.add(key);
    this.#held.push({ line, units, action: actionOf(entity, this.#options.mode) });
    this.#heldUnits += units;
    if (this.#held.length >= heldRows || this.#heldUnits >= heldUnits) await this.#write();
  }

  // What is to be written for the row.
  async #seen(row: ImportedRow): Promise<TableEntity | undefined> {
    const { onRow } = this.#options;
    if (onRow === undefined) return row.entity;
    const { partitionKey, rowKey } = row.entity;
    try {
      const given = await onRow(row);
      if (given === null) {
        this.#report.skipped += 1;
        return undefined;
      }
      const entity = given ?? row.entity;
      if (typeof entity.partitionKey === "string" && typeof entity.rowKey === "string") {
        return entity;
      }
      throw new TypeError("onRow gave an entity without keys that are strings.");
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#reject({ line: row.line, message, partitionKey, rowKey });
      return undefined;
    }
  }

  // All that is held, and waits for it.
  async #write(): Promise<void> {
    checkSignal(this.#options.signal, this.#shared);
    const held = this.#held;
    this.#held = [];
    this.#heldUnits = 0;
    this.#heldKeys = new Set();
    const groups = groupsOf(held).map((group) => sendBatch(group, this.#sending));
    const settled = await Promise.allSettled(groups);
    const { rows, written, skipped, rejected } = this.#report;
    this.#options.onProgress?.({ rows, written, skipped, rejected });
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    await this.#shared.nextTurn();
  }

  readonly #sending: Sending<Held> = {
    submit: (actions) =>
      this.#client.submitTransaction(actions, {
        ...durabilityOf(this.#options),
        ...(this.#options.signal && { abortSignal: this.#options.signal }),
      }),
    done: ({ length }) => {
      this.#report.written += length;
    },
    failed: (rows, error, { kind }) => {
      if (kind === "all" || !isRefusal(error)) throw error;
      for (const row of rows) this.#rejectRow(row, error);
    },
    goesOn: () => true,
  };

  #rejectRow({ line, action: [, entity] }: Held, error: Refusal): void {
    const { partitionKey, rowKey } = entity;
    const bad = error.code === "InvalidInput" ? badValue(entity) : undefined;
    const message = bad ?? error.message.replace(/^\d+:/, "");
    const code = error.code === undefined ? {} : { code: error.code };
    this.#reject({ line, message, ...code, partitionKey, rowKey });
  }

  // A row that can't be read.
  #refuse(rejected: RejectedRow): void {
    this.#report.rows += 1;
    this.#reject(rejected);
  }

  #reject(rejected: RejectedRow): void {
    this.#report.rejected += 1;
    const { rejections } = this.#report;
    if (rejections.length < keptRejections) rejections.push(rejected);
  }
}

function groupsOf(rows: readonly Held[]): Held[][] {
  const groups: Held[][] = [];
  const open = new Map<string, { rows: Held[]; units: number }>(); // by partition
  for (const row of rows) {
    const { partitionKey } = row.action[1];
    let group = open.get(partitionKey);
    const fits =
      group !== undefined && group.rows.length < groupRows && group.units + row.units <= groupUnits;
    if (group === undefined || !fits) {
      group = { rows: [], units: 0 };
      open.set(partitionKey, group);
      groups.push(group.rows);
    }
    group.rows.push(row);
    group.units += row.units;
  }
  return groups;
}

function actionOf(entity: TableEntity, mode: ImportOptions["mode"] = "insert"): TransactionAction {
  if (mode === "insert") return ["create", entity];
  return ["upsert", entity, mode === "upsert" ? "Merge" : "Replace"];
}

function durabilityOf({ durability }: ImportOptions): Pick<ImportOptions, "durability"> {
  return durability === undefined ? {} : { durability };
}

interface Refusal {
  message: string;
  code?: string;
}

// Whether it is the row that is wrong, and not the store or the time. An Error that is none of the package's: a value of onRow that has no type.
function isRefusal(error: unknown): error is Refusal {
  if (error instanceof TypeError) return true;
  const { name, statusCode } = error as { name?: string; statusCode?: number };
  return name === "RestError" && [400, 409, 413].includes(statusCode ?? 0);
}

// The service's words for a value that is not of its type are the same for everything.
function badValue(entity: TableEntity): string | undefined {
  for (const [name, property] of Object.entries(entity)) {
    const { type, value } = (property ?? {}) as { type?: EdmTypes; value?: unknown };
    if (type === undefined || typeof value !== "string" || isTextOf(type, value)) continue;
    return `${name} is ${JSON.stringify(value.slice(0, 60))}, which is no ${type}.`;
  }
  return undefined;
}
