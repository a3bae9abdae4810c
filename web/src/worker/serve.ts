// The worker's side of a store that a page has in a worker (worker-host.ts): opens it as a page would, and answers the page.

import type { Trace } from "../host/eviction.ts";
import { estimate, locks, type Surroundings } from "../opening/environment.ts";
import { openHost } from "../opening/open-host.ts";
import type { Settings } from "../opening/options.ts";
import { CallServer, forThePage } from "../tabs/call-server.ts";
import { type Channel, portChannel } from "../tabs/channel.ts";
import {
  type FromWorker,
  protocolVersion,
  type ToWorker,
  toWire,
  workerName,
} from "../tabs/messages.ts";
import { type LockClaim, live } from "../tabs/store-lock.ts";
import type { Host } from "../transport.ts";
import { buildId } from "../wasm/module.ts";
import { ToldLife } from "./told-life.ts";
import type { SentSettings } from "./worker-host.ts";

/** @internal */
export interface Means {
  open(settings: Settings, around: Surroundings): Promise<Host>;
  locks: LockManager | undefined;
}

/** Serves one store to the page at the other end of the port. */
export function connect(port: MessagePort): void {
  serveStore(port, { open: openHost, locks: locks() });
}

/** @internal */
export function serveStore(port: MessagePort, means: Means): void {
  new StoreServer(port, means).start();
}

class StoreServer {
  readonly #means: Means;
  readonly #channel: Channel;
  readonly #life = new ToldLife();
  #server: CallServer | undefined;
  #host: Host | undefined;
  #holdLock: () => void = () => {};
  #held: LockClaim | undefined;
  #suspended = false;
  #wakes = 0;
  #persisted: (granted: boolean) => void = () => {};
  #found: (lastSeen: Date | undefined) => void = () => {};
  readonly #trace: Trace = {
    lastSeen: () =>
      new Promise((resolve) => {
        this.#found = resolve;
        this.#post({ type: "find-trace" });
      }),
    leave: (at) => this.#post({ type: "leave-trace", at, wakes: this.#wakes }),
    wipe: () => this.#post({ type: "wipe-trace" }),
  };

  constructor(port: MessagePort, means: Means) {
    this.#means = means;
    this.#channel = portChannel(port, (m) => this.#receive(m as ToWorker<SentSettings>));
    port.addEventListener("close", () => this.#end());
  }

  start(): void {
    this.#post({ type: "started", entitable: protocolVersion, build: buildId });
  }

  #receive(message: ToWorker<SentSettings>): void {
    switch (message.type) {
      case "open":
        void this.#open(message);
        break;
      case "life":
        this.#onPage(message);
        break;
      case "persisted":
        this.#persisted(message.granted);
        break;
      case "trace":
        this.#found(message.lastSeen);
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
  }: ToWorker<SentSettings> & { type: "open" }): Promise<void> {
    this.#life.tell(hidden);
    this.#hold(settings.name, lock);
    try {
      this.#host = await this.#means.open(
        {
          ...settings,
          thread: "inline",
          clock: { now: () => Date.now() },
          signal: undefined, // the page ends the worker instead
          onWarning: (warning) => this.#post({ type: "warning", warning }),
        },
        {
          life: this.#life,
          persist: () => this.#persist(),
          estimate,
          traceOf: () => this.#trace,
        },
      );
      this.#server = new CallServer(this.#host, workerName, this.#channel, forThePage);
    } catch (error) {
      this.#post({ type: "failed", error: toWire(error) });
    }
  }

  // The lock of this worker's life. The page, which waits for it, must not do so while it is frozen, nor this worker hold it.
  #hold(store: string, lock: string): void {
    const { locks } = this.#means;
    if (locks === undefined) return;
    this.#holdLock = () => {
      const wakes = this.#wakes;
      this.#held = live(locks, store, lock, () => this.#post({ type: "holds", wakes }));
    };
    this.#holdLock();
  }

  #onPage({ event, hidden }: ToWorker<SentSettings> & { type: "life" }): void {
    if (event === "suspend") {
      this.#suspended = true;
      this.#held?.end();
    } else if (event === "resume" && this.#suspended) {
      this.#suspended = false;
      this.#wakes += 1;
      this.#holdLock();
    }
    this.#life.tell(hidden, event);
  }

  #persist(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#persisted = resolve;
      this.#post({ type: "persist" });
    });
  }

  async #close(): Promise<void> {
    let lost: unknown;
    try {
      await this.#host?.close();
    } catch (error) {
      lost = error;
    }
    this.#post({ type: "closed", error: lost === undefined ? undefined : toWire(lost) });
  }

  // The page has closed the store, or is gone.
  #end(): void {
    this.#server?.close();
    this.#held?.end();
    this.#host?.close().catch(() => {});
  }

  #post(message: FromWorker): void {
    this.#channel.post(message);
  }
}
