// Runs `entitable serve` as a process, as users start it.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { packageFolder } from "./package.ts";

export const emulatorKey =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

const command = fileURLToPath(new URL("dist/server/cli.js", packageFolder));

export interface ExitResult {
  code: number | null; // null: killed by a signal
  out: string;
  err: string;
}

export interface ProcessOptions {
  env?: Record<string, string>;
  cwd?: string;
  command?: string; // a script of the package; default: the command `entitable`
}

export const azuriteCommand = fileURLToPath(new URL("dist/server/azurite-cli.js", packageFolder));

const running = new Set<ServerProcess>();

// Kills the processes that failed tests have left, which would keep the test run from ending.
export async function killAllServers(): Promise<void> {
  await Promise.all([...running].map((served) => served.signal("SIGKILL")));
}

export class ServerProcess {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly ended: Promise<ExitResult>;
  readonly lines: string[] = []; // complete lines of its standard output
  #onLine: () => void = () => {};

  constructor(args: readonly string[], options: ProcessOptions) {
    const { AZURITE_ACCOUNTS: _, ...env } = process.env;
    this.#child = spawn(process.execPath, [options.command ?? command, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...env, ...options.env },
      cwd: options.cwd,
    });
    running.add(this);
    let out = "";
    let err = "";
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      err += text;
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text;
      this.lines.splice(0, this.lines.length, ...out.split("\n").slice(0, -1));
      this.#onLine();
    });
    this.ended = new Promise((resolve) => {
      this.#child.on("close", (code) => {
        running.delete(this);
        resolve({ code, out, err });
        this.#onLine();
      });
    });
  }

  // Resolves when the server serves all accounts, each of which has two lines of output. Rejects
  // with its output if it ends before.
  async listening(accounts = 1): Promise<this> {
    return await this.#until(
      () => this.#endpoints.length >= accounts && this.lines.length >= 2 * accounts,
    );
  }

  // Resolves when the server has printed such a line. Rejects with its output if it ends before.
  async printed(pattern: RegExp): Promise<this> {
    return await this.#until(() => this.lines.some((line) => pattern.test(line)));
  }

  async #until(holds: () => boolean): Promise<this> {
    let ended: ExitResult | undefined;
    void this.ended.then((how) => {
      ended = how;
    });
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
        if (ended !== undefined) resolve();
      });
      await undefined;
      if (ended !== undefined) throw new Error(`It ended with ${ended.code}: ${ended.err}`);
    }
    return this;
  }

  // Returns the endpoint of an account. Accounts are numbered in the order in which they were
  // given.
  endpoint(account = 0): string {
    return this.#endpoints[account] ?? "";
  }

  get #endpoints(): string[] {
    return this.lines
      .filter((line) => /^https?:/.test(line))
      .map((line) => line.split(" ")[0] ?? "");
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get port(): number {
    return Number(new URL(this.endpoint()).port);
  }

  signal(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<ExitResult> {
    this.#child.kill(signal);
    return this.ended;
  }
}

export function run(args: readonly string[], options: ProcessOptions = {}): Promise<ExitResult> {
  return new ServerProcess(args, options).ended;
}

export function start(
  args: readonly string[],
  options: ProcessOptions & { accounts?: number } = {},
): Promise<ServerProcess> {
  return new ServerProcess(["serve", "--port", "0", ...args], options).listening(options.accounts);
}

export function connectionString(served: ServerProcess, account = 0, key = emulatorKey): string {
  const endpoint = served.endpoint(account);
  const name = endpoint.split("/").at(-1);
  return `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};TableEndpoint=${endpoint}`;
}
