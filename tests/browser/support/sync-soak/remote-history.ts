// Everything that the remote table has executed. It executes one batch after the other, and the
// partition is read after each, so that the history does not depend on what responses say. Checks
// that no transaction is torn and that no write is executed twice.

import type { FaultProxyOptions, Message } from "../../../web/support/fault-proxy.ts";
import { isAccepted, type Operation, operationsOf } from "./batch.ts";
import {
  areSameProperties,
  describeRow,
  partitionOf,
  type RowKey,
  type Rows,
  rowKeyOf,
} from "./rows.ts";

/** Two rows of each partition that all clients only write together. */
export const pairRows = ["pair-0", "pair-1"] as const;

export interface RemoteHistoryOptions {
  /** Reads the rows of a partition from the service, without receipts. */
  readonly read: (partition: string) => Promise<Rows>;
  /**
   * Whether the service keeps its promises: a batch is executed as a whole or not at all, and each
   * version of an entity has an ETag of its own. Azurite does not (tests/differential/README.md):
   * then what it breaks is counted, and not blamed on the clients.
   */
  readonly isReliable: boolean;
  /** Whether the client creates an entity again, with all its properties, that others deleted. */
  readonly createsAgain: (client: string) => boolean;
}

export class RemoteHistory {
  readonly #options: RemoteHistoryOptions;
  readonly #rows = new Map<string, Rows>(); // by partition
  /** The client and the number of the batch that has executed a marker, by key and marker. */
  readonly #executed = new Map<string, string>();
  readonly #deleted = new Set<RowKey>(); // at least once
  readonly #etags = new Map<RowKey, Map<string, string>>();
  /** What no answer tells, because the service has executed a part of the batch. */
  readonly #doubtful = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  batches = 0;
  /** One line for each batch. */
  readonly #trace: string[] = [];
  readonly violations: string[] = [];
  /** What the service did against its promises, with an example of each. */
  readonly defects = new Map<string, { count: number; example: string }>();

  constructor(options: RemoteHistoryOptions) {
    this.#options = options;
  }

  /** What a proxy of the client does with each request. */
  through(client: string): NonNullable<FaultProxyOptions["through"]> {
    return ({ method, path, body }, forward) => {
      if (method !== "POST" || !path.includes("/$batch")) return forward();
      return this.#inTurn(() => this.#execute(client, body.toString(), forward));
    };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  hasExecuted(key: RowKey, marker: string): boolean {
    return this.#executed.has(`${key} ${marker}`);
  }

  hasRow(key: RowKey): boolean {
    return this.#rows.get(partitionOf(key))?.has(key) ?? false;
  }

  wasDeleted(key: RowKey): boolean {
    return this.#deleted.has(key);
  }

  async #execute(client: string, body: string, forward: () => Promise<Message>): Promise<Message> {
    const operations = operationsOf(body);
    const { partition = "" } = operations[0] ?? {};
    const before = this.#rows.get(partition) ?? (await this.#options.read(partition));
    this.#rows.delete(partition); // unless it is known after the batch
    const message = await forward();
    const after = await this.#options.read(partition);
    this.#rows.set(partition, after);
    this.batches += 1;
    this.#trace.push(`${this.batches} ${describeBatch(client, operations, message)}`);
    const batch = { client, operations, before, after, isAccepted: isAccepted(message) };
    if (this.#isAsAnswered(batch, `${body}\n${message.body.toString()}`)) {
      this.#checkPair(partition, batch);
      this.#checkMarkers(batch);
    }
    return message;
  }

  // ---- The service -----------------------------------------------------------------------------

