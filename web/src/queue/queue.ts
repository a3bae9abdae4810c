// TableQueue: a durable queue in a table.

import { escapeKey } from "../keys/index.ts";
import { serviceErrorFields } from "../service-error-fields.ts";
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
  parseMessageKey,
  type Row,
  rowKeyOf,
  type SubQueue,
  singleRowFilter,
  subQueueFilter,
} from "./message-rows.ts";

const bodyUnitsMax = 32_768; // the size limit of a String property
const extraRows = 16; // rows read beyond those requested, because other consumers may take some
const pageRowsMax = 1000;

/**
 * The table methods that a queue needs. The official TableClient and every table handle have them.
 */
export interface QueueTable {
  createEntity(entity: TableEntity): Promise<unknown>;
  deleteEntity(partitionKey: string, rowKey: string): Promise<unknown>;
  submitTransaction(actions: TransactionAction[]): Promise<unknown>;
  listEntities(options?: {
    queryOptions?:
      | { filter?: string | undefined; select?: readonly string[] | undefined }
      | undefined;
  }): Pick<PagedAsyncIterableIterator<object, object[]>, "byPage">;
}

export interface QueueOptions {
  /** The queue's partition in the table, which may hold several queues. Default "default". */
  name?: string;
  /** How long a dequeued message stays hidden, in milliseconds. Default 30,000. */
  visibilityTimeoutMs?: number;
  /**
   * How often a message is dequeued at most. If it becomes visible again after that, it moves to
   * the poison queue. Default 5.
   */
  maxDequeueCount?: number;
  /**
   * The clock that decides when messages are visible. Default: the platform's. The clocks of
   * consumers on several machines must agree within a fraction of `visibilityTimeoutMs`.
   */
  clock?: Clock;
  random?: RandomSource;
}

export interface ReceiveOptions {
  /** Overrides the queue's visibility timeout for this call. */
  visibilityTimeoutMs?: number;
}

export interface QueueMessage<T = unknown> {
  readonly id: string;
  /**
   * The message's content. The caller may change this object: extend() and release() keep the
   * original in the table.
   */
  readonly body: T;
  readonly insertedAt: Date;
  /** How often the message was dequeued, including this time. */
  readonly dequeueCount: number;
  /** When the message becomes visible to other consumers, unless it is deleted before. */
  readonly visibleAt: Date;
  /**
   * Identifies this delivery of the message. It becomes invalid when the message is dequeued again,
   * hidden for longer, or released.
   */
  readonly popReceipt: string;
}

