// Calls over a port, in both directions: between a page and the code of sync in its worker.

import { StoreError } from "../errors.ts";
import { errorFromWire, errorToWire, type WireError } from "../tabs/messages.ts";

/** By name. Arguments and results must be such that a port can send them. */
export type CallHandlers = Readonly<Record<string, (...args: never[]) => unknown>>;

interface CallMessage {
  readonly call: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

type PortMessage =
  | CallMessage
  | { readonly result: number; readonly value?: unknown; readonly error?: WireError }
  /** The other end cannot answer calls (worker/store-server.ts). */
  | { readonly failed: WireError };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const noResult = 0; // the number of calls without a result

export class PortCalls {
  readonly #port: MessagePort;
  readonly #handlers: CallHandlers;
  readonly #waiting = new Map<number, Waiting>();
  #calls = noResult;
  #closedWith: Error | undefined;

  constructor(port: MessagePort, handlers: CallHandlers) {
    this.#port = port;
    this.#handlers = handlers;
    port.onmessage = ({ data }) => this.#receive(data as PortMessage);
  }

  /** Rejects with the error of the handler at the other end, or with that of close(). */
  call<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closedWith) throw this.#closedWith;
      this.#calls += 1;
      this.#port.postMessage({ call: this.#calls, name, args } satisfies PortMessage);
      this.#waiting.set(this.#calls, { resolve: resolve as Waiting["resolve"], reject });
    });
  }

  /** Calls a handler that has no result, and does not fail. */
  tell(name: string, ...args: readonly unknown[]): void {
    if (!this.#closedWith)
      this.#port.postMessage({ call: noResult, name, args } satisfies PortMessage);
  }

  /** Rejects the calls that wait, and all later ones. */
  close(error: Error): void {
    if (this.#closedWith) return;
    this.#closedWith = error;
    this.#port.close();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #receive(message: PortMessage): void {
    if ("failed" in message) this.close(errorFromWire(message.failed));
    else if ("call" in message) void this.#run(message);
    else {
      const waiting = this.#waiting.get(message.result);
      this.#waiting.delete(message.result);
      if (message.error) waiting?.reject(errorFromWire(message.error));
      else waiting?.resolve(message.value);
    }
  }

  async #run({ args, call, name }: CallMessage): Promise<void> {
    const handler = this.#handlers[name] as ((...args: readonly unknown[]) => unknown) | undefined;
    try {
      const value = await handler?.(...args);
      if (call !== noResult) this.#post({ result: call, value });
    } catch (error) {
      if (call === noResult) throw error;
      this.#post({ result: call, error: errorToWire(error) });
    }
  }

  #post(message: PortMessage): void {
    if (!this.#closedWith) this.#port.postMessage(message);
  }
}

export const syncStoppedError = (): StoreError =>
  new StoreError("StoreClosed", "Sync was stopped.", { hint: "Call startSync() again." });
