// Whether the remote answers, by the last answers to requests of any kind.

import type { Failure } from "../sync/remote.ts";

const failures: readonly string[] = [
  "failed",
  "unauthorized",
  "tableMissing",
] satisfies Failure["kind"][];

export class Reachability {
  #failures = 0; // in a row
  readonly #waiting = new Map<() => void, number>();
  /** Undefined: nothing was sent yet. */
  isAnswering: boolean | undefined;

  note(answer: { readonly kind: string; readonly lacksCredential?: true }): void {
    const { kind } = answer;
    if (kind === "notSent") return;
    // Otherwise, it is not the remote that answers.
    this.isAnswering = kind !== "failed" && !answer.lacksCredential;
    this.#failures = failures.includes(kind) ? this.#failures + 1 : 0;
    for (const [giveUp, most] of [...this.#waiting]) if (this.#failures >= most) giveUp();
  }

  /** No requests are sent any more. */
  giveUp(): void {
    for (const giveUp of [...this.#waiting.keys()]) giveUp();
  }

  /**
   * Resolves like `work`; to undefined as soon as so many requests in a row have failed, from now
   * on. The work goes on even then.
   */
  async unlessFailing<T>(most: number, work: Promise<T>): Promise<T | undefined> {
    this.#failures = 0;
    let giveUp = () => {};
    const outage = new Promise<undefined>((resolve) => {
      giveUp = () => resolve(undefined);
    });
    this.#waiting.set(giveUp, most);
    try {
      return await Promise.race([work, outage]);
    } finally {
      this.#waiting.delete(giveUp);
    }
  }
}
