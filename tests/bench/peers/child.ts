// A process of Node with one contestant, seen from the driver.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { anonymousMegabytes } from "../support/memory.ts";
import { type Answer, Asker } from "./messages.ts";
import { Place } from "./place.ts";
import type { SessionOptions } from "./session.ts";
import type { CpuProfile } from "./shares.ts";
import type { Step } from "./steps.ts";

const script = fileURLToPath(new URL("node-process.ts", import.meta.url));

export class Child extends Place {
  readonly #process: ChildProcess;
  readonly #asker: Asker;

  private constructor(options: SessionOptions) {
    super(options);
    this.#process = fork(script, {
      serialization: "advanced",
      execArgv: [...process.execArgv, "--expose-gc"],
    });
    this.#asker = new Asker((message) => this.#process.send(message));
    this.#process.on("message", (answer) => this.#asker.receive(answer as Answer));
    this.#process.on("exit", () => this.#asker.fail("the process ended"));
  }

  static async start(options: SessionOptions): Promise<Child> {
    const child = new Child(options);
    await child.#asker.ask("start", [options]);
    return child;
  }

  async megabytes(): Promise<number> {
    for (let i = 0; i < 2; ++i) await this.devtools("HeapProfiler.collectGarbage");
    return anonymousMegabytes(this.#process.pid as number);
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL"); // what it had stored is in its files
    await exited;
  }

  protected step(step: Step, args: unknown[]): Promise<unknown> {
    return this.#asker.ask(step, args);
  }

  protected openCold(name: string, level: string): Promise<number> {
    return this.#asker.ask("cold-open", [name, level]) as Promise<number>;
  }

  async takeProfiles(): Promise<CpuProfile[]> {
    return (await this.#asker.ask("profiles", [])) as CpuProfile[];
  }

  devtools(method: string, params?: object): Promise<unknown> {
    return this.#asker.ask("devtools", params === undefined ? [method] : [method, params]);
  }
}