/**
 * A queue in an existing table. Messages are JSON and are delivered at least once: dequeuing hides
 * a message without removing it. The message becomes visible again if its consumer does not delete
 * it in time. Processing should therefore be idempotent.
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

  /**
   * The queue for messages that were dequeued too often. They stay there until they are deleted or
   * requeued.
   */
  get poison(): TableQueue<T> {
    if (this.#poison === undefined) {
      const options = { ...this.#options, maxDequeueCount: Number.POSITIVE_INFINITY };
      this.#poison = new TableQueue<T>(this.#table, options);
      this.#poison.#subQueue = "poison";
    }
    return this.#poison;
  }

  /**
   * Adds a message, which becomes visible after `delayMs`. Resolves when it is stored. If the call
   * rejects because a response was lost, the message may be stored. It is stored twice if the
   * client repeated the request after a lost response and a consumer dequeued the message in
   * between.
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
      // The row key is unique, so the row is from an earlier attempt of this call whose response
      // was lost.
      if (serviceErrorFields(error).code !== "EntityAlreadyExists") throw error;
    }
    return { id };
  }

  /**
   * Dequeues the message that has been visible for the longest time, and hides it. Returns
   * undefined if no message is visible.
   */
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

  /**
   * Returns up to `most` messages that have been visible for the longest time, without hiding them.
   */
  async peek(most = 1): Promise<QueueMessage<T>[]> {
    const seen: QueueMessage<T>[] = [];
    for await (const row of this.#rows(most, this.#now())) {
      if (seen.length >= most) break;
      seen.push(messageOf(row));
    }
    return seen;
  }

  /** Counts the messages. Reads the key of every message. */
  async count(): Promise<{ visible: number; hidden: number }> {
    const now = this.#now();
    const counts = { visible: 0, hidden: 0 };
    for await (const { rowKey } of this.#rows(pageRowsMax, undefined, ["RowKey"])) {
      counts[parseMessageKey(rowKey).visibleAt <= now ? "visible" : "hidden"] += 1;
    }
    return counts;
  }

  /**
   * Deletes a dequeued message. Returns false if the receipt is no longer valid, because the
   * message was dequeued again or deleted. (This call itself may have deleted it, if the client
   * repeated the request after a lost response.)
   */
  async delete({ popReceipt }: Pick<QueueMessage, "popReceipt">): Promise<boolean> {
    return await found(this.#table.deleteEntity(this.#partitionKey, popReceipt));
  }

  /**
   * Hides a dequeued message for this many milliseconds from now on. Returns the message with its
   * new receipt. Returns undefined if the old receipt is no longer valid.
   */
  async extend(
    message: QueueMessage<T>,
    visibilityTimeoutMs: number,
  ): Promise<QueueMessage<T> | undefined> {
    const visibleAt = this.#now() + checkMilliseconds("visibilityTimeoutMs", visibilityTimeoutMs);
    const row = await this.#findRow(message);
    return row && (await this.#move(row, { visibleAt }));
  }

  /**
   * Makes a dequeued message visible again, now or after `delayMs`. Returns false if its receipt is
   * no longer valid, with the same exception as `delete`.
   */
  async release(message: QueueMessage<T>, { delayMs = 0 } = {}): Promise<boolean> {
    return (await this.extend(message, delayMs)) !== undefined;
  }

  /**
   * Moves a message from the poison queue back to the queue, and sets its dequeue count to 0.
   * Returns false if it is not in the poison queue.
   */
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
    const { dequeueCount } = parseMessageKey(row.rowKey);
    if (dequeueCount >= (this.#options.maxDequeueCount ?? 5)) {
      await this.#move(row, { subQueue: "poison" });
      return undefined;
    }
    return await this.#move(row, {
      visibleAt: this.#now() + hiddenMs,
      dequeueCount: dequeueCount + 1,
    });
  }

  // Moves a row to the key that `to` changes. Returns undefined if another client has moved or
  // deleted the row.
  async #move(row: Row, to: Partial<MessageKey>): Promise<QueueMessage<T> | undefined> {
    const { partitionKey, rowKey, Body, InsertedAt } = row;
    const key = { ...parseMessageKey(rowKey), ...to };
    // The key must change, because only a move shows whether the row still exists.
    if (rowKeyOf(key) === rowKey) key.visibleAt += 1;
    const moved = { partitionKey, rowKey: rowKeyOf(key), Body, InsertedAt };
    const actions: TransactionAction[] = [
      ["delete", { partitionKey, rowKey }],
      ["create", moved],
    ];
    return (await found(this.#table.submitTransaction(actions))) ? messageOf(moved) : undefined;
  }

  // Returns the message's row as it was read, because the caller may have changed the message.
  // Returns undefined if the row no longer exists.
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
    // Keeps messages of one producer in order, even within a millisecond.
    const turn = String(this.#messagesSent++ % 1_000_000).padStart(6, "0");
    return `${turn}-${random}`;
  }

  #now(): number {
    return Math.floor((this.#options.clock ?? Date).now());
  }
}

const received = new WeakMap<QueueMessage, Row>();

function messageOf<T>(row: Row): QueueMessage<T> {
  const { id, visibleAt, dequeueCount } = parseMessageKey(row.rowKey);
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
  if (text === undefined) throw new TypeError("A message must be a JSON value.");
  if (text.length <= bodyUnitsMax) return text;
  throw new RangeError(
    `A message has at most ${bodyUnitsMax} characters as JSON, and this one has ${text.length}. ` +
      "Store large data elsewhere, and put its key into the message.",
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
    const { code } = serviceErrorFields(error);
    if (code === "ResourceNotFound" || code === "EntityAlreadyExists") return false;
    throw error;
  }
}
