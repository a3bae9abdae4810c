// The function bulk(): reads actions (single writes), sends them in batches, several at a time, and
// counts the outcomes.

import type {
  AbortSignalLike,
  BulkActions,
  BulkFailure,
  BulkOptions,
  BulkResult,
  TransactionAction,
} from "../types.ts";
import { BatchQueue, type Partition } from "./batch-queue.ts";
import type { FailureOutcome } from "./failure-outcome.ts";
import { type BatchCallbacks, sendBatch } from "./send-batch.ts";

/**
 * The client methods that bulk() needs. The official TableClient and every table handle have them.
 */
export interface BulkClient {
  submitTransaction(
    actions: TransactionAction[],
    options?: { abortSignal?: AbortSignalLike },
  ): Promise<unknown>;
}

/**
 * Some actions were not carried out; `result` lists the outcomes. The name is AbortError if the
 * call was cancelled.
 */
export class BulkError extends Error {
  readonly result: BulkResult;
  /** How to fix the cause. */
  readonly hint: string;

  constructor(
    message: string,
    name: "BulkError" | "AbortError",
    cause: unknown,
    result: BulkResult,
  ) {
    super(message, { cause });
    this.name = name;
    this.result = result;
    const { hint } = Object(cause) as { hint?: unknown };
    this.hint = typeof hint === "string" ? hint : resultHint;
  }
}

const resultHint = "The error's result lists which actions were carried out and which failed.";

/**
 * Carries out any number of actions. They are sent as transactions of at most 100 actions. Actions
 * on the same partition run in order; each action succeeds or fails independently. Stops at the
 * first failure. With `onError: "continue"` it stops only at a failure that every other action
 * would share, such as a missing table. Rejects with BulkError if it stopped, if `signal` aborted,
 * or if reading the input threw; otherwise resolves to the outcomes.
 */
