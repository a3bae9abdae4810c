// How a tab meets the others of its store: it hears who is there, says who it is, and has a channel
// on which the owner answers it. Its lock tells the owner that it lives.

import type { Channel, OpenChannel } from "./channel.ts";
import {
  type Announcement,
  clientChannelName,
  isAnnouncement,
  protocolVersion,
  storeChannelName,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { holdClientLock, type LockRequest } from "./store-lock.ts";

export interface TabChannelOptions {
  store: string;
  tabId: string; // this tab's name in messages
  exclusive: boolean;
  account: string;
  locks: LockManager;
  channels: OpenChannel;
  onAnnouncement(announcement: Announcement): void;
  onMessage(message: ToClient): void;
}

export class TabChannel {
  readonly #options: TabChannelOptions;
  #announcements: Channel | undefined;
  #inbox: Channel | undefined;
  #alive: LockRequest | undefined;

  constructor(options: TabChannelOptions) {
    this.#options = options;
  }

  join(): void {
    const { store, tabId, locks, channels } = this.#options;
    this.#announcements = channels(storeChannelName(store), (message) => {
      if (isAnnouncement(message) && message.from !== tabId) this.#options.onAnnouncement(message);
    });
    this.#inbox = channels(clientChannelName(store, tabId), (message) =>
      this.#options.onMessage(message as ToClient),
    );
    this.#alive = holdClientLock(locks, store, tabId, () => this.announce("hello"));
  }

  leave(): void {
    this.#inbox?.close();
    this.#announcements?.close();
    this.#alive?.end();
  }

  announce(type: Announcement["type"], generation?: number): void {
    const { tabId, account, exclusive } = this.#options;
    const says: Announcement = { entitable: protocolVersion, type, from: tabId, account };
    this.#announcements?.post(type === "owner" ? { ...says, exclusive, generation } : says);
  }

  post(message: ToOwner): void {
    this.#inbox?.post(message);
  }
}
