// Simulates several tabs of one store in one process. A test can kill and freeze each tab.
//
// A tab has what a browser provides: Web Locks that are released when the tab dies, channels that
// deliver messages in order but with a delay, and lifecycle events. The files of all tabs are in
// one map.

import type { LocalHost, LogOwnership } from "../../../web/src/host/local-host.ts";
import type { LifecycleEvent, PageLifecycle } from "../../../web/src/host/page-lifecycle.ts";
import { accountFromOptions } from "../../../web/src/rest/account.ts";
import { type LogStorage, StorageError } from "../../../web/src/storage/log-storage.ts";
import { MemoryStorage } from "../../../web/src/storage/memory.ts";
import type { Channel } from "../../../web/src/tabs/channel.ts";
import { SharedHost, type SharedHostOptions } from "../../../web/src/tabs/shared-host.ts";
import { createEngine, type Engine } from "../../../web/src/wasm/engine.ts";
import { openHost } from "./open-host.ts";

// ---- Locks --------------------------------------------------------------------------------------

interface Waiter {
  tab: Tab;
  grant(lock: Lock | null): Promise<unknown>;
  settle(result: Promise<unknown>): void;
  fail(error: unknown): void;
}

// The locks of an origin. All are exclusive, because entitable uses no others.
export class Origin {
  readonly files = new Map<string, Uint8Array>();
  // Returns a tab's access to the stored files.
  disk: (tab: Tab) => LogStorage = () => new MemoryStorage(this.files);
  // Returns what a tab receives of a message, so that a canary can leave something out.
  alterMessage = (message: unknown) => message;
  // How long it takes until a tab learns that its lock was stolen. Other events may come first.
  lockLossDelayMs = () => 0;
  readonly tabs: Tab[] = [];
  readonly #held = new Map<string, Waiter>();
  readonly #queues = new Map<string, Waiter[]>();
  readonly #endpoints = new Map<string, Set<{ tab: Tab; onMessage(message: unknown): void }>>();

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
        const after = this.lockLossDelayMs();
        if (after === 0) holder.tab.queueTask(news);
        else holder.tab.queueTask(() => setTimeout(() => holder.tab.queueTask(news), after));
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
    return {
      post: (message) => {
        if (tab.dead || tab.frozen || !endpoints.has(own)) return;
        for (const endpoint of endpoints) {
          if (endpoint === own) continue;
          const copy = this.alterMessage(structuredClone(message));
          endpoint.tab.queueTask(() => {
            if (endpoints.has(endpoint)) endpoint.onMessage(copy);
          });
        }
      },
      close: () => void endpoints.delete(own),
    };
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
    waiter.tab.queueTask(() => {
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
  dead = false;
  frozen = false;
  onDeath: () => void = () => {};
  #deferredTasks: (() => void)[] = []; // tasks to run when it is no longer frozen
  #listeners = new Set<(event: LifecycleEvent) => void>();
  storage: TabStorage | undefined;
  opening = false; // whether it is reading the log
  host: SharedHost | undefined;

  constructor(origin: Origin) {
    this.origin = origin;
    origin.tabs.push(this);
  }

  // Runs a task in this tab: never if the tab is dead, and later if it is frozen.
  queueTask(task: () => void): void {
    setImmediate(() => this.#run(task));
  }

  #run(task: () => void): void {
    if (this.dead) return;
    if (this.frozen || this.#deferredTasks.length > 0) this.#deferredTasks.push(task);
    else task();
  }

  // Runs the deferred tasks one by one. Tasks that arrive meanwhile are run after them.
  #runDeferred(): void {
    setImmediate(() => {
      if (this.dead || this.frozen) return;
      this.#deferredTasks[0]?.();
      this.#deferredTasks.shift();
      if (this.#deferredTasks.length > 0) this.#runDeferred();
    });
  }

  async open(options: Partial<SharedHostOptions> = {}): Promise<SharedHost> {
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
    this.host = await SharedHost.open({
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
    });
    return this.host;
  }

  async #openLocal(lifecycle: PageLifecycle, logOwnership: LogOwnership): Promise<LocalHost> {
    this.opening = true;
    for (;;) {
      this.storage = new TabStorage(this, this.origin.disk(this));
      try {
        return await openHost({
          name: "shop",
          engine: await newEngine(),
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

  // The process of the tab dies. Its code no longer runs. Its pending storage calls may or may not
  // take effect.
  kill(): void {
    this.dead = true;
    this.onDeath();
    this.origin.releaseLocks(this);
  }

  // Freezes the tab without a lifecycle event.
  freeze(): void {
    this.frozen = true;
  }

  thaw(): void {
    if (!this.frozen) return;
    this.frozen = false;
    this.#runDeferred();
  }

  dispatch(event: LifecycleEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}

async function newEngine(): Promise<Engine> {
  const engine = await createEngine();
  engine.configureAccount(accountFromOptions({}, "shop"), undefined);
  return engine;
}

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
    return new Promise<T>((resolve, reject) => {
      const ended = new Promise<void>((end) => {
        this.#tab.queueTask(() => {
          const done = call();
          done.then(
            (value) => this.#tab.queueTask(() => resolve(value)),
            (error) => this.#tab.queueTask(() => reject(error)),
          );
          void done.catch(() => {}).finally(end);
        });
      });
      this.#running.add(ended);
      void ended.then(() => this.#running.delete(ended));
    });
  }

  load: LogStorage["load"] = (reader) => this.#task(() => this.#inner.load(reader));
  readParts: LogStorage["readParts"] = (...a) => this.#task(() => this.#inner.readParts(...a));
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
  deleteLog = () => this.#inner.deleteLog();
  // Waits for the end of all calls, but not until the tab has their responses.
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running]);
    await this.#inner.close();
  }
}
