// A follower's knowledge of the owner: which tab is the owner, and whether it responds. Handles the
// owner's messages.

import type { Emitter } from "../host/emitter.ts";
import type { StoreEvents, StoreStatus } from "../types.ts";
import type { CallClient } from "./call-client.ts";
import {
  errorFromWire,
  type PersistenceProgress,
  type ToClient,
  type ToOwner,
  type WireError,
} from "./messages.ts";
import { OwnerWatch } from "./owner-watch.ts";
import type { TabChannel } from "./tab-channel.ts";

export interface OwnerTrackerOptions {
  client: CallClient;
  tabChannel: TabChannel;
  events: Emitter<StoreEvents>;
  ownerTimeoutMs: number; // how long an owner may be silent before onSilent()
  onReady(): void; // called when the owner begins to serve this tab
  onOwnerSilent(): void;
  status(): StoreStatus; // returns the store's status as this tab reports it
}

export class OwnerTracker {
  readonly #options: OwnerTrackerOptions;
  readonly #watch: OwnerWatch;
  #owner: string | undefined; // the owner's name in messages
  #ready = false; // the owner serves this tab
  #hasSaidHello = false; // "hello" was sent since OwnerWatch last asked for a ping
  // the status that an owner last reported; this tab may have been that owner
  status: StoreStatus | undefined;

  constructor(options: OwnerTrackerOptions) {
    this.#options = options;
    this.#watch = new OwnerWatch({
      ownerTimeoutMs: options.ownerTimeoutMs,
      isResponseDue: () => !this.#ready || options.client.isResponseDue,
      pingOwner: () => this.pingOwner(),
      onSilent: () => options.onOwnerSilent(),
    });
  }

  get owner(): string | undefined {
    return this.#owner;
  }

  // Returns whether the owner was silent for too long, and no message has arrived since then.
  get isOwnerSilent(): boolean {
    return this.#watch.isSilent;
  }

  // Starts to look for an owner.
  start(): void {
    this.#watch.start();
  }

  // Forgets the owner and stops watching it.
  stop(): void {
    this.#watch.stop();
    this.#owner = undefined;
    this.#ready = false;
    this.#options.client.disconnect();
  }

  pingOwner(): void {
    const to = this.#ready ? this.#owner : undefined;
    this.#hasSaidHello = to === undefined;
    if (to === undefined) this.#options.tabChannel.announce("hello");
    else this.#options.tabChannel.postToOwner({ to, type: "ping" });
  }

  // Handles the announcement of an owner. For a moment there may be two owners, each of which
  // answers every "hello" with an announcement. "hello" is therefore sent at most once per ping,
  // not once per announcement, unless the owner asks for it.
  onOwnerAnnounced(owner: string, generation: number | undefined, asksForHello = false): void {
    if (generation !== undefined && this.#isPast(generation)) return;
    this.#watch.onMessageReceived();
    const isAgain = this.#ready && generation !== undefined && this.#isNewer(generation);
    if (owner !== this.#owner || isAgain) this.#setOwner(owner);
    else if (this.#ready || !asksForHello) return;
    if (this.#hasSaidHello && !asksForHello) return; // the next ping sends "hello" again
    this.#hasSaidHello = true;
    this.#options.tabChannel.announce("hello"); // in case the owner does not know this tab
  }

  #setOwner(owner: string): void {
    this.#owner = owner;
    this.#ready = false;
    this.#options.client.disconnect();
  }

  // Returns whether the message comes from the successor of the known owner, which may still
  // announce itself.
  #isSuccessor(from: string, { generation }: StoreStatus): boolean {
    const known = this.#owner !== undefined && this.#owner !== from;
    return known && this.#isNewer(generation);
  }

  // Returns whether this generation began after that of the known owner, which may be that of the
  // same tab: it was not the owner for a while.
  #isNewer(generation: number): boolean {
    return generation > (this.status?.generation ?? 0);
  }

  // Returns whether this generation is that of a replaced owner, which has not noticed its
  // replacement.
  #isPast(generation: number): boolean {
    return generation < (this.status?.generation ?? 0);
  }

  receive(message: ToClient): void {
    const { from } = message;
    if (message.type === "ready" && this.#isSuccessor(from, message.status)) this.#setOwner(from);
    if (from !== this.#owner) return;
    this.#watch.onMessageReceived();
    switch (message.type) {
      case "alive":
        break;
      case "ready":
        this.#follow(message.session, message.status, message.lastCommit);
        break;
      case "responses":
        // Of an earlier session: earlier responses were ignored while another tab was the owner.
        if (!this.#ready) break;
        this.#progress(message.progress);
        this.#options.client.settleCalls(message.responses, message.stored, message.lastCommit);
        break;
      case "pull":
        if (this.#ready) void this.#options.client.sendChunk(message);
        break;
      case "event":
        this.#relay(message.name, message.event);
        break;
    }
  }

  #follow(session: number, status: StoreStatus, lastCommit: number | undefined): void {
    if (this.#isPast(status.generation)) return;
    const again = this.#ready; // the owner has answered a second "hello"
    this.status = status;
    this.#ready = true;
    const { client, tabChannel } = this.#options;
    const owner = this.#owner as string;
    const post = (message: ToOwner) => tabChannel.postToOwner(message);
    client.connect({ owner, session, lastCommit, post });
    if (!again) this.#options.onReady();
  }

  #progress(progress: PersistenceProgress): void {
    const before = this.status?.lastPersistedAt;
    this.status = { ...(this.status as StoreStatus), ...progress };
    const at = progress.lastPersistedAt;
    if (at !== undefined && at.getTime() !== before?.getTime()) {
      this.#options.events.emit("persisted", { at });
    }
  }

  #relay(name: keyof StoreEvents, event: unknown): void {
    const { events } = this.#options;
    if (name === "status") {
      this.status = event as StoreStatus;
      events.emit("status", this.#options.status());
    } else if (name === "persist-error") {
      const { error, ...rest } = event as StoreEvents["persist-error"] & { error: WireError };
      events.emit(name, { ...rest, error: errorFromWire(error) });
    } else {
      events.emit(name, event as never);
    }
  }
}
