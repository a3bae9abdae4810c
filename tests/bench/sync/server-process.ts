// A server in a process of its own, which answers one call at a time.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

type Call = (...args: never[]) => unknown;

/** `Calls`: what the script gives to answerCalls(). */
export class ServerProcess<Calls extends Readonly<Record<keyof Calls, Call>>> {
  readonly #child: ChildProcess;

  protected constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when the script, of this folder, answers calls. */
  protected static async fork(script: string, args: readonly string[]): Promise<ChildProcess> {
    const child = fork(new URL(script, import.meta.url), [...args]);
    await once(child, "message");
    return child;
  }

  async call<N extends keyof Calls>(
    name: N,
    ...args: Parameters<Calls[N]>
  ): Promise<Awaited<ReturnType<Calls[N]>>> {
    this.#child.send([name, args]);
    const [[result, error]] = await once(this.#child, "message");
    if (error !== undefined) throw new Error(error);
    return result;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }
}
