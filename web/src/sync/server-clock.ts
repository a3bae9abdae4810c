// What is known about the time of the remote's servers (watermark.ts).

import type { SyncContext } from "./context.ts";
import type { Draft } from "./draft.ts";
import type { Ticks } from "./hidden-tables.ts";
import { type ClockReading, isFromTheFuture, serverTimeNow, ticksPerMs } from "./watermark.ts";

export class ServerClock {
  readonly #context: SyncContext;
  #time: Ticks | undefined;
  #learnedAt: ClockReading | undefined;

  private constructor(context: SyncContext, time: Ticks | undefined) {
    this.#context = context;
    this.#time = time;
  }

  /** Continues with the time that an earlier process has stored. */
  static async open(context: SyncContext): Promise<ServerClock> {
    const time = await context.store.read((view) => view.get("server", "time"));
    return new ServerClock(context, time);
  }

  /** Returns whether a Timestamp is far ahead of this machine's clock. */
  isAhead(time: Ticks): boolean {
    const { wallMs } = this.#context.platform.now();
    return isFromTheFuture(time, BigInt(Math.floor(wallMs)) * ticksPerMs);
  }

  /** The servers have reached this time. Ignores a time that is far ahead. */
  learn(time: Ticks | undefined): void {
    if (time === undefined || this.isAhead(time)) return;
    const { now: known } = this;
    if (known !== undefined && time <= known) return;
    this.#time = time;
    this.#learnedAt = this.#context.platform.now();
  }

  /** A time that the servers have reached. Undefined: not known yet. */
  get now(): Ticks | undefined {
    if (this.#time === undefined) return undefined;
    const known = { time: this.#time, learnedAt: this.#learnedAt };
    return serverTimeNow(known, this.#context.platform.now());
  }

  /** Keeps the time for the next process. */
  store(draft: Draft): void {
    const stored = draft.get("server", "time");
    if (this.#time === undefined) return;
    if (stored === undefined || stored < this.#time) draft.put("server", "time", this.#time);
  }
}
