// The owner's side of a client that listens: passes the client's requests to the host, and what the
// host says to the client, in that order.
//
// At most one message with changes is on its way: the client may be slow, or frozen. What follows
// waits here until the client has read that message. If too much waits, the client's watches and
// feeds are closed, and the client begins again once it reads. This tab may write for long without
// receiving a message, so a client is only called slow after a timer, and then a later task.

import type { ChangeListener, ListenerConnection, Transport } from "../transport.ts";
import { requestKind } from "../util/engine-message-kinds.ts";
import { yieldToEventLoop } from "../util/event-loop.ts";
import { type CallResponse, errorToWire, type RemoteCall } from "./messages.ts";

export interface ListenerServerOptions {
  host: Pick<Transport, "listen">;
  client: Uint8Array | undefined; // the client's id, if it has another one than the host
  leavesToNextOwner(error: unknown): boolean; // ServerPolicy
  onNews(): void; // takeNews() may return something
}

const readMsMax = 5000; // after this time, a client that has not read a message is slow
const waitingBytesMax = 8 * 1024 * 1024; // if the client is slow
const waitingBytesHardMax = 64 * 1024 * 1024; // otherwise

export class ListenerServer {
  readonly #options: ListenerServerOptions;
  #connection: ListenerConnection | undefined;
  #resets = 0; // how often the client was told that its watches are gone
  #isUnread = false; // the client was sent changes, and has not reported that it has read them
  #isSlow = false; // it has not done so for a long time
  #slowTimer: ReturnType<typeof setTimeout> | undefined;
  #news: CallResponse[] = [];
  #bytes = 0; // of the changes in #news, and of past changes

  constructor(options: ListenerServerOptions) {
    this.#options = options;
  }

  // Handles a call of the kind "listen".
  receive({ number, request, resets }: RemoteCall): void {
    const bytes = request as Uint8Array;
    if (bytes[0] === requestKind.closeListeners) {
      this.close();
      return;
    }
    if (resets !== this.#resets) return;
    const reject = (error: unknown) => {
      if (!this.#options.leavesToNextOwner(error)) this.#add({ number, error: errorToWire(error) });
    };
    try {
      this.#connection ??= this.#connect();
      const isPast = bytes[0] === requestKind.readPast;
      const respond = (value: Uint8Array) => {
        if (isPast) this.#bytes += value.length;
        this.#add({ number, value: value.slice() });
        if (isPast) this.#limitWaiting();
      };
      this.#connection.send(bytes, respond, reject);
    } catch (error) {
      reject(error);
    }
  }

  #connect(): ListenerConnection {
    const { host, client } = this.#options;
    const listener: ChangeListener = {
      onChanges: (changes) => {
        this.#bytes += changes.length;
        this.#add({ changes: changes.slice() });
      },
      onChangesEnd: () => this.#limitWaiting(),
      onReset: () => this.#reset(),
      onClosed: (error) => {
        this.#connection = undefined;
        if (!this.#options.leavesToNextOwner(error)) this.#add({ closed: errorToWire(error) });
      },
    };
    return host.listen(listener, client);
  }

  #limitWaiting(): void {
    const bytesMax = this.#isSlow ? waitingBytesMax : waitingBytesHardMax;
    if (!this.#isUnread || this.#bytes <= bytesMax) return;
    this.close();
    this.#reset();
  }

  // What is left to say no longer matters.
  #reset(): void {
    this.#dropNews();
    this.#resets += 1;
    this.#add({ reset: true });
  }

  // The client is still told of resets, because it counts them.
  #dropNews(): void {
    this.#news = this.#news.filter((news) => "reset" in news);
    this.#bytes = 0;
  }

  #add(news: CallResponse): void {
    this.#news.push(news);
    if (!this.#isUnread) this.#options.onNews();
  }

  // Returns what can be sent to the client now.
  takeNews(): CallResponse[] {
    if (this.#isUnread) return [];
    this.#isUnread = this.#news.some((news) => "changes" in news);
    if (this.#isUnread) this.#startTimer();
    this.#bytes = 0;
    return this.#news.splice(0);
  }

  // The client may have reported while this tab was busy: its message is received before a task
  // that begins after the timer.
  #startTimer(): void {
    const timer = setTimeout(async () => {
      await yieldToEventLoop();
      if (this.#slowTimer !== timer) return;
      this.#isSlow = true;
      this.#limitWaiting();
    }, readMsMax);
    (timer as { unref?(): void }).unref?.(); // it must not keep a Node process alive
    this.#slowTimer = timer;
  }

  #stopTimer(): void {
    clearTimeout(this.#slowTimer);
    this.#slowTimer = undefined;
  }

  // Called when the client has read the changes that it was sent.
  onRead(): void {
    this.#isUnread = this.#isSlow = false;
    this.#stopTimer();
    if (this.#news.length > 0) this.#options.onNews();
  }

  // Closes all watches and feeds of the client, which may open others.
  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#dropNews();
  }

  // Must be called when the session ends.
  end(): void {
    this.close();
    this.#stopTimer();
  }
}
