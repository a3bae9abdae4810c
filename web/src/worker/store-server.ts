// The worker's side of a store in a worker: opens the store as a page would, and serves the calls
// that the page sends (worker-host.ts).

import type { LastSeenMarker } from "../host/eviction-detector.ts";
import { estimate, locks, type PageServices } from "../open/environment.ts";
import { openHost } from "../open/open-host.ts";
import type { Settings } from "../open/options.ts";
import { CallServer, workerServerPolicy } from "../tabs/call-server.ts";
import { type Channel, portChannel } from "../tabs/channel.ts";
import {
  errorToWire,
  type FromWorker,
  protocolVersion,
  type ToWorker,
  workerName,
} from "../tabs/messages.ts";
import { holdClientLock, type LockRequest } from "../tabs/web-locks.ts";
import type { Host } from "../transport.ts";
import { buildId } from "../wasm/module.ts";
import { RemotePageLifecycle } from "./remote-page-lifecycle.ts";
import type { TransferableSettings } from "./worker-host.ts";

/** @internal */
export interface WorkerEnvironment {
  open(settings: Settings, pageServices: PageServices): Promise<Host>;
  locks: LockManager | undefined;
}

/** Serves one store to the page at the other end of the port. */
export function connect(port: MessagePort): void {
  serveStore(port, { open: openHost, locks: locks() });
}

/** @internal */
export function serveStore(port: MessagePort, environment: WorkerEnvironment): void {
  new StoreServer(port, environment).start();
}

class StoreServer {
  readonly #environment: WorkerEnvironment;
  readonly #channel: Channel;
  readonly #lifecycle = new RemotePageLifecycle();
  #server: CallServer | undefined;
  #host: Host | undefined;
  #holdLock: () => void = () => {};
  #lockRequest: LockRequest | undefined;
  #suspended = false;
  #resumeCount = 0;
  #resolvePersist: (granted: boolean) => void = () => {};
  #resolveLastSeen: (lastSeen: Date | undefined) => void = () => {};
  readonly #marker: LastSeenMarker = {
    lastSeen: () =>
      new Promise((resolve) => {
        this.#resolveLastSeen = resolve;
        this.#post({ type: "get-last-seen" });
      }),
    set: (at) => this.#post({ type: "set-last-seen", at, resumeCount: this.#resumeCount }),
    clear: () => this.#post({ type: "clear-last-seen" }),
  };

  constructor(port: MessagePort, environment: WorkerEnvironment) {
    this.#environment = environment;
    this.#channel = portChannel(port, (m) => this.#receive(m as ToWorker<TransferableSettings>));
    port.addEventListener("close", () => this.#shutDown());
  }

  start(): void {
    this.#post({ type: "started", entitable: protocolVersion, build: buildId });
  }

  #receive(message: ToWorker<TransferableSettings>): void {
    switch (message.type) {
      case "open":
        void this.#open(message);
        break;
      case "lifecycle":
        this.#onLifecycleEvent(message);
        break;
      case "persisted":
        this.#resolvePersist(message.granted);
        break;
      case "last-seen":
        this.#resolveLastSeen(message.lastSeen);
        break;
      case "sync":
        void this.#startSync(message);
        break;
      case "close":
        void this.#close();
        break;
      default:
        this.#server?.receive(message);
    }
  }

  async #open({
    settings,
    hidden,
    lock,
  }: ToWorker<TransferableSettings> & { type: "open" }): Promise<void> {
    this.#lifecycle.update(hidden);
    this.#hold(settings.name, lock);
    try {
      this.#host = await this.#environment.open(
        {
          ...settings,
          thread: "inline",
          clock: { now: () => Date.now() },
          signal: undefined, // the page terminates the worker instead
          onWarning: (warning) => this.#post({ type: "warning", warning }),
        },
        {
          lifecycle: this.#lifecycle,
          persist: () => this.#persist(),
          estimate,
          lastSeenMarker: () => this.#marker,
        },
      );
      this.#server = new CallServer(this.#host, workerName, this.#channel, workerServerPolicy);
    } catch (error) {
      this.#post({ type: "failed", error: errorToWire(error) });
    }
  }

  // Holds a lock as long as this worker exists. The page waits for the lock, and gets it when the
  // worker has ended. While the page is suspended, the worker does not hold the lock and the page
  // does not wait for it.
  #hold(store: string, lock: string): void {
    const { locks } = this.#environment;
    if (locks === undefined) return;
    this.#holdLock = () => {
      const resumeCount = this.#resumeCount;
      this.#lockRequest = holdClientLock(locks, store, lock, () =>
        this.#post({ type: "lock-held", resumeCount }),
      );
    };
    this.#holdLock();
  }

  #onLifecycleEvent({
    event,
    hidden,
  }: ToWorker<TransferableSettings> & { type: "lifecycle" }): void {
    if (event === "suspend") {
      this.#suspended = true;
      this.#lockRequest?.end();
    } else if (event === "resume" && this.#suspended) {
      this.#suspended = false;
      this.#resumeCount += 1;
      this.#holdLock();
    }
    this.#lifecycle.update(hidden, event);
  }

  // Loads the code of sync, which is a script of its own: most stores are not synced. It registers
  // the function that serves the port, because a bundler may make it a script without exports.
  async #startSync({ url, port }: ToWorker<TransferableSettings> & { type: "sync" }) {
    try {
      await import(/* @vite-ignore */ /* webpackIgnore: true */ url);
      const { entitableSync } = globalThis as { entitableSync?: (...args: unknown[]) => void };
      if (entitableSync === undefined) throw new Error(`${url} is not the script of sync.`);
      entitableSync(port, this.#host);
    } catch (error) {
      port.postMessage({ failed: errorToWire(error) });
    }
  }

  #persist(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#resolvePersist = resolve;
      this.#post({ type: "persist" });
    });
  }

  async #close(): Promise<void> {
    let failure: unknown;
    try {
      await this.#host?.close();
    } catch (error) {
      failure = error;
    }
    this.#post({ type: "closed", error: failure === undefined ? undefined : errorToWire(failure) });
  }

  // Called when the port was closed, because the page closed the store or has ended.
  #shutDown(): void {
    this.#server?.close();
    this.#lockRequest?.end();
    this.#host?.close().catch(() => {});
  }

  #post(message: FromWorker): void {
    this.#channel.post(message);
  }
}
