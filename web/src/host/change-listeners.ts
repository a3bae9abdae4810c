// The clients that listen to a store in this thread: live queries and readers of the change feed,
// of this tab and of others. Takes what has changed from the engine, and passes it to them.

import type { ChangeListener, ListenerConnection } from "../transport.ts";
import { requestKind } from "../util/engine-message-kinds.ts";
import { inMicrotask } from "../util/event-loop.ts";
import { toError } from "../util/platform-objects.ts";
import { type Engine, PartsNeeded } from "../wasm/engine.ts";
import type { PartLoader } from "./part-loader.ts";

export interface ChangeListenersOptions {
  engine: Pick<
    Engine,
    "listen" | "onChange" | "runBeforeNextChange" | "runBeforeOtherCalls" | "hasDeferredModule"
  >;
  parts: Pick<PartLoader, "loadAndRetry">;
  // Resolves to the error to report for a request that failed while it waited for parts or for a
  // deferred module.
  errorOfRead(error: unknown): Promise<Error>;
}

interface Client {
  readonly listener: ChangeListener;
  number: number; // another one after each reset; requests with an earlier one get no response
  hasNews: boolean; // onChanges() was called, and onChangesEnd() was not
}

const closeRequest = requestMessage(requestKind.closeListeners);
const takeNext = requestMessage(requestKind.takeChanges, 0);
const takeLast = requestMessage(requestKind.takeChanges, 1);

// Changes are taken after so many writes of one turn of the event loop, because the engine keeps a
// copy of each row that they replace until then.
const writesPerTake = 16;
// Where the text of a response to "take changes" begins if there are neither deltas nor batches:
// after the header, the sequence and five counts.
const textAtIfEmpty = 16 + 8 + 5 * 4;

function textAt(message: Uint8Array): number {
  return new DataView(message.buffer, message.byteOffset).getUint32(4, true);
}

// Returns a request message (core/rpc/LAYOUT.md).
function requestMessage(kind: number, ...words: number[]): Uint8Array {
  const header = [kind | (1 << 8), 16 + 4 * words.length, 0, 0];
  return new Uint8Array(Uint32Array.of(...header, ...words).buffer);
}

export class ChangeListeners {
  readonly #options: ChangeListenersOptions;
  readonly #clients = new Map<number, Client>(); // by number
  #lastNumber = 0;
  #changes = 0; // how many calls may have changed something since changes were taken

  constructor(options: ChangeListenersOptions) {
    this.#options = options;
  }

  listen(listener: ChangeListener): ListenerConnection {
    const client: Client = { listener, number: ++this.#lastNumber, hasNews: false };
    this.#clients.set(client.number, client);
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
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { listener } of clients) listener.onClosed(error);
  }

  // The changes are taken at the end of this turn of the event loop, or earlier: before the engine
  // is called otherwise than by single writes, and before the 17th of them. Writes that are made in
  // one turn then have one notification, but each has a batch of its own in the change feed.
  readonly #onChange = () => {
    const { engine } = this.#options;
    if (++this.#changes === writesPerTake) engine.runBeforeNextChange(this.#takeIfDue);
    if (this.#changes > 1) return;
    engine.runBeforeOtherCalls(this.#takeIfDue);
    inMicrotask(() => {
      this.#takeIfDue();
      for (const client of [...this.#clients.values()]) {
        if (!client.hasNews) continue;
        client.hasNews = false;
        client.listener.onChangesEnd();
      }
    });
  };

  readonly #takeIfDue = () => {
    if (this.#changes === 0) return;
    this.#changes = 0;
    try {
      try {
        this.#take();
      } catch (error) {
        if ((error as { code?: unknown }).code !== "OutOfMemory") throw error;
        this.#resetAll();
      }
    } catch (cause) {
      this.closeAll(toError(cause)); // the engine broke
    }
  };

  // Throws OutOfMemory if memory ran out. The changes are then lost. As long as the engine has not
  // loaded the module for it, no client has opened a listener. Clients that no change concerns are
  // not woken.
  #take(): void {
    if (!this.#options.engine.hasDeferredModule("live")) return;
    let left = this.#clients.size;
    for (const client of [...this.#clients.values()]) {
      const changes = this.#listen(client, --left === 0 ? takeLast : takeNext);
      if (textAt(changes) === textAtIfEmpty) continue;
      client.hasNews = true;
      client.listener.onChanges(changes);
    }
  }

  // Closes all watches and feeds, so that the core forgets what could not be taken.
  #resetAll(): void {
    const clients = [...this.#clients.values()];
    for (const client of clients) this.#listen(client, closeRequest);
    for (const client of clients.slice(-1)) this.#listen(client, takeLast);
    this.#clients.clear();
    for (const client of clients) {
      client.number = ++this.#lastNumber;
      client.hasNews = false;
      this.#clients.set(client.number, client);
    }
    for (const { listener } of clients) listener.onReset();
  }

  // REQUIRES: the request needs no parts.
  #listen({ number }: Client, request: Uint8Array): Uint8Array {
    return this.#options.engine.listen(number, request) as Uint8Array;
  }

  #send(
    client: Client,
    request: Uint8Array,
    respond: (response: Uint8Array) => void,
    fail: (error: Error) => void,
  ): void {
    const { number } = client;
    const isCurrent = () => this.#clients.has(number);
    if (!isCurrent()) return;
    const { engine, parts } = this.#options;
    try {
      const response = engine.listen(number, request); // may take changes first, and reset clients
      if (!isCurrent()) return;
      if (!(response instanceof PartsNeeded)) {
        respond(response);
        return;
      }
      const copy = request.slice();
      // Responds as soon as the engine does: changes that it returns later refer to the response.
      const retry = () => {
        if (!isCurrent()) return undefined;
        const again = engine.listen(number, copy);
        if (again instanceof PartsNeeded) return again;
        if (isCurrent()) respond(again);
        return undefined;
      };
      parts.loadAndRetry<undefined>(response, retry).catch(async (error: unknown) => {
        if (!isCurrent()) return;
        const reason = await this.#options.errorOfRead(error);
        if (isCurrent()) fail(reason);
      });
    } catch (error) {
      fail(toError(error));
    }
  }

  #close(client: Client): void {
    if (!this.#clients.delete(client.number)) return;
    const { engine } = this.#options;
    if (this.#clients.size === 0) engine.onChange = undefined;
    if (!engine.hasDeferredModule("live")) return;
    try {
      this.#listen(client, closeRequest);
    } catch {
      // the engine broke
    }
  }
}
