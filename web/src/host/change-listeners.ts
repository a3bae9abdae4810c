// The clients that listen to a store in this thread: live queries and readers of the change feed,
// of this tab and of others. Takes what has changed from the engine, and passes it to them.

import type { ChangeListener, ListenerConnection } from "../transport.ts";
import { requestKind, responseKind } from "../util/engine-message-kinds.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import type { PartLoader } from "./part-loader.ts";

export interface ChangeListenersOptions {
  engine: Pick<Engine, "listen" | "onChange" | "runBeforeNextChange" | "isComplete">;
  parts: Pick<PartLoader, "loadAndRetry">;
}

// Request messages (core/rpc/LAYOUT.md).
const closeRequest = Uint8Array.of(requestKind.closeListeners, 1, 0, 0, 16, ...zeros(11));
const takeRequests = [0, 1].map((isLast) =>
  Uint8Array.of(requestKind.takeChanges, 1, 0, 0, 20, ...zeros(11), isLast, 0, 0, 0),
);

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}

export class ChangeListeners {
  readonly #options: ChangeListenersOptions;
  readonly #clients = new Map<number, ChangeListener>(); // by number
  #lastNumber = 0;
  #isTakeDue = false;

  constructor(options: ChangeListenersOptions) {
    this.#options = options;
  }

  listen(listener: ChangeListener): ListenerConnection {
    const client = ++this.#lastNumber;
    this.#clients.set(client, listener);
    this.#options.engine.onChange = this.#onChange;
    this.#onChange(); // changes that were recorded for earlier clients were perhaps not taken
    return {
      send: (request, respond, fail) => this.#send(client, request, respond, fail),
      close: () => this.#close(client),
    };
  }

  // Called when the store closes.
  closeAll(error: Error): void {
    this.#options.engine.onChange = undefined;
    const listeners = [...this.#clients.values()];
    this.#clients.clear();
    for (const listener of listeners) listener.onClosed(error);
  }

  // The changes are taken at the end of this turn of the event loop, or before the next change if
  // that is earlier: what has changed can only be read in between. Writes that are made in one turn
  // then have one notification, but each has a batch of its own in the change feed.
  readonly #onChange = () => {
    if (this.#isTakeDue) return;
    this.#isTakeDue = true;
    this.#options.engine.runBeforeNextChange(this.#takeIfDue);
    inMicrotask(() => {
      this.#takeIfDue();
      for (const listener of [...this.#clients.values()]) listener.onChangesEnd();
    });
  };

  readonly #takeIfDue = () => {
    if (!this.#isTakeDue) return;
    this.#isTakeDue = false;
    try {
      if (!this.#take()) this.#resetAll();
    } catch (cause) {
      this.closeAll(toError(cause)); // the engine broke
    }
  };

  // Returns false if memory ran out. The changes are then lost. As long as the engine is not
  // complete, no client has opened a listener.
  #take(): boolean {
    if (!this.#options.engine.isComplete) return true;
    let left = this.#clients.size;
    for (const [client, listener] of [...this.#clients]) {
      const isLast = --left === 0;
      const changes = this.#options.engine.listen(
        client,
        takeRequests[isLast ? 1 : 0] as Uint8Array,
      );
      if (changes instanceof PartsNeeded || changes[0] !== responseKind.changes) return false;
      listener.onChanges(changes);
    }
    return true;
  }

  #resetAll(): void {
    for (const client of this.#clients.keys()) this.#options.engine.listen(client, closeRequest);
    for (const listener of [...this.#clients.values()]) listener.onReset();
  }

  #send(
    client: number,
    request: Uint8Array,
    respond: (response: Uint8Array) => void,
    fail: (error: Error) => void,
  ): void {
    if (!this.#clients.has(client)) return;
    const { engine, parts } = this.#options;
    try {
      const response = engine.listen(client, request);
      if (!(response instanceof PartsNeeded)) {
        respond(response);
        return;
      }
      const copy = request.slice();
      // Responds as soon as the engine does: changes that it returns later refer to the response.
      const retry = () => {
        if (!this.#clients.has(client)) return undefined;
        const again = engine.listen(client, copy);
        if (again instanceof PartsNeeded) return again;
        respond(again);
        return undefined;
      };
      parts.loadAndRetry<undefined>(response, retry).catch((error: unknown) => {
        if (this.#clients.has(client)) fail(toError(error));
      });
    } catch (error) {
      fail(toError(error));
    }
  }

  #close(client: number): void {
    if (!this.#clients.delete(client)) return;
    const { engine } = this.#options;
    if (this.#clients.size === 0) engine.onChange = undefined;
    if (!engine.isComplete) return;
    try {
      engine.listen(client, closeRequest);
    } catch {
      // the engine broke
    }
  }
}
