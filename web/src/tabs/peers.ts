// How a tab meets the others of its store: it hears who is there, says who it is, and has a channel on which the owner
// answers it. Its lock tells the owner that it lives.

import type { Channel, OpenChannel } from "./channel.ts";
import {
  type Announcement,
  clientChannel,
  isAnnouncement,
  protocolVersion,
  storeChannel,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { type LockClaim, live } from "./store-lock.ts";

export interface PeersOptions {
  store: string;
  me: string; // this tab's name in messages
  exclusive: boolean;
  account: string;
  locks: LockManager;
  channels: OpenChannel;
  onAnnouncement(announcement: Announcement): void;
  onMessage(message: ToClient): void;
}

export class Peers {
  readonly #o: PeersOptions;
  #announcements: Channel | undefined;
  #inbox: Channel | undefined;
  #alive: LockClaim | undefined;

  constructor(options: PeersOptions) {
    this.#o = options;
  }

  join(): void {
    const { store, me, locks, channels } = this.#o;
    this.#announcements = channels(storeChannel(store), (message) => {
      if (isAnnouncement(message) && message.from !== me) this.#o.onAnnouncement(message);
    });
    this.#inbox = channels(clientChannel(store, me), (message) =>
      this.#o.onMessage(message as ToClient),
    );
    this.#alive = live(locks, store, me, () => this.announce("hello"));
  }

  leave(): void {
    this.#inbox?.close();
    this.#announcements?.close();
    this.#alive?.end();
  }

  announce(type: Announcement["type"], generation?: number): void {
    const { me, account, exclusive } = this.#o;
    const says: Announcement = { entitable: protocolVersion, type, from: me, account };
    this.#announcements?.post(type === "owner" ? { ...says, exclusive, generation } : says);
  }

  post(message: ToOwner): void {
    this.#inbox?.post(message);
  }
}
