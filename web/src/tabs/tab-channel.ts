// A tab's channels to the other tabs of its store: the store's channel for announcements, and the
// tab's own channel for messages to and from the owner. The tab also holds a client lock
// (store-lock.ts); its release tells the owner that the tab has ended.

import type { Channel, ChannelFactory } from "./channel.ts";
import {
  type Announcement,
  clientChannelName,
  isAnnouncement,
  protocolVersion,
  storeChannelName,
  type ToClient,
  type ToOwner,
} from "./messages.ts";
import { holdClientLock, type LockRequest } from "./web-locks.ts";

export interface TabChannelOptions {
  store: string;
  tabId: string; // this tab's name in messages
  exclusive: boolean;
  account: string;
  hasFailed(): boolean; // see Announcement.hasFailed
  locks: LockManager;
  channels: ChannelFactory;
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

  // Posts an announcement to all other tabs.
  announce(type: "hello" | "yield"): void {
    this.#post({ type, hasFailed: this.#options.hasFailed() });
  }

  announceOwner(more: Pick<Announcement, "generation" | "asksForHello">): void {
    this.#post({ type: "owner", ...more });
  }

  #post(content: Omit<Announcement, "entitable" | "from" | "account" | "exclusive">): void {
    const { tabId: from, account, exclusive } = this.#options;
    this.#announcements?.post({
      entitable: protocolVersion,
      from,
      account,
      exclusive,
      ...content,
    });
  }

  // Posts a message to the owner, on this tab's own channel.
  postToOwner(message: ToOwner): void {
    this.#inbox?.post(message);
  }
}