export async function bulk(
  client: BulkClient,
  actions: BulkActions,
  options: BulkOptions = {},
): Promise<BulkResult> {
  const { concurrency = 4, onError = "stop", signal } = options;
  if (!(concurrency >= 1))
    throw new RangeError(`concurrency must be 1 or more, not ${concurrency}.`);
  if (onError !== "stop" && onError !== "continue") {
    throw new RangeError(`onError must be one of stop, continue, not ${String(onError)}.`);
  }
  const run = new BulkRun(client, options);
  const abort = () => run.stop("aborted");
  signal?.addEventListener("abort", abort);
  try {
    if (signal?.aborted) abort();
    return await run.execute(actions);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

interface IndexedAction {
  readonly index: number; // the action's index in the input
  readonly action: TransactionAction;
}

type StopReason = "aborted" | "failed";
type InputStep = IteratorResult<Readonly<TransactionAction>>;

class BulkRun {
  readonly #client: BulkClient;
  readonly #options: BulkOptions;
  readonly #concurrency: number;
  readonly #batches = new BatchQueue<IndexedAction>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #failed: BulkFailure[] = [];
  readonly #notAttempted: IndexedAction[] = [];
  #read = 0;
  #done = 0;
  #requests = 0;
  #stopped: StopReason | undefined;
  #cause: unknown;
  #resolveStopped = () => {};
  readonly #whenStopped = new Promise<undefined>((resolve) => {
    this.#resolveStopped = () => resolve(undefined);
  });

  constructor(client: BulkClient, options: BulkOptions) {
    this.#client = client;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 4;
  }

  // Ends reading and sending. Only the first call has an effect.
  stop(why: StopReason, cause?: unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = why;
    this.#cause = cause;
    this.#resolveStopped();
  }

  async execute(actions: BulkActions): Promise<BulkResult> {
    await this.#readAll(actions);
    for (this.#startBatches(true); this.#inFlight.size > 0; this.#startBatches(true))
      await Promise.race(this.#inFlight);
    return this.#finish();
  }

  // ---- Reading ---------------------------------------------------------------------------------

  async #readAll(actions: BulkActions): Promise<void> {
    const isAsync = Symbol.asyncIterator in actions;
    const iterator = isAsync ? actions[Symbol.asyncIterator]() : actions[Symbol.iterator]();
    try {
      while (this.#stopped === undefined) {
        const next = iterator.next();
        const step = isAsync ? await Promise.race([next, this.#whenStopped]) : (next as InputStep);
        if (step === undefined) break;
        if (step.done) return;
        const action = step.value as TransactionAction; // it is not changed
        this.#batches.add({ index: this.#read++, action });
        this.#startBatches(false);
        while (this.#batches.isFull && this.#stopped === undefined) await this.#waitForCapacity();
      }
    } catch (error) {
      this.stop("failed", error);
      return; // an iterator that threw must not be closed
    }
    // Not awaited, because return() may never settle: an async generator first finishes its next().
    Promise.resolve(iterator.return?.()).catch(() => {});
  }

  async #waitForCapacity(): Promise<void> {
    this.#startBatches(true);
    await Promise.race(this.#inFlight);
  }

  // ---- Sending ---------------------------------------------------------------------------------

  #startBatches(includePartial: boolean): void {
    while (this.#inFlight.size < this.#concurrency && this.#stopped === undefined) {
      const next = this.#batches.takeNext(includePartial);
      if (next === undefined) return;
      const sent = this.#send(next.partition, next.entries).finally(() =>
        this.#inFlight.delete(sent),
      );
      this.#inFlight.add(sent);
    }
  }

  // Sends a batch and records its outcome. Never rejects.
  async #send(partition: Partition<IndexedAction>, batch: IndexedAction[]): Promise<void> {
    this.#notAttempted.push(...(await sendBatch(batch, this.#callbacks)));
    this.#batches.finishBatch(partition);
  }

  readonly #callbacks: BatchCallbacks<IndexedAction> = {
    submit: (actions) => {
      const { signal } = this.#options;
      this.#requests += 1;
      return this.#client.submitTransaction(actions, signal ? { abortSignal: signal } : {});
    },
    done: ({ length }) => {
      this.#done += length;
      this.#reportProgress();
    },
    failed: (entries, error, outcome) => {
      this.#recordFailure(entries, error, outcome);
      this.#reportProgress();
    },
    shouldContinue: () => this.#stopped === undefined,
  };

  #recordFailure(entries: readonly IndexedAction[], error: unknown, outcome: FailureOutcome): void {
    if (outcome.kind === "split") return;
    const [uncertain, isFatal] =
      outcome.kind === "all" ? [outcome.uncertain, outcome.isFatal] : [false, false];
    for (const entry of entries) this.#failed.push({ ...entry, error: error as Error, uncertain });
    if (isFatal || this.#options.onError !== "continue") this.stop("failed", error);
  }

  #reportProgress(): void {
    try {
      this.#options.onProgress?.({
        read: this.#read,
        done: this.#done,
        failed: this.#failed.length,
        requests: this.#requests,
      });
    } catch (error) {
      this.stop("failed", error);
    }
  }

  // ---- The end ---------------------------------------------------------------------------------

  #finish(): BulkResult {
    const notAttempted = [...this.#notAttempted, ...this.#batches.notAttempted()].map(
      ({ index }) => index,
    );
    const result: BulkResult = {
      read: this.#read,
      done: this.#done,
      failed: this.#failed.sort((a, b) => a.index - b.index),
      notAttempted: notAttempted.sort((a, b) => a - b),
      requests: this.#requests,
    };
    if (this.#stopped === undefined) return result;
    if (this.#stopped === "aborted") {
      throw new BulkError("The operation was aborted.", "AbortError", this.#cause, result);
    }
    throw new BulkError(this.#failureMessage(result), "BulkError", this.#cause, result);
  }

  #failureMessage({ read, done, failed }: BulkResult): string {
    const first = failed.find(({ error }) => error === this.#cause);
    const what = first === undefined ? "A bulk write ended" : `Action ${first.index} failed`;
    const { message: why = String(this.#cause) } = Object(this.#cause) as { message?: string };
    return `${what}, after ${done} of the ${read} read were carried out: ${why}`;
  }
}
