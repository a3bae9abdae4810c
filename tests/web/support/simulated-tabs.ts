// Simulates several tabs of one store, in a simulation (simulation.ts). A test can kill and freeze
// each tab.
//
// A tab has what a browser provides: Web Locks that are released when the tab dies, channels that
// deliver the messages of each tab in order but with a delay, and lifecycle events. The files of
// all tabs are in one map.

import "../../../web/src/host/change-listeners.ts"; // these are loaded before virtual time begins
import "../../../web/src/host/verify.ts";
import type { LocalHost, LogOwnership } from "../../../web/src/host/local-host.ts";
import type { LifecycleEvent, PageLifecycle } from "../../../web/src/host/page-lifecycle.ts";
import { accountFromOptions } from "../../../web/src/rest/account.ts";
import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";
import type { StorageReserve } from "../../../web/src/storage/storage-reserve.ts";
import type { Channel } from "../../../web/src/tabs/channel.ts";
import { SharedHost, type SharedHostOptions } from "../../../web/src/tabs/shared-host.ts";
import { DeferredModule } from "../../../web/src/wasm/deferred-module.ts";
import {
  createEngine,
  type DeferredModuleUrls,
  type Engine,
} from "../../../web/src/wasm/engine.ts";
import { openHost } from "./open-host.ts";
import { currentSimulation, isSimulating, type SimulatedProcess, sleep } from "./simulation.ts";

// ---- Locks --------------------------------------------------------------------------------------

interface Waiter {
  tab: Tab;
  grant(lock: Lock | null): Promise<unknown>;
  settle(result: Promise<unknown>): void;
  fail(error: unknown): void;
}

// The locks of an origin. All are exclusive, because entitable uses no others.
export class Origin {
  readonly simulation = currentSimulation();
  readonly disks = this.simulation.newProcess("disks"); // storage works while a tab is frozen
  readonly files = new Map<string, Uint8Array>();
  // Returns a tab's access to the stored files.
  disk: (tab: Tab) => LogStorage = () => new MemoryStorage(this.files);
  // Returns what a tab receives of a message, so that a canary can leave something out.
  alterMessage = (message: unknown) => message;
  // How long it takes until a tab learns that its lock was stolen. Other events may come first.
  lockLossDelayMs = () => 0;
  // How long a message, and a storage call, takes.
  latencyMs: () => number;
  readonly tabs: Tab[] = [];
  readonly #held = new Map<string, Waiter>();
  readonly #queues = new Map<string, Waiter[]>();
  readonly #endpoints = new Map<string, Set<{ tab: Tab; onMessage(message: unknown): void }>>();

  constructor() {
    const { random, isRandom } = this.simulation;
    const longestMs = isRandom ? ([0, 0.2, 1, 4][random.below(4)] as number) : 0;
    this.latencyMs = () => (random.below(100) / 100) * longestMs;
  }

