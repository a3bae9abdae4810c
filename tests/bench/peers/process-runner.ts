// The driver's side of a Node process with one database.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { anonymousMegabytes } from "../../browser/support/process-memory.ts";
import type { CpuProfile } from "./profile-shares.ts";
import { Runner } from "./runner.ts";
import type { SessionOptions } from "./session.ts";
import { StepClient, type StepResponse } from "./step-messages.ts";
import type { Step } from "./steps.ts";

const script = fileURLToPath(new URL("node-process.ts", import.meta.url));

export class ProcessRunner extends Runner {
  readonly #process: ChildProcess;
  readonly #stepClient: StepClient;

  private constructor(options: SessionOptions) {
    super(options);
    this.#process = fork(script, {
      serialization: "advanced",
      execArgv: [...process.execArgv, "--expose-gc"],
    });
    this.#stepClient = new StepClient((message) => this.#process.send(message));
    this.#process.on("message", (answer) => this.#stepClient.receive(answer as StepResponse));
    this.#process.on("exit", () => this.#stepClient.fail("the process ended"));
  }

  static async start(options: SessionOptions): Promise<ProcessRunner> {
    const child = new ProcessRunner(options);
    await child.#stepClient.call("start", [options]);
    return child;
  }

  async megabytes(): Promise<number> {
    for (let i = 0; i < 2; ++i) await this.devtools("HeapProfiler.collectGarbage");
    return anonymousMegabytes(this.#process.pid as number);
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL"); // what was stored is in the database's files
    await exited;
  }

  protected step(step: Step, args: unknown[]): Promise<unknown> {
    return this.#stepClient.call(step, args);
  }

  protected openCold(name: string, level: string): Promise<number> {
    return this.#stepClient.call("cold-open", [name, level]) as Promise<number>;
  }

  async takeProfiles(): Promise<CpuProfile[]> {
    return (await this.#stepClient.call("profiles", [])) as CpuProfile[];
  }

  devtools(method: string, params?: object): Promise<unknown> {
    return this.#stepClient.call("devtools", params === undefined ? [method] : [method, params]);
  }
}
