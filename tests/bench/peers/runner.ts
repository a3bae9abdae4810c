// The driver's side of a session: the base class for a session in a page (page-runner.ts) or in a
// Node process (process-runner.ts).

import { WrongResult } from "./expected.ts";
import type { Profiled } from "./profile.ts";
import type { CpuProfile } from "./profile-shares.ts";
import { overBudget, type SessionOptions, wrong } from "./session.ts";
import type { Step } from "./steps.ts";

export class OverBudget extends Error {}

export abstract class Runner implements Profiled {
  readonly #limitMs: number;

  protected constructor({ budgetMs }: SessionOptions) {
    this.#limitMs = budgetMs * 1.5;
  }

  protected abstract step(step: Step, args: unknown[]): Promise<unknown>;
  protected abstract openCold(name: string, level: string): Promise<number>;
  // Calls a method of Chrome's DevTools protocol.
  abstract devtools(method: string, params?: object): Promise<unknown>;
  abstract takeProfiles(): Promise<CpuProfile[]>;
  // Returns the memory of the process without garbage.
  abstract megabytes(): Promise<number>;
  abstract close(): Promise<void>;

  // Runs a step of the session. Throws OverBudget if it takes too long; the page or process cannot
  // be used afterwards.
  async call(step: Step, ...args: unknown[]): Promise<unknown> {
    return await this.limited(this.step(step, args));
  }

  async coldOpen(name: string, level: string): Promise<number> {
    return await this.limited(this.openCold(name, level));
  }

  async wasmMegabytes(): Promise<number> {
    return ((await this.call("memory")) as number) / 1024 / 1024;
  }

  protected async limited<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new OverBudget()), this.#limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      const { message } = error as Error;
      if (message.includes(overBudget)) throw new OverBudget();
      throw message.includes(wrong) ? new WrongResult(message) : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