  request(tab: Tab, name: string, options: LockOptions, grant: Waiter["grant"]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (tab.dead) return;
      const waiter: Waiter = { tab, grant, settle: resolve, fail: reject };
      const holder = this.#held.get(name);
      if (options.ifAvailable && holder !== undefined) {
        resolve(grant(null));
        return;
      }
      if (options.steal && holder !== undefined) {
        this.#held.delete(name);
        const news = () => holder.fail(new DOMException("stolen", "AbortError"));
        holder.tab.queueTask("lock is stolen", news, this.lockLossDelayMs());
      }
      const queue = this.#queue(name);
      if (options.steal) queue.unshift(waiter);
      else queue.push(waiter);
      options.signal?.addEventListener("abort", () => {
        const at = queue.indexOf(waiter);
        if (at < 0) return;
        queue.splice(at, 1);
        reject(new DOMException("aborted", "AbortError"));
      });
      this.#next(name);
    });
  }

  // Releases all locks of a dead tab.
  releaseLocks(tab: Tab): void {
    for (const [name, queue] of this.#queues) {
      const left = queue.filter((waiter) => waiter.tab !== tab);
      queue.splice(0, queue.length, ...left);
      if (this.#held.get(name)?.tab === tab) this.#held.delete(name);
      this.#next(name);
    }
    for (const endpoints of this.#endpoints.values()) {
      for (const endpoint of endpoints) if (endpoint.tab === tab) endpoints.delete(endpoint);
    }
  }

  channel(tab: Tab, name: string, onMessage: (message: unknown) => void): Channel {
    const endpoints = this.#endpoints.get(name) ?? new Set();
    this.#endpoints.set(name, endpoints);
    const own = { tab, onMessage };
    endpoints.add(own);
    const post = (message: unknown): void => {
      if (tab.dead || !endpoints.has(own)) return;
      // Code that the test has begun may go on while its tab is frozen. Its messages wait.
      if (tab.frozen) {
        tab.queueTask("frozen", () => post(message));
        return;
      }
      for (const endpoint of endpoints) {
        if (endpoint === own) continue;
        const copy = this.alterMessage(structuredClone(message));
        const receive = () => {
          if (endpoints.has(endpoint)) endpoint.onMessage(copy);
        };
        endpoint.tab.queueTask(`message of ${tab.name}`, receive, this.latencyMs());
      }
    };
    return { post, close: () => void endpoints.delete(own) };
  }

  #queue(name: string): Waiter[] {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    return queue;
  }

  #next(name: string): void {
    if (this.#held.has(name)) return;
    const waiter = this.#queue(name).shift();
    if (waiter === undefined) return;
    this.#held.set(name, waiter);
    waiter.tab.queueTask("lock", () => {
      if (this.#held.get(name) !== waiter) return;
      const held = waiter.grant({ name, mode: "exclusive" });
      const over = () => {
        if (this.#held.get(name) !== waiter) return;
        this.#held.delete(name);
        this.#next(name);
      };
      held.then(over, over);
      // Not at once: if the lock is stolen first, the request fails.
      held.then(() => waiter.settle(held), waiter.fail);
    });
  }
}

// ---- A tab --------------------------------------------------------------------------------------

export class Tab {
  readonly origin: Origin;
  readonly #process: SimulatedProcess;
  onDeath: () => void = () => {};
  #listeners = new Set<(event: LifecycleEvent) => void>();
  storage: TabStorage | undefined;
  opening = false; // whether it is reading the log
  openCount = 0; // how often it began to read the log
  // The URLs of its deferred modules. Undefined: its module is complete.
  deferredModuleUrls: DeferredModuleUrls | undefined;
  host: SharedHost | undefined;

  constructor(origin: Origin) {
    this.origin = origin;
    this.#process = origin.simulation.newProcess(`tab ${origin.tabs.length}`);
    origin.tabs.push(this);
  }

  get name(): string {
    return this.#process.name;
  }
  get dead(): boolean {
    return this.#process.dead;
  }
  get frozen(): boolean {
    return this.#process.frozen;
  }

  // Runs a task in this tab: never if the tab is dead, and later if it is frozen. Tasks with the
  // same source run in order.
  queueTask(source: string, task: () => void, delayMs = 0): void {
    this.#process.addTask(source, task, delayMs);
  }

  // Calls code whose timers belong to this tab.
  run<T>(code: () => T): T {
    return this.#process.run(code);
  }

  async open(options: Partial<SharedHostOptions> = {}): Promise<SharedHost> {
    this.host = await this.run(() => SharedHost.open(this.#hostOptions(options)));
    return this.host;
  }

  #hostOptions(options: Partial<SharedHostOptions>): SharedHostOptions {
    const { origin } = this;
    const locks = {
      request: (name: string, lockOptions: LockOptions, grant: Waiter["grant"]) =>
        origin.request(this, name, lockOptions, grant),
    } as unknown as LockManager;
    const lifecycle: PageLifecycle = {
      hidden: () => false,
      watch: (listener) => {
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
      },
    };
    return {
      name: "shop",
      exclusive: false,
      account: "",
      durability: "strict",
      clock: { now: () => Date.now() },
      writeError: undefined,
      locks,
      channels: (name, onMessage) => origin.channel(this, name, onMessage),
      lifecycle,
      waitMs: 200,
      ownerTimeoutMs: 100,
      signal: undefined,
      openLocal: (ownership) => this.#openLocal(lifecycle, ownership),
      ...options,
    };
  }

  async #openLocal(lifecycle: PageLifecycle, logOwnership: LogOwnership): Promise<LocalHost> {
    this.opening = true;
    this.openCount += 1;
    for (;;) {
      this.storage = new TabStorage(this, this.origin.disk(this));
      try {
        return await openHost({
          name: "shop",
          engine: await this.#newEngine(),
          storage: this.storage,
          deferredDelayMs: 20,
          lifecycle,
          logOwnership,
        });
      } catch (error) {
        const again = error instanceof StorageError && error.failure === "fenced";
        if (!again || !logOwnership.isOwner()) throw error;
      }
    }
  }

  // Loading the module takes a while.
  async #newEngine(): Promise<Engine> {
    const { simulation } = this.origin;
    await sleep(2 + simulation.random.below(20));
    const { deferredModuleUrls } = this;
    const options = deferredModuleUrls === undefined ? {} : { preload: [], deferredModuleUrls };
    const engine = await simulation.real(() => createEngine(options));
    const createEmptyEngine = engine.createEmptyEngine.bind(engine);
    engine.createEmptyEngine = () => simulation.real(createEmptyEngine);
    engine.configureAccount(accountFromOptions({}, "shop"), undefined);
    return engine;
  }

  // The process of the tab dies. Its code no longer runs. Its pending storage calls may or may not
  // take effect.
  kill(): void {
    this.#process.kill();
    this.onDeath();
    this.origin.releaseLocks(this);
  }

  // Freezes the tab without a lifecycle event.
  freeze(): void {
    this.#process.freeze();
  }

  thaw(): void {
    this.#process.thaw();
  }

  dispatch(event: LifecycleEvent): void {
    for (const listener of [...this.#listeners]) this.run(() => listener(event));
  }
}

// Reading and instantiating a module is not virtual.
const { load } = DeferredModule.prototype;
DeferredModule.prototype.load = function (this: DeferredModule) {
  const loadNow = () => load.call(this);
  return isSimulating() ? currentSimulation().real(loadNow) : loadNow();
};

// The storage of a tab. Each call and each response is a separate task, so that the tab can die or
// freeze in between.
class TabStorage implements LogStorage {
  readonly #tab: Tab;
  readonly #inner: LogStorage;
  readonly #running = new Set<Promise<void>>(); // one promise for each call that has not ended
  #closed = false;

  constructor(tab: Tab, inner: LogStorage) {
    this.#tab = tab;
    this.#inner = inner;
  }

  #task<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StorageError("closed", "The storage is closed."));
    const { disks, latencyMs } = this.#tab.origin;
    return new Promise<T>((resolve, reject) => {
      const respond = (task: () => void) =>
        this.#tab.queueTask("storage response", task, latencyMs());
      const ended = new Promise<void>((end) => {
        const begin = () => {
          const done = disks.run(call);
          done.then(
            (value) => respond(() => resolve(value)),
            (error) => respond(() => reject(error)),
          );
          void done.catch(() => {}).finally(end);
        };
        this.#tab.queueTask("storage call", begin, latencyMs());
      });
      this.#running.add(ended);
      void ended.then(() => this.#running.delete(ended));
    });
  }

  load: LogStorage["load"] = (reader) => this.#task(() => this.#inner.load(reader));
  readParts: LogStorage["readParts"] = (...a) => this.#task(() => this.#inner.readParts(...a));
  readSegments: LogStorage["readSegments"] = (...a) =>
    this.#task(() => this.#inner.readSegments(...a));
  readWhileInUse: LogStorage["readWhileInUse"] = (reader) =>
    this.#task(() => this.#inner.readWhileInUse(reader));
  claim: LogStorage["claim"] = (...a) => this.#task(() => this.#inner.claim(...a));
  readonly segmentBytes = 400; // small, so that many groups have several segments
  addSegments: LogStorage["addSegments"] = (...a) =>
    this.#task(() => this.#inner.addSegments(...a));
  putPart: LogStorage["putPart"] = (...a) => this.#task(() => this.#inner.putPart(...a));
  commitManifest: LogStorage["commitManifest"] = (...a) =>
    this.#task(() => this.#inner.commitManifest(...a));
  deleteParts: LogStorage["deleteParts"] = (...a) =>
    this.#task(() => this.#inner.deleteParts(...a));
  get reserve(): StorageReserve | undefined {
    const { reserve } = this.#inner;
    if (reserve === undefined) return undefined;
    return {
      size: () => this.#task(() => reserve.size()),
      resize: (entries) => this.#task(() => reserve.resize(entries)),
    };
  }
  deleteLog = () => this.#inner.deleteLog();
  // Waits for the end of all calls, but not until the tab has their responses.
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running]);
    await this.#inner.close();
  }
}
