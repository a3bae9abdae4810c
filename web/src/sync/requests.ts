// Sends requests until they are answered: waits and repeats after failures, asks for a new
// credential, and notes the server's time.

import { backOffMs } from "./back-off.ts";
import type { RemoteError, SyncContext } from "./context.ts";
import type { RemoteRow, Ticks } from "./hidden-tables.ts";
import type { Dated, Failure } from "./remote.ts";
import { ServerClock } from "./server-clock.ts";

type Answer = { readonly kind: string };
type Unanswered = Extract<Failure, { kind: "failed" | "unauthorized" }>;
/** Waits for time to pass, or for the application. */
type Pause = <T>(wait: Promise<T>) => Promise<T>;

/** Which commit a process had when. */
interface Sample {
  readonly time: number;
  readonly commit: number;
}

export class Requests {
  readonly #context: SyncContext;
  readonly #samples: Sample[];
  readonly #pause: Pause;
  readonly clock: ServerClock;

  private constructor(context: SyncContext, samples: Sample[], clock: ServerClock, pause: Pause) {
    this.#context = context;
    this.#samples = samples;
    this.clock = clock;
    this.#pause = pause;
  }

  static async open(context: SyncContext): Promise<Requests> {
    const { platform, store } = context;
    const samples = [{ time: platform.now().monotonicMs, commit: store.commit }];
    const clock = await ServerClock.open(context);
    return new Requests(context, samples, clock, (wait) => wait);
  }

  /** Returns the same, but for the status that it updates, and the store that it reads. */
  withContext(context: SyncContext): Requests {
    return new Requests(context, this.#samples, this.clock, this.#pause);
  }

  /** Returns the same, but for how it waits. */
  withPause(pause: Pause): Requests {
    return new Requests(this.#context, this.#samples, this.clock, pause);
  }

  /** Repeats the request until it is answered. `send` is called for each try. */
  async answered<A extends Answer>(
    send: () => Promise<Dated<A>>,
  ): Promise<Exclude<Dated<A>, Unanswered>> {
    return (await this.tried(send, Number.POSITIVE_INFINITY)) as Exclude<Dated<A>, Unanswered>;
  }

  /**
   * Repeats the request a few times. So a request that a proxy always refuses does not stop those
   * after it.
   */
  async tried<A extends Answer>(
    send: () => Promise<Dated<A>>,
    triesMax = 5,
  ): Promise<Dated<A> | Failure> {
    for (let tries = 1; ; ++tries) {
      const answer = this.checked(await send());
      if (answer.kind !== "failed" && answer.kind !== "unauthorized") return answer;
      await this.waitAfter(answer as Unanswered, tries - 1);
      if (tries === triesMax) return answer;
    }
  }

  /** As `tried`. `sentAt`: as beginRead(), of the try that was answered. */
  async triedRead<A extends Answer>(
    send: () => Promise<Dated<A>>,
  ): Promise<{ readonly answer: Dated<A> | Failure; readonly sentAt: number }> {
    let sentAt = 0;
    const answer = await this.tried<A>(async () => {
      sentAt = await this.beginRead();
      return await send();
    });
    return { answer, sentAt };
  }

  /**
   * Notes the server's times. An answer with a Timestamp far ahead of this machine's clock counts
   * as failed, until one of the two clocks is right. Such a Date is ignored: the answer's rows say
   * what happened.
   */
  checked<A extends Answer>(answer: Dated<A>): Dated<A> | (Failure & { kind: "failed" }) {
    const newest = newestTimestamp(answer);
    if (newest !== undefined && this.clock.isAhead(newest)) {
      this.#context.status.error = "remoteClock";
      return { kind: "failed" };
    }
    if (isOfService(answer)) {
      this.clock.learn(newest);
      this.clock.learn(answer.date);
    }
    const { kind } = answer;
    const error = errorOf(answer);
    if (error !== undefined) {
      this.#context.status.error = error;
    } else if (isOfService(answer) && this.#endsError(kind)) {
      this.#context.status.error = undefined;
    }
    return answer;
  }

  /** As `checked`, for what a feed has brought. Returns false if a Timestamp is far ahead. */
  checkedTimes(changes: readonly { readonly row: RemoteRow | undefined }[]): boolean {
    const newest = newestTimestamp({ versions: changes.map(({ row }) => row) });
    if (newest !== undefined && this.clock.isAhead(newest)) {
      this.#context.status.error = "remoteClock";
      return false;
    }
    this.clock.learn(newest);
    return true;
  }

  /**
   * Reads of single entities need no headers that continue a query, and the feed of a table that is
   * missing is opened, too.
   */
  #endsError(kind: string): boolean {
    const { error } = this.#context.status;
    if (error === "tableMissing") return kind !== "open";
    return error !== "tokensHidden" || kind === "page";
  }

  /** Waits after a failure, as long as backOffMs() says. */
  async waitAfter(failure: Failure, tries: number): Promise<void> {
    const { platform, remote, rules } = this.#context;
    if (errorOf(failure) === "unauthorized") await this.#pause(remote.refresh());
    const ms = backOffMs(failure, tries, rules.retry, platform.random());
    await this.#pause(platform.backOff?.(ms) ?? platform.sleep(ms));
  }

  /**
   * Returns the commit for which a read that is sent now is valid: the answer has at least what the
   * remote had then. Waits if the remote's reads may be older than this process.
   */
  async beginRead(): Promise<number> {
    const { platform, remote, store } = this.#context;
    const { staleReadMs } = remote.traits;
    if (staleReadMs === 0) return store.commit;
    const oldest = (this.#samples[0] as { time: number }).time;
    const wait = oldest + staleReadMs - platform.now().monotonicMs;
    if (wait > 0) await this.#pause(platform.sleep(wait));
    return this.#commitBefore(platform.now().monotonicMs - staleReadMs);
  }

  #commitBefore(time: number): number {
    const { platform, store } = this.#context;
    const now = platform.now().monotonicMs;
    this.#samples.push({ time: now, commit: store.commit });
    while ((this.#samples[1]?.time ?? Number.POSITIVE_INFINITY) <= time) this.#samples.shift();
    return (this.#samples[0] as { commit: number }).commit;
  }
}

/** Returns what the status says after this answer, if it is an error. */
export function errorOf(answer: Answer): RemoteError | undefined {
  const { kind } = answer;
  if ("lacksCredential" in answer) return "noCredential";
  return kind === "tableMissing" || kind === "unauthorized" || kind === "tokensHidden"
    ? kind
    : undefined;
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
