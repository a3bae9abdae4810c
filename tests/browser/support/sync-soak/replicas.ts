// Replicas of a remote table in Chromium and in Node, which can be killed and opened again.

import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser, Page } from "puppeteer-core";
import { packageFolder } from "../../../web/support/package.ts";
import type { ReplicaCalls, ReplicaSettings } from "../../fixture/sync-replica.ts";
import { newProfile, type Profile, waitMs } from "../browser.ts";
import { launch } from "../puppeteer.ts";
import { type Site, serve } from "../server.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../fixture/${name}`, import.meta.url));

const storeOptions = {
  name: "soak",
  durability: "strict",
  account: { name: "devstoreaccount1" },
} as const;

type Method = keyof ReplicaCalls;
type Result<M extends Method> = Awaited<ReturnType<ReplicaCalls[M]>>;

export interface Replica {
  readonly name: string;
  /** Starts its process, opens its store and begins to sync. */
  open(settings: ReplicaSettings): Promise<void>;
  /** Rejects if the process is killed. */
  call<M extends Method>(method: M, ...args: Parameters<ReplicaCalls[M]>): Promise<Result<M>>;
  /** Tells the process that it has no network, or that it has one again. */
  setOffline(isOffline: boolean): Promise<void>;
  /** Kills the process, and resolves when it has ended. */
  kill(): Promise<void>;
  remove(): Promise<void>;
}

// ---- Chromium -----------------------------------------------------------------------------------

/** Serves the package, and a page with the functions of a replica. */
export async function serveReplica(): Promise<Site> {
  const built = await build({
    entryPoints: [fixture("sync-replica.ts")],
    bundle: true,
    format: "esm",
    write: false,
  });
  const script = built.outputFiles[0]?.text ?? "";
  const page = '<!doctype html><script type="module" src="/replica.js"></script>';
  return await serve(fileURLToPath(packageFolder), {
    override: (path) => {
      if (path === "/replica.js") return { type: "text/javascript", body: script };
      return path === "/" ? { body: page } : undefined;
    },
  });
}

export class BrowserReplica implements Replica {
  readonly name: string;
  readonly #site: Site;
  readonly #profile: Profile;
  #browser: Browser | undefined;
  #page: Page | undefined;

  private constructor(name: string, site: Site, profile: Profile) {
    this.name = name;
    this.#site = site;
    this.#profile = profile;
  }

  static async create(name: string, site: Site): Promise<BrowserReplica> {
    return new BrowserReplica(name, site, await newProfile());
  }

  async open(settings: ReplicaSettings): Promise<void> {
    this.#browser = await launch(this.#profile);
    const [page = await this.#browser.newPage()] = await this.#browser.pages();
    this.#page = page;
    page.setDefaultTimeout(2 * waitMs);
    await page.goto(this.#site.url);
    await page.waitForFunction(() => "replica" in globalThis);
    await this.call("open", "/dist/", storeOptions, settings);
  }

  async call<M extends Method>(
    method: M,
    ...args: Parameters<ReplicaCalls[M]>
  ): Promise<Result<M>> {
    const result = await (this.#page as Page).evaluate(
      (name, given) => {
        const { replica } = globalThis as unknown as {
          replica: Record<string, (...args: readonly unknown[]) => unknown>;
        };
        return replica[name]?.(...given);
      },
      method as string,
      args as readonly unknown[],
    );
    return result as Result<M>;
  }

  async setOffline(isOffline: boolean): Promise<void> {
    await this.#page?.setOfflineMode(isOffline);
  }

  async kill(): Promise<void> {
    const process = this.#browser?.process();
    const exited = process && process.exitCode === null ? once(process, "exit") : undefined;
    process?.kill("SIGKILL");
    await exited;
    await this.#browser?.close().catch(() => {});
    this.#browser = undefined;
  }

  async remove(): Promise<void> {
    await this.kill();
    await this.#profile.remove();
  }
}

// ---- Node ---------------------------------------------------------------------------------------

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class NodeReplica implements Replica {
  readonly name: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "entitable-replica-"));
  readonly #forgets: boolean;
  #process: ChildProcess | undefined;
  #calls = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** `forgets`: loses what was written since it was opened, for a test that must find this. */
  constructor(name: string, { forgets = false } = {}) {
    this.name = name;
    this.#forgets = forgets;
  }

  async open(settings: ReplicaSettings): Promise<void> {
    const child = fork(fixture("sync-replica-process.ts"), { execArgv: [] });
    this.#process = child;
    child.on("message", (reply: Reply) => this.#onReply(reply));
    child.on("exit", () => this.#onExit());
    const options = { ...storeOptions, persistence: "file", path: this.#path } as const;
    await this.call("open", new URL("dist/", packageFolder).href, options, settings);
    if (this.#forgets) cpSync(this.#path, this.#copy, { recursive: true });
  }

  get #path(): string {
    return join(this.#folder, "store");
  }

  get #copy(): string {
    return join(this.#folder, "copy");
  }

  #onReply({ id, result, error }: Reply): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }

  #onExit(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error("the process has ended"));
    this.#waiting.clear();
  }

  call<M extends Method>(method: M, ...args: Parameters<ReplicaCalls[M]>): Promise<Result<M>> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting["resolve"], reject });
      assert(this.#process?.connected, "the process has ended");
      this.#process.send({ id, method, args });
    });
  }

  /** A process is not told. */
  async setOffline(): Promise<void> {}

  async kill(): Promise<void> {
    const child = this.#process;
    const hasEnded = child === undefined || child.exitCode !== null || child.signalCode !== null;
    const exited = hasEnded ? undefined : once(child, "exit");
    child?.kill("SIGKILL");
    await exited;
    if (!this.#forgets || hasEnded) return;
    rmSync(this.#path, { recursive: true });
    cpSync(this.#copy, this.#path, { recursive: true });
    rmSync(this.#copy, { recursive: true });
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }
}
