// What a tab knows of an owner elsewhere, and hears from it.

import type { Emitter } from "../host/emitter.ts";
import type { StoreEvents, StoreStatus } from "../types.ts";
import type { CallClient } from "./call-client.ts";
import { fromWire, type Progress, type ToClient, type WireError } from "./messages.ts";
import { OwnerWatch } from "./owner-watch.ts";
import type { Peers } from "./peers.ts";

export interface FollowerOptions {
  client: CallClient;
  peers: Peers;
  events: Emitter<StoreEvents>;
  silenceMs: number; // of an owner, before another tab takes its place
  onReady(): void; // it answers now
  onSilent(): void;
  status(): StoreStatus; // as this tab says it
}

export class Follower {
  readonly #o: FollowerOptions;
  readonly #watch: OwnerWatch;
  #owner: string | undefined; // its name in messages
  #ready = false; // it answers
  status: StoreStatus | undefined; // as the last owner said it, this tab included

  constructor(options: FollowerOptions) {
    this.#o = options;
    this.#watch = new OwnerWatch({
      silenceMs: options.silenceMs,
      due: () => !this.#ready || options.client.open > 0,
      ask: () => this.ask(),
      onSilent: () => options.onSilent(),
    });
  }

  get owner(): string | undefined {
    return this.#owner;
  }

  // Nothing was heard since onSilent().
  get silent(): boolean {
    return this.#watch.silent;
  }

  // Looks for an owner.
  start(): void {
    this.#watch.start();
  }

  // There is no owner elsewhere any more, or it is of no interest.
  stop(): void {
    this.#watch.stop();
    this.#owner = undefined;
    this.#ready = false;
    this.#o.client.disconnect();
  }

  ask(): void {
    if (this.#owner === undefined || !this.#ready) this.#o.peers.announce("hello");
    else this.#o.peers.post({ to: this.#owner, type: "ping" });
  }

  // Somebody said that he is the owner.
  meet(owner: string): void {
    this.#watch.heard();
    if (owner === this.#owner) return;
    this.#owner = owner;
    this.#ready = false;
    this.#o.client.disconnect();
    this.#o.peers.announce("hello"); // it may not have heard of this tab
  }

  receive(message: ToClient): void {
    if (message.from !== this.#owner) return;
    this.#watch.heard();
    switch (message.type) {
      case "alive":
        break;
      case "ready":
        this.#follow(message.status);
        break;
      case "replies":
        this.#progress(message.progress);
        this.#o.client.answer(message.replies);
        break;
      case "event":
        this.#relay(message.name, message.event);
        break;
    }
  }

  #follow(status: StoreStatus): void {
    if (status.generation < (this.status?.generation ?? 0)) return; // replaced, and doesn't know it
    const again = this.#ready; // it was asked twice
    this.status = status;
    this.#ready = true;
    const { client, peers } = this.#o;
    client.connect({ owner: this.#owner as string, post: (message) => peers.post(message) });
    if (!again) this.#o.onReady();
  }

  #progress(progress: Progress): void {
    const before = this.status?.lastPersistedAt;
    this.status = { ...(this.status as StoreStatus), ...progress };
    const at = progress.lastPersistedAt;
    if (at !== undefined && at.getTime() !== before?.getTime()) {
      this.#o.events.emit("persisted", { at });
    }
  }

  #relay(name: keyof StoreEvents, event: unknown): void {
    const { events } = this.#o;
    if (name === "status") {
      this.status = event as StoreStatus;
      events.emit("status", this.#o.status());
    } else if (name === "persist-error") {
      const { error, ...rest } = event as StoreEvents["persist-error"] & { error: WireError };
      events.emit(name, { ...rest, error: fromWire(error) });
    } else {
      events.emit(name, event as never);
    }
  }
}
