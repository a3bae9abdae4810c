// Sends requests until they are answered: waits and repeats after failures, asks for a new
// credential, and notes the server's time.

import type { SyncContext } from "./context.ts";
import type { Draft } from "./draft.ts";
import type { Ticks } from "./hidden-tables.ts";
import type { Dated, Failure } from "./remote.ts";
import type { SyncStore } from "./store.ts";
import type { ClockReading } from "./watermark.ts";
import { isFromTheFuture, serverTimeNow, ticksPerMs } from "./watermark.ts";

type Answer = { readonly kind: string };
type Unanswered = Extract<Failure, { kind: "failed" | "unauthorized" }>;

export class Requests {
  readonly #context: SyncContext;
  readonly #samples: { time: number; commit: number }[];
  #serverTime: Ticks | undefined;
  #learnedAt: ClockReading | undefined;

  constructor(context: SyncContext) {
    this.#context = context;
    const { platform, store } = context;
    this.#samples = [{ time: platform.now().monotonicMs, commit: store.view.commit }];
    this.#serverTime = store.view.get("server", "time");
  }

  /** Repeats the request until it is answered. `send` is called for each try. */
  async answered<A extends Answer>(
    send: () => Promise<Dated<A>>,
  ): Promise<Exclude<Dated<A>, Unanswered>> {
    for (let tries = 0; ; ++tries) {
      const answer = this.checked(await send());
      if (answer.kind !== "failed" && answer.kind !== "unauthorized") {
        return answer as Exclude<Dated<A>, Unanswered>;
      }
      await this.waitAfter(answer as Unanswered, tries);
    }
  }

  /**
   * Notes the server's times. An answer with a Timestamp far ahead of this machine's clock counts
   * as failed, until one of the two clocks is right. Such a Date is ignored: the answer's rows say
   * what happened.
   */
  checked<A extends Answer>(answer: Dated<A>): Dated<A> | (Failure & { kind: "failed" }) {
    const newest = newestTimestamp(answer);
    if (newest !== undefined && this.#isFromTheFuture(newest)) {
      this.#context.status.error = "remoteClock";
      return { kind: "failed" };
    }
    if (isOfService(answer)) {
      for (const time of [newest, answer.date]) {
        if (time !== undefined && !this.#isFromTheFuture(time)) this.#learn(time);
      }
    }
    if (answer.kind === "tableMissing" || answer.kind === "unauthorized") {
      this.#context.status.error = answer.kind;
    } else if (isOfService(answer)) this.#context.status.error = undefined;
    return answer;
  }

  #isFromTheFuture(time: Ticks): boolean {
    const { wallMs } = this.#context.platform.now();
    return isFromTheFuture(time, BigInt(Math.floor(wallMs)) * ticksPerMs);
  }

  #learn(time: Ticks): void {
    const now = this.#context.platform.now();
    if (this.#serverTime !== undefined && time <= this.#serverTimeAt(now)) return;
    this.#serverTime = time;
    this.#learnedAt = now;
  }

  /** Waits after a failure: exponential back-off with jitter, and at least Retry-After. */
  async waitAfter(failure: Failure, tries: number): Promise<void> {
    const { platform, remote, rules } = this.#context;
    if (failure.kind === "unauthorized") await remote.refresh();
    const { firstMs, mostMs } = rules.retry;
    const most = Math.min(firstMs * 2 ** tries, mostMs);
    const delay = most * (0.5 + platform.random() / 2);
    const atLeast = failure.kind === "failed" ? (failure.retryAfterMs ?? 0) : 0;
    await platform.sleep(Math.max(delay, atLeast));
  }

  /** A time that the servers have reached. Undefined: not known yet. */
  get serverTime(): Ticks | undefined {
    if (this.#serverTime === undefined) return undefined;
    return this.#serverTimeAt(this.#context.platform.now());
  }

  #serverTimeAt(now: ClockReading): Ticks {
    const time = this.#serverTime as Ticks;
    return serverTimeNow({ time, learnedAt: this.#learnedAt }, now);
  }

  /** Keeps the server's time for the next process. */
  storeServerTime(draft: Draft): void {
    const stored = draft.get("server", "time");
    if (this.#serverTime === undefined) return;
    if (stored === undefined || stored < this.#serverTime) {
      draft.put("server", "time", this.#serverTime);
    }
  }

  /**
   * Returns the commit for which a read that is sent now is valid: the answer has at least what the
   * remote had then. Waits if the remote's reads may be older than this process.
   */
  async beginRead(): Promise<number> {
    const { platform, remote, store } = this.#context;
    const { staleReadMs } = remote.traits;
    if (staleReadMs === 0) return store.view.commit;
    const oldest = (this.#samples[0] as { time: number }).time;
    const wait = oldest + staleReadMs - platform.now().monotonicMs;
    if (wait > 0) await platform.sleep(wait);
    return this.#commitBefore(platform.now().monotonicMs - staleReadMs, store);
  }

  #commitBefore(time: number, store: SyncStore): number {
    const now = this.#context.platform.now().monotonicMs;
    this.#samples.push({ time: now, commit: store.view.commit });
    while ((this.#samples[1]?.time ?? Number.POSITIVE_INFINITY) <= time) this.#samples.shift();
    return (this.#samples[0] as { commit: number }).commit;
  }
}

/** Not of a proxy or a captive portal, whose Date may be of any clock. */
const isOfService = ({ kind }: Answer): boolean => kind !== "failed" && kind !== "rejected";

/** Returns the newest Timestamp of an answer's rows or versions. */
function newestTimestamp(answer: object): Ticks | undefined {
  const times: (Ticks | undefined)[] = [];
  if ("row" in answer) times.push((answer.row as { timestamp: Ticks }).timestamp);
  if ("rows" in answer) {
    for (const { row } of answer.rows as { row: { timestamp: Ticks } }[]) times.push(row.timestamp);
  }
  if ("versions" in answer) {
    for (const version of answer.versions as ({ timestamp: Ticks } | undefined)[]) {
      times.push(version?.timestamp);
    }
  }
  return times.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined);
}
