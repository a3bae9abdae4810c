// The queue: what it takes of a table, and what it gives.

import { escapeKey } from "../keys/index.ts";
import { parseServiceError } from "../service-error.ts";
import type {
  Clock,
  PagedAsyncIterableIterator,
  RandomSource,
  TableEntity,
  TransactionAction,
} from "../types.ts";
import { platformRandom } from "../util/random.ts";
import {
  type MessageKey,
  messageKeyOf,
  type Row,
  rowKeyOf,
  type SubQueue,
  singleRowFilter,
  subQueueFilter,
} from "./message-rows.ts";

const bodyUnitsMax = 32_768; // a String property of the service
const extraRows = 16; // read beyond those that are asked for, as others may take some
const pageRowsMax = 1000;

/** The methods of a table that a queue needs: the official TableClient has them, and so has every table of a store. */
export interface QueueTable {
  createEntity(entity: TableEntity): Promise<unknown>;
  deleteEntity(partitionKey: string, rowKey: string): Promise<unknown>;
  submitTransaction(actions: TransactionAction[]): Promise<unknown>;
  listEntities(options: {
    queryOptions: { filter: string; select?: string[] };
  }): Pick<PagedAsyncIterableIterator<object, object[]>, "byPage">;
}

export interface QueueOptions {
  /** Its partition in the table, which may hold several queues; default "default". */
  name?: string;
  /** How long a message is hidden that was given out, in milliseconds; default 30,000. */
  visibilityTimeoutMs?: number;
  /** A message that was given out so often, and is visible again, goes to the poison queue; default 5. */
  maxDequeueCount?: number;
  /** Default: the platform's. Consumers on several machines need clocks that agree within a fraction of `visibilityTimeoutMs`. */
  clock?: Clock;
  random?: RandomSource;
}

export interface ReceiveOptions {
  /** Instead of the queue's. */
  visibilityTimeoutMs?: number;
}

export interface QueueMessage<T = unknown> {
  readonly id: string;
  /** Yours to change: the table keeps what was put, however often the message is hidden longer or given back. */
  readonly body: T;
  readonly insertedAt: Date;
  /** How often it was given out, this time included. */
  readonly dequeueCount: number;
  /** When it is given out to somebody else, unless it is deleted before. */
  readonly visibleAt: Date;
  /** What proves that it was given out to you, and not to somebody else since. */
  readonly popReceipt: string;
}

/**
 * A queue in a table, which is to be there. Messages are JSON. Each is given out at least once: one that was given out is hidden, not removed, until whoever
 * got it deletes it; if nobody does, it comes again. So what is done for a message should do no harm when done twice.
 */
export class TableQueue<T = unknown> {
  readonly name: string;
  readonly #table: QueueTable;
  readonly #options: QueueOptions;
  readonly #partitionKey: string;
  #subQueue: SubQueue = "queue";
  #messagesSent = 0;
  #poison: TableQueue<T> | undefined;

  constructor(table: QueueTable, options: QueueOptions = {}) {
    this.name = options.name ?? "default";
    this.#table = table;
    this.#options = options;
    this.#partitionKey = escapeKey(this.name);
    checkMilliseconds("visibilityTimeoutMs", options.visibilityTimeoutMs ?? 0);
    if (!((options.maxDequeueCount ?? 1) >= 1)) {
      throw new RangeError(`maxDequeueCount must be 1 or more, not ${options.maxDequeueCount}.`);
    }
  }