  /** Checks that the service has executed all of the batch if it says so, or else nothing. */
  #isAsAnswered(batch: ExecutedBatch, exchange: string): boolean {
    const { operations, before, after } = batch;
    this.#checkETags(batch);
    const keys = new Set([...operations.map(({ key }) => key), ...before.keys(), ...after.keys()]);
    const changed = [...keys].filter((key) => before.get(key)?.etag !== after.get(key)?.etag);
    if (!batch.isAccepted && changed.length > 0) {
      return this.#onDefect("a refused batch was executed in part", batch, exchange);
    }
    const isExecuted = ({ key, markers, method }: Operation) =>
      method === "DELETE"
        ? !after.has(key)
        : markers.every((marker) => after.get(key)?.properties.has(marker));
    if (batch.isAccepted && !operations.every(isExecuted)) {
      return this.#onDefect("an accepted batch was not executed", batch, exchange);
    }
    return batch.isAccepted;
  }

  #onDefect(what: string, { operations }: ExecutedBatch, exchange: string): false {
    for (const { markers } of operations) for (const one of markers) this.#doubtful.add(one);
    this.#note(what, exchange);
    return false;
  }

  #checkETags({ before, after }: ExecutedBatch): void {
    for (const [key, { etag, properties }] of after) {
      if (before.get(key)?.etag === etag && before.get(key)?.properties === properties) continue;
      const text = JSON.stringify([...properties]);
      const known = this.#etags.get(key) ?? new Map<string, string>();
      const other = known.get(etag);
      if (other !== undefined && other !== text) {
        this.#note("two versions of an entity have the same ETag", `${key} ${etag}`);
      }
      this.#etags.set(key, known.set(etag, text));
    }
  }

  #note(what: string, example: string): void {
    if (this.#options.isReliable) this.violations.push(`${what}: ${example}`);
    const { count = 0, example: first = example } = this.defects.get(what) ?? {};
    this.defects.set(what, { count: count + 1, example: first });
  }

  // ---- The clients -----------------------------------------------------------------------------

  #checkPair(partition: string, { client, before, after }: ExecutedBatch): void {
    const isWhole = (rows: Rows) => {
      const [a, b] = pairRows.map((row) => rows.get(rowKeyOf(partition, row))?.properties);
      return a?.get("pair") === b?.get("pair") && (a === undefined) === (b === undefined);
    };
    if (isWhole(after) || !isWhole(before)) return;
    const found = pairRows.map((row) => describeRow(after.get(rowKeyOf(partition, row))));
    const keys = pairRows.map((row) => rowKeyOf(partition, row)).join(" and ");
    this.violations.push(`${client} tears a transaction of ${keys}: ${found.join(" and ")}`);
  }

  /** A marker is written to a row once. */
  #checkMarkers({ client, operations, before }: ExecutedBatch): void {
    for (const { key, markers, method } of operations) {
      if (method === "DELETE") this.#deleted.add(key);
      const isCreatedAgain =
        method === "POST" && this.wasDeleted(key) && this.#options.createsAgain(client);
      for (const marker of markers) {
        const name = `${key} ${marker}`;
        const first = this.#executed.get(name);
        const isNew = !before.get(key)?.properties.has(marker);
        if (isNew && first !== undefined && !isCreatedAgain && !this.#doubtful.has(marker)) {
          this.violations.push(`${client} writes ${name} twice: ${first}, ${this.batches}`);
        }
        if (first === undefined) this.#executed.set(name, `${client} ${this.batches}`);
      }
    }
  }

  /** Returns the last lines of the trace that name the row. */
  traceOf(key: RowKey): string[] {
    return this.#trace.filter((line) => line.includes(` ${key} `)).slice(-30);
  }

  /** Returns how the rows of the table differ from those after the last batches. */
  unknownChanges(rows: Rows): string[] {
    return [...this.#rows].flatMap(([partition, known]) => {
      const found = [...rows.keys()].filter((key) => partitionOf(key) === partition);
      return [...new Set([...known.keys(), ...found])].filter(
        (key) => !areSameProperties(known.get(key)?.properties, rows.get(key)?.properties),
      );
    });
  }
}

function describeBatch(client: string, operations: readonly Operation[], message: Message): string {
  const described = operations.map(({ key, markers, method }) => `${method} ${key} ${markers}`);
  const how = isAccepted(message) ? "writes" : `is refused (${codeIn(message)})`;
  return `${new Date().toISOString()} ${client} ${how}: ${described.join("; ")} `;
}

const codeIn = ({ status, body }: Message): string =>
  /"code": ?"(\w+)"/.exec(body.toString())?.[1] ?? `${status}`;

interface ExecutedBatch {
  readonly client: string;
  readonly operations: readonly Operation[];
  readonly before: Rows;
  readonly after: Rows;
  readonly isAccepted: boolean;
}
