// Connects the clients that listen to a store. The code that serves them (ChangeListeners) is
// loaded with the first request, because most pages have no live queries and no change feed.

import { StorageError } from "../storage/log-storage.ts";
import type { ChangeListener, ListenerConnection } from "../transport.ts";
import { nextRetryMs } from "../util/back-off.ts";
import { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import { PartsNeeded } from "../wasm/engine.ts";
import type {
  ChangeListeners,
  ChangeListenersOptions,
  ListenerEnvironment,
} from "./change-listeners.ts";

interface ListenerLoaderOptions extends ChangeListenersOptions {
  // Called if the code cannot be loaded. Resolves to the error to report.
  errorOfMissingCode(cause: unknown): Promise<Error>;
}

type Request = Parameters<ListenerConnection["send"]>;

export const listenerEnvironment: ListenerEnvironment = {
  PartsNeeded,
  requestKind,
  responseKind,
  nextRetryMs,
  mayRetry: (error) => error instanceof StorageError && !error.isFatal,
  inMicrotask,
  toError,
};

// A client whose requests wait for the code.
interface WaitingClient {
  readonly listener: ChangeListener;
  readonly requests: Request[];
  connect(loaded: ChangeListeners): void;
}

export class ListenerLoader {
  readonly #options: ListenerLoaderOptions;
  readonly #waiting = new Set<WaitingClient>();
  #hasBegun = false;
  #loaded: ChangeListeners | undefined;

  constructor(options: ListenerLoaderOptions) {
    this.#options = options;
  }

  // `clientId`: in the calls of that client's writes, which are local to it.
  listen(listener: ChangeListener, clientId?: Uint8Array): ListenerConnection {
    if (this.#loaded !== undefined) return this.#loaded.listen(listener, clientId);
    let connection: ListenerConnection | undefined;
    const requests: Request[] = [];
    const connect = (loaded: ChangeListeners) => {
      const opened = loaded.listen(listener, clientId);
      for (const request of requests) if (this.#waiting.has(client)) opened.send(...request);
      connection = opened; // only now, so that later requests do not overtake these
      if (!this.#waiting.delete(client)) opened.close();
    };
    const client: WaitingClient = { listener, requests, connect };
    this.#waiting.add(client);
    return {
      send: (request, respond, fail) => {
        if (connection !== undefined) connection.send(request, respond, fail);
        else if (this.#waiting.has(client)) requests.push([request.slice(), respond, fail]);
        if (!this.#hasBegun) void this.#load();
      },
      close: () => {
        this.#waiting.delete(client);
        connection?.close();
      },
    };
  }

  // Does what the methods of ChangeListeners do.
  reportStored(): void {
    this.#loaded?.reportStored();
  }
  openFeeds(): void {
    this.#loaded?.openFeeds();
  }
  closeAll(error: Error): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { listener } of waiting) listener.onClosed(error);
    this.#loaded?.closeAll(error);
  }

  // If this fails, the next request tries again.
  async #load(): Promise<void> {
    this.#hasBegun = true;
    try {
      const { ChangeListeners } = await import("./change-listeners.ts");
      this.#loaded = new ChangeListeners(this.#options, listenerEnvironment);
    } catch (cause) {
      const error = await this.#options.errorOfMissingCode(cause);
      this.#hasBegun = false;
      for (const { requests } of this.#waiting)
        for (const [, , fail] of requests.splice(0)) fail(error);
      return;
    }
    for (const { connect } of this.#waiting) connect(this.#loaded);
  }
}
