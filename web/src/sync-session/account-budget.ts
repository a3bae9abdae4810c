// What all tables of an account may use together, because the service's targets are those of the
// account, which the application shares with others.

import type { ClockReading } from "../sync/watermark.ts";

export interface BudgetLimits {
  /** Scanned entities. */
  readonly entitiesPerSecond: number;
  /** Requests of any kind. Infinity: as many as there are. */
  readonly transactionsPerDay: number;
}

const msPerDay = 86_400_000;
const burstMs = 3_600_000; // so much of a day's requests can be sent at once

export class AccountBudget {
  readonly #limits: BudgetLimits;
  readonly #now: () => ClockReading;
  // Until when the entities and the requests so far use up what is allowed, by the monotonic clock.
  #entitiesUntil = Number.NEGATIVE_INFINITY;
  #requestsUntil = Number.NEGATIVE_INFINITY;

  constructor(limits: BudgetLimits, now: () => ClockReading) {
    this.#limits = limits;
    this.#now = now;
  }

  spendEntities(entities: number): void {
    const from = Math.max(this.#entitiesUntil, this.#now().monotonicMs);
    this.#entitiesUntil = from + this.msFor(entities);
  }

  /** Pushes count, too, but do not wait. */
  spendRequest(): void {
    const { transactionsPerDay } = this.#limits;
    const from = Math.max(this.#requestsUntil, this.#now().monotonicMs);
    this.#requestsUntil = from + msPerDay / transactionsPerDay;
  }

  /** How long it takes until another request may be sent, perhaps one that scans. */
  waitMs(scans: boolean): number {
    const requests = this.#requestsUntil - burstMs;
    const until = scans ? Math.max(this.#entitiesUntil, requests) : requests;
    return Math.max(0, until - this.#now().monotonicMs);
  }

  /** Returns how long it takes to scan so many entities. */
  msFor(entities: number): number {
    return (entities / this.#limits.entitiesPerSecond) * 1000;
  }
}