  /** Where messages go that were given out too often: a queue too, from which nothing goes anywhere by itself. */
  get poison(): TableQueue<T> {
    if (this.#poison === undefined) {
      const options = { ...this.#options, maxDequeueCount: Number.POSITIVE_INFINITY };
      this.#poison = new TableQueue<T>(this.#table, options);
      this.#poison.#subQueue = "poison";
    }
    return this.#poison;
  }

  /**
   * Resolves when the message is stored; it is given out `delayMs` later at the earliest. If it rejects because an answer was lost, it may be stored; if the client
   * tried again by itself, and somebody had taken the message up meanwhile, it is there twice.
   */
  async put(body: T, { delayMs = 0 }: { delayMs?: number } = {}): Promise<{ id: string }> {
    const now = this.#now();
    const visibleAt = now + checkMilliseconds("delayMs", delayMs);
    const id = this.#newId();
    const rowKey = rowKeyOf({ subQueue: this.#subQueue, visibleAt, id, dequeueCount: 0 });
    const row = { partitionKey: this.#partitionKey, rowKey, Body: serializeBody(body) };
    try {
      await this.#table.createEntity({ ...row, InsertedAt: new Date(now) });
    } catch (error) {
      // Nobody else makes this key: the client tried again, after its first answer was lost.
      if (parseServiceError(error).code !== "EntityAlreadyExists") throw error;
    }
    return { id };
  }

  /** The message that has been visible longest, hidden from now on; undefined if there is none. */
  async get(options: ReceiveOptions = {}): Promise<QueueMessage<T> | undefined> {
    const [message] = await this.getMany(1, options);
    return message;
  }

  async getMany(
    most: number,
    { visibilityTimeoutMs }: ReceiveOptions = {},
  ): Promise<QueueMessage<T>[]> {
    const hiddenMs = checkMilliseconds(
      "visibilityTimeoutMs",
      visibilityTimeoutMs ?? this.#options.visibilityTimeoutMs ?? 30_000,
    );
    const messages: QueueMessage<T>[] = [];
    for await (const row of this.#rows(most + extraRows, this.#now())) {
      if (messages.length >= most) break;
      const message = await this.#dequeue(row, hiddenMs);
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }

  /** The messages that have been visible longest, without hiding them. */
  async peek(most = 1): Promise<QueueMessage<T>[]> {
    const seen: QueueMessage<T>[] = [];
    for await (const row of this.#rows(most, this.#now())) {
      if (seen.length >= most) break;
      seen.push(messageOf(row));
    }
    return seen;
  }

  /** How many there are; reads the key of each. */
  async count(): Promise<{ visible: number; hidden: number }> {
    const now = this.#now();
    const counts = { visible: 0, hidden: 0 };
    for await (const { rowKey } of this.#rows(pageRowsMax, undefined, ["RowKey"])) {
      counts[messageKeyOf(rowKey).visibleAt <= now ? "visible" : "hidden"] += 1;
    }
    return counts;
  }

  /**
   * Removes a message that was given out. False if it isn't there for you any more: it was given out again or is deleted; also by this call, if the
   * client's first try was answered too late and it tried again.
   */
  async delete({ popReceipt }: Pick<QueueMessage, "popReceipt">): Promise<boolean> {
    return await found(this.#table.deleteEntity(this.#partitionKey, popReceipt));
  }

  /** Hides a message that was given out for so long from now on. Gives it with its new receipt; undefined if it isn't yours any more. */
  async extend(
    message: QueueMessage<T>,
    visibilityTimeoutMs: number,
  ): Promise<QueueMessage<T> | undefined> {
    const visibleAt = this.#now() + checkMilliseconds("visibilityTimeoutMs", visibilityTimeoutMs);
    const row = await this.#findRow(message);
    return row && (await this.#move(row, { visibleAt }));
  }

  /** Makes a message that was given out visible again, now or after a delay. False if it isn't yours any more; like `delete`, also by this call. */
  async release(message: QueueMessage<T>, { delayMs = 0 } = {}): Promise<boolean> {
    return (await this.extend(message, delayMs)) !== undefined;
  }

  /** Takes a message out of the poison queue, as if it had never been given out. False if it is not there any more. */
  async requeue(message: QueueMessage<T>): Promise<boolean> {
    const to = { subQueue: this.#subQueue, visibleAt: this.#now(), dequeueCount: 0 };
    const row = await this.#findRow(message);
    return row !== undefined && (await this.#move(row, to)) !== undefined;
  }

  // ---- Rows ------------------------------------------------------------------------------------

  async *#rows(pageRows: number, until?: number, select?: string[]): AsyncGenerator<Row> {
    const filter = subQueueFilter(this.#partitionKey, this.#subQueue, until);
    const queryOptions = { filter, ...(select && { select }) };
    const maxPageSize = Math.min(pageRows, pageRowsMax);
    const pages = this.#table.listEntities({ queryOptions }).byPage({ maxPageSize });
    for await (const page of pages) yield* page as Row[];
  }

  async #dequeue(row: Row, hiddenMs: number): Promise<QueueMessage<T> | undefined> {
    const { dequeueCount } = messageKeyOf(row.rowKey);
    if (dequeueCount >= (this.#options.maxDequeueCount ?? 5)) {
      await this.#move(row, { subQueue: "poison" });
      return undefined;
    }
    return await this.#move(row, {
      visibleAt: this.#now() + hiddenMs,
      dequeueCount: dequeueCount + 1,
    });
  }

  // Undefined if somebody else has moved or deleted it.
  async #move(row: Row, to: Partial<MessageKey>): Promise<QueueMessage<T> | undefined> {
    const { partitionKey, rowKey, Body, InsertedAt } = row;
    const key = { ...messageKeyOf(rowKey), ...to };
    if (rowKeyOf(key) === rowKey) key.visibleAt += 1; // only a move tells whether it is still there
    const moved = { partitionKey, rowKey: rowKeyOf(key), Body, InsertedAt };
    const actions: TransactionAction[] = [
      ["delete", { partitionKey, rowKey }],
      ["create", moved],
    ];
    return (await found(this.#table.submitTransaction(actions))) ? messageOf(moved) : undefined;
  }

  // As it was received: the message is its handler's to change. Of a copy of a message the table knows; undefined if it isn't there any more.
  async #findRow(message: QueueMessage<T>): Promise<Row | undefined> {
    const row = received.get(message);
    if (row !== undefined) return row;
    const filter = singleRowFilter(this.#partitionKey, message.popReceipt);
    const pages = this.#table.listEntities({ queryOptions: { filter } }).byPage();
    for await (const [found] of pages) if (found !== undefined) return found as Row;
    return undefined;
  }

  #newId(): string {
    const bytes = new Uint8Array(8);
    (this.#options.random ?? platformRandom).fill(bytes);
    const random = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    // Messages of one producer and one millisecond stay in their order.
    const turn = String(this.#messagesSent++ % 1_000_000).padStart(6, "0");
    return `${turn}-${random}`;
  }

  #now(): number {
    return Math.floor((this.#options.clock ?? Date).now());
  }
}

const received = new WeakMap<QueueMessage, Row>();

function messageOf<T>(row: Row): QueueMessage<T> {
  const { id, visibleAt, dequeueCount } = messageKeyOf(row.rowKey);
  const message: QueueMessage<T> = {
    id,
    body: JSON.parse(row.Body) as T,
    insertedAt: new Date(row.InsertedAt),
    dequeueCount,
    visibleAt: new Date(visibleAt),
    popReceipt: row.rowKey,
  };
  received.set(message, row);
  return message;
}

function serializeBody(body: unknown): string {
  const text = JSON.stringify(body);
  if (text === undefined) throw new TypeError("A message is what JSON can say.");
  if (text.length <= bodyUnitsMax) return text;
  throw new RangeError(
    `A message has at most ${bodyUnitsMax} characters as JSON, and this one ${text.length}: put what is large elsewhere, and its key into the message.`,
  );
}

function checkMilliseconds(name: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return Math.floor(value);
  throw new RangeError(`${name} must be 0 or more milliseconds, not ${value}.`);
}

async function found(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    const { code } = parseServiceError(error);
    if (code === "ResourceNotFound" || code === "EntityAlreadyExists") return false;
    throw error;
  }
}
