// The budget of an account, as one table waits for it.

import type { AccountBudget } from "./account-budget.ts";
import type { SessionTime } from "./clock.ts";

export class EntityBudget {
  readonly #time: SessionTime;
  readonly #account: AccountBudget;

  constructor(time: SessionTime, account: AccountBudget) {
    this.#time = time;
    this.#account = account;
  }

  /** Resolves when what was used so far, for any table, is within the budget. */
  async available(scans: boolean): Promise<void> {
    for (;;) {
      const waitMs = this.waitMs(scans);
      if (waitMs === 0) return;
      await this.#time.sleep(waitMs);
    }
  }

  /** How long it takes until then, if no table uses more meanwhile. */
  waitMs(scans: boolean): number {
    return this.#account.waitMs(scans);
  }

  spend(entities: number): void {
    this.#account.spendEntities(entities);
  }
}
