// Where a client runs: in a process of Node, or in a page of Chromium.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "puppeteer-core";
import { newProfile, type Profile } from "../../browser/support/browser.ts";
import {
  anonymousMegabytes,
  memoryOf,
  pageProcesses,
} from "../../browser/support/process-memory.ts";
import { launch } from "../../browser/support/puppeteer.ts";
import type { Site } from "../../browser/support/server.ts";
import { newPage, serveBench } from "../support/serve-bench.ts";
import type { Client, ClientOptions } from "./client.ts";
import type { bench as Bench } from "./page.ts";

declare const bench: typeof Bench; // inside the page

type Step = Exclude<keyof Client, "open">;

export interface Place {
  open(options: Omit<ClientOptions, "store">): Promise<void>;
  run<N extends Step>(step: N, ...args: Parameters<Client[N]>): Promise<number>;
  /** Of the step before; 0 in Node. */
  longestTaskMs(): Promise<number>;
  megabytes(): Promise<number>;
  /** The processor's time so far, of the process that runs the client. */
  cpuMs(): Promise<number>;
  close(): Promise<void>;
}

export const memoryLimit = 64 * 1024 * 1024;

export class NodePlace implements Place {
  readonly #child: ChildProcess;
  readonly #folder = mkdtempSync(join(tmpdir(), "entitable-bench-sync-"));

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(flags: readonly string[] = []): Promise<NodePlace> {
    const child = fork(new URL("node.ts", import.meta.url), { execArgv: [...flags] });
    await once(child, "message");
    return new NodePlace(child);
  }

  async open(options: Omit<ClientOptions, "store">): Promise<void> {
    const store = { name: "sync", persistence: "file", path: this.#folder, memoryLimit } as const;
    await this.#call("open", [{ ...options, store }]);
  }

  async run<N extends Step>(step: N, ...args: Parameters<Client[N]>): Promise<number> {
    return (await this.#call("run", [step, args])) as number;
  }

  async #call(name: string, args: readonly unknown[]): Promise<unknown> {
    this.#child.send([name, args]);
    const [[result, error]] = await once(this.#child, "message");
    if (error !== undefined) throw new Error(error);
    return result;
  }

  longestTaskMs = async () => 0;
  megabytes = async () => anonymousMegabytes(this.#child.pid as number);
  cpuMs = async () => cpuMsOf(this.#child.pid as number);

  async close(): Promise<void> {
    await this.run("close");
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

export class PagePlace implements Place {
  readonly #profile: Profile;
  readonly #browser: Browser;
  readonly #site: Site;
  readonly #page: Page;

  private constructor(profile: Profile, browser: Browser, site: Site, page: Page) {
    this.#profile = profile;
    this.#browser = browser;
    this.#site = site;
    this.#page = page;
  }

  static async start(): Promise<PagePlace> {
    const site = await serveBench(new URL("page.ts", import.meta.url));
    const profile = await newProfile();
    const browser = await launch(profile);
    return new PagePlace(profile, browser, site, await newPage(browser, site));
  }

  async open(
    options: Omit<ClientOptions, "store">,
    durability: "strict" | "relaxed" = "strict",
  ): Promise<void> {
    const store = { name: "sync", durability, memoryLimit } as const;
    await this.#page.evaluate((given) => bench.open(given), { ...options, store });
  }

  /** Loads the code that the first step would load. */
  preload = () => this.#page.evaluate(() => bench.preload());

  async run<N extends Step>(step: N, ...args: Parameters<Client[N]>): Promise<number> {
    const given = args as readonly never[];
    return (await this.#page.evaluate((...call) => bench.run(...call), step, given)) as number;
  }

  longestTaskMs = () => this.#page.evaluate(() => bench.longestTaskMs());
  megabytes = () => memoryOf(this.#browser);

  async cpuMs(): Promise<number> {
    const pages = await pageProcesses(this.#browser);
    return pages.reduce((sum, { cpuTime }) => sum + 1000 * cpuTime, 0);
  }

  async close(): Promise<void> {
    await this.run("close");
    await this.#browser.close();
    await this.#site.close();
    await this.#profile.remove();
  }
}

function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]); // of 10 ms, in user and system mode
  return ticks * 10;
}
