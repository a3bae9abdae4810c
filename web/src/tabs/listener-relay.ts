// Connects the listening client of a tab to the engine that serves the tab: its own engine, or that
// of another tab. When the engine changes, the client opens its watches again.

import type { ChangeListener, ListenerConnection, Transport } from "../transport.ts";

export class ListenerRelay {
  #source: Pick<Transport, "listen">;
  #listener: ChangeListener | undefined;
  #connection: ListenerConnection | undefined;

  constructor(source: Pick<Transport, "listen">) {
    this.#source = source;
  }

  // REQUIRES: the last connection is closed.
  listen(listener: ChangeListener): ListenerConnection {
    this.#listener = listener;
    this.#connection = this.#connect(listener);
    return {
      send: (request, respond, fail) => this.#connection?.send(request, respond, fail),
      close: () => {
        if (this.#listener !== listener) return;
        this.#listener = undefined;
        this.#connection?.close();
      },
    };
  }

  // Called when another engine serves the tab.
  setSource(source: Pick<Transport, "listen">): void {
    if (source === this.#source) return;
    const listener = this.#listener;
    this.#source = source;
    if (listener === undefined) return;
    const previous = this.#connection;
    this.#connection = undefined; // so that nothing else from there is passed on
    previous?.close();
    this.#connection = this.#connect(listener);
    listener.onReset();
  }

  // Called when the store closes.
  end(error: Error): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onClosed(error);
  }

  #connect(listener: ChangeListener): ListenerConnection {
    const source = this.#source;
    const isCurrent = () => this.#source === source && this.#listener === listener;
    return source.listen({
      onChanges: (changes) => {
        if (isCurrent()) listener.onChanges(changes);
      },
      onChangesEnd: () => {
        if (isCurrent()) listener.onChangesEnd();
      },
      onReset: () => {
        if (isCurrent()) listener.onReset();
      },
      onClosed: (error) => {
        if (isCurrent()) this.end(error);
      },
    });
  }
}
