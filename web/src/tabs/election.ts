// Elects the owner of a store. The tabs queue for the store's lock, and the tab that holds the lock
// should be the owner. Tabs announce themselves, so that followers find the owner. An owner that
// does not respond is replaced.
//
// The lock says which tab should be the owner; the log says which tab is (storage/log-storage.ts,
// "claim"). A page that was frozen and replaced may resume and act as the owner for a moment, but
// its writes are rejected.

import { StoreError } from "../errors.ts";
import { locksForbiddenError, storeLockedError } from "../host/exclusive-lock.ts";
import type { Successor } from "./client-connections.ts";
import { type Announcement, protocolVersion } from "./messages.ts";
import type { OwnerTracker } from "./owner-tracker.ts";
import type { TabChannel } from "./tab-channel.ts";
import { type LockRequest, requestStoreLock, runStealExclusively } from "./web-locks.ts";

// The states of a tab (shared-host.ts) in which it takes part in the election. "none": in the other
// states.
export type Role = "none" | "joining" | "following" | "owning";

export interface ElectionOptions {
  name: string;
  exclusive: boolean; // the owner accepts no clients
  account: string; // must be the same in all tabs
  locks: LockManager;
  waitMs: number; // how long to wait for a store that another tab has exclusively
  ownerTimeoutMs: number;
  tabChannel: TabChannel;
  follower: OwnerTracker;
  generation(): number | undefined; // of the local engine, if there is one
  // This tab has the lock. `isOwner` returns whether it still has it and has not been replaced.
  onElected(isOwner: () => boolean): void;
  onReplaced(): void; // another tab has become the owner
  onClient(client: string, successor: Successor): void; // asks this tab, the owner, to serve it
  onRefused(error: StoreError): void; // this tab can neither own nor follow
  onNewerVersion(version: number): void; // another tab has a newer version of the protocol
}

export class Election {
  readonly #options: ElectionOptions;
  #role: Role = "none";
  #lockRequest: LockRequest | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
  }

  get role(): Role {
    return this.#role;
  }

  // REQUIRES: the role is "none".
  join(): void {
    this.#role = "joining";
    this.#requestLock("queue"); // first, because it takes longest
    this.#options.tabChannel.join();
    this.#options.follower.start();
  }

  // Ends this tab's role, whatever it is. The lock stays held until the caller calls the returned
  // function, because the local engine may still be storing.
  leaveKeepingLock(): () => void {
    const { tabChannel, follower } = this.#options;
    if (follower.owner !== undefined) tabChannel.postToOwner({ to: follower.owner, type: "bye" });
    follower.stop();
    tabChannel.leave();
    const lockRequest = this.#lockRequest;
    this.#lockRequest = undefined;
    this.#role = "none";
    return () => lockRequest?.end();
  }

  #requestLock(how: "queue" | "steal"): void {
    const { locks, name, follower, onElected, onReplaced, onRefused } = this.#options;
    this.#lockRequest?.end();
    const request = requestStoreLock(locks, name, how, {
      held: () => {
        this.#role = "owning";
        follower.stop();
        onElected(() => this.#lockRequest === request && this.#role === "owning");
      },
      lost: () => {
        // A tab that leaves may hold the lock until its writes are stored.
        if (this.#lockRequest === request) onReplaced();
      },
      failed: (error) => onRefused(locksForbiddenError(error)),
    });
    this.#lockRequest = request;
  }

  // Called when the owner serves this tab.
  onFollowing(): void {
    this.#role = "following";
  }

  // Tells the other tabs that this tab is the owner. `asksForHello`: see Announcement. REQUIRES: it
  // is.
  announceOwner(asksForHello = false): void {
    const { tabChannel, generation } = this.#options;
    tabChannel.announceOwner({ generation: generation(), asksForHello });
  }

  onAnnouncement(announcement: Announcement): void {
    const { entitable: version, type, from, generation } = announcement;
    if (this.#role !== "owning") {
      if (type === "owner") this.#onOwnerAnnounced(announcement);
    } else if (type === "owner") {
      if (version === protocolVersion && generation !== undefined)
        this.#compareGenerations(generation);
    } else if (type === "hello") {
      if (version === protocolVersion && !this.#options.exclusive)
        this.#options.onClient(from, this.#successor(announcement));
      this.announceOwner();
    } else if (type === "yield" && version > protocolVersion) {
      this.#options.onNewerVersion(version);
    }
  }

  // Returns what happens if the sender of a "hello" is the next owner.
  #successor({ hasFailed, exclusive, account }: Announcement): Successor {
    if (exclusive) return "refuses";
    return hasFailed || account !== this.#options.account ? "fails" : "serves";
  }

  // Called when another tab announces that it is the owner too. The later claim wins. The owner
  // with the earlier claim was frozen while its lock was stolen, or was still opening the store
  // when a resumed owner claimed the log. Its reads are out of date, and only its next write would
  // fail.
  #compareGenerations(generation: number): void {
    const mine = this.#options.generation();
    if (mine === undefined || generation === mine) return;
    if (generation > mine) this.#options.onReplaced();
    else this.announceOwner();
  }

  #onOwnerAnnounced({
    entitable: version,
    from,
    exclusive,
    account,
    generation,
    asksForHello,
  }: Announcement): void {
    if (version > protocolVersion) {
      this.#options.onNewerVersion(version);
    } else if (version < protocolVersion) {
      this.#options.tabChannel.announce("yield");
    } else if (this.#options.exclusive) {
      // This tab waits for the lock, at most `waitMs`.
      if (asksForHello) this.#options.tabChannel.announce("hello");
    } else if (exclusive) {
      setTimeout(() => {
        if (this.#role === "joining") this.#options.onRefused(storeLockedError(this.#options.name));
      }, this.#options.waitMs);
    } else if (account !== this.#options.account) {
      this.#options.onRefused(otherAccountError(this.#options.name));
    } else {
      this.#options.follower.onOwnerAnnounced(from, generation, asksForHello);
    }
  }

  // Replaces the silent owner, unless it responds to another "hello" or another tab took over.
  async replaceOwner(): Promise<void> {
    const waits = () => this.#role === "joining" || this.#role === "following";
    const { owner } = this.#options.follower;
    if (!waits() || this.#options.exclusive) return;
    await runStealExclusively(this.#options.locks, this.#options.name, async () => {
      this.#options.tabChannel.announce("hello");
      await new Promise((resolve) => setTimeout(resolve, this.#options.ownerTimeoutMs / 5));
      const isSilent =
        this.#options.follower.owner === owner && this.#options.follower.isOwnerSilent;
      if (waits() && isSilent) this.#requestLock("steal");
    });
  }
}

function otherAccountError(name: string): StoreError {
  const message = `The store "${name}" is open in another tab for another account.`;
  return new StoreError("ValidationFailed", message, {
    hint: "Give the same account option in every tab, and in the Service Worker.",
  });
}
