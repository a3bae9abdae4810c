// The feed of changes of the weak table, with what goes wrong with feeds: events are late, come
// twice or not at all because the connection hangs; connections end; the log is cut; the server
// starts again, perhaps without its last commits, or with another store. Commits of other tables
// move the position, too.

import type { Feed, FeedAnswer, FeedChange, FeedEvent } from "../../web/src/sync/remote.ts";
import type { Network } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";
import type { HistoryEntry, WeakTable } from "./weak-table.ts";

export interface SimulatedFeed extends Feed {
  /** Called with each request of the client: AccountFeed says what happens. */
  compareScope(): void;
}

/** One key of a commit. */
export interface FedChange {
  readonly sequence: bigint;
  readonly key: string;
  readonly entry: HistoryEntry;
}

const chances = {
  ends: 0.04,
  hangs: 0.02,
  twice: 0.1,
  cutsLog: 0.04,
  restarts: 0.03,
  losesCommits: 0.5, // if it starts again
};
const openingMs = 1; // from the head to the feed, at most: no response takes less
const lostMax = 3; // commits of the table, in a power failure
const beatMs = 100; // between two positions without changes, at most
const latencyMs = 20; // at most
const silentMs = 60; // after which a client takes a connection for lost

export class RemoteFeed {
  readonly #scheduler: Scheduler;
  readonly #table: WeakTable;
  readonly #network: Network;
  #log: FeedEvent[] = [];
  #cutAt = 0n; // the log has what follows
  #sequence = 0n;
  #stores = 0;
  readonly #connections = new Set<Connection>();
  /** Of the present store. */
  changes: FedChange[] = [];

  constructor(scheduler: Scheduler, table: WeakTable, network: Network) {
    this.#scheduler = scheduler;
    this.#table = table;
    this.#network = network;
    table.onCommit = (changes, hasGap) => this.#append(changes, hasGap);
    this.#beat();
  }

  #beat(): void {
    this.#scheduler.after(this.#scheduler.fraction(beatMs), () => {
      if (this.#scheduler.chance(0.5)) this.#sequence += BigInt(1 + this.#scheduler.below(3));
      const position = { sequence: this.#sequence, changes: [] };
      for (const connection of this.#connections) connection.send(position);
      this.#beat();
    });
  }

  /** The name of the server's process, and of the store in it. */
  get store(): string {
    return `store ${this.#stores}`;
  }

  #happens(probability: number): boolean {
    return this.#network.hasFaults && this.#scheduler.chance(probability);
  }

  #append(changes: readonly FeedChange[], hasGap: boolean): void {
    if (hasGap && this.#scheduler.chance(0.5)) {
      this.#replaceStore();
      return;
    }
    const event = this.#record(changes, hasGap);
    for (const connection of this.#connections) connection.send(event);
    if (this.#happens(chances.cutsLog)) this.#cutLog();
    if (this.#happens(chances.restarts)) this.#restart();
  }

  #record(changes: readonly FeedChange[], hasGap: boolean): FeedEvent {
    this.#sequence += BigInt(1 + this.#scheduler.below(2));
    const sequence = this.#sequence;
    const etags = changes.map(({ row }) => row?.etag).join();
    const witness = `${this.#scheduler.now} ${etags}`;
    for (const { key } of changes) {
      const entry = this.#table.history.get(key)?.at(-1) as HistoryEntry;
      this.changes.push({ sequence, key, entry });
    }
    const event = { sequence, changes, hasGap, witness };
    this.#log.push(event);
    return event;
  }

  #cutLog(): void {
    const cut = this.#log.splice(0, this.#scheduler.below(this.#log.length + 1));
    this.#cutAt = cut.at(-1)?.sequence ?? this.#cutAt;
  }

  #restart(): void {
    this.#stores += 1;
    for (const connection of [...this.#connections]) connection.end();
    if (this.#happens(chances.losesCommits)) this.#loseCommits();
  }

  /**
   * A power failure takes the last commits back, also those of other tables. Others make them
   * again: the table has the same rows then, by commits that perhaps have the same sequences.
   */
  #loseCommits(): void {
    const kept = Math.max(0, this.#log.length - this.#scheduler.below(lostMax + 1));
    const lost = this.#log.splice(kept);
    const last = this.#log.at(-1)?.sequence ?? this.#cutAt;
    const end = lost[0]?.sequence ?? this.#sequence + 1n;
    this.#sequence = last + BigInt(this.#scheduler.below(Number(end - last)));
    this.changes = this.changes.filter(({ sequence }) => sequence <= last);
    this.#scheduler.trace("commits are lost", lost.length, String(this.#sequence));
    const events = new Map<string, FeedEvent>(); // by key: the last one
    for (const event of lost) for (const { key } of event.changes) events.set(key, event);
    for (const event of lost) {
      const changes = event.changes.filter(({ key }) => events.get(key) === event);
      if (changes.length > 0 || event.hasGap) this.#record(changes, event.hasGap === true);
    }
  }

  /** An empty store, with sequences that the clients may have seen of the store before. */
  #replaceStore(): void {
    this.#scheduler.trace("the store is replaced");
    this.#restart();
    this.#log = [];
    this.changes = [];
    this.#sequence = BigInt(this.#scheduler.below(2 * Number(this.#sequence) + 1));
    this.#cutAt = this.#sequence;
  }

  /** What a request is answered when it arrives. */
  open(since: bigint | undefined): SimulatedFeed | { readonly kind: "unauthorized" } {
    if (this.#table.isExpired) return { kind: "unauthorized" };
    const connection = new Connection(this.#scheduler, {
      head: this.#sequence,
      store: this.store,
      isForbidden: this.#table.isForbidden,
      scope: () => scopeOf(this.#table),
      happens: (chance) => this.#happens(chances[chance]),
      onEnd: () => this.#connections.delete(connection),
    });
    const openingTakes = this.#scheduler.fraction(openingMs);
    this.#scheduler.after(openingTakes, () => this.#begin(connection, since));
    const { head, kind, scope, store } = connection;
    const next = () => connection.next();
    const close = () => connection.end();
    const compareScope = () => connection.compareScope();
    return { kind, head, scope, store, next, close, compareScope };
  }

  /** What is committed between the head and this is not in a feed that has no `since`. */
  #begin(connection: Connection, since: bigint | undefined): void {
    if (connection.store !== this.store) connection.end();
    if (connection.hasEnded) return;
    const after = since ?? this.#sequence;
    this.#connections.add(connection);
    if (after < this.#cutAt || after > this.#sequence) connection.truncate();
    // Another table with which it shares the connection may need earlier events.
    const from = this.#happens(chances.twice) ? after - 5n : after;
    for (const event of this.#log) if (event.sequence > from) connection.send(event);
    connection.send({ sequence: this.#sequence, changes: [] });
  }
}

const scopeOf = ({ isForbidden }: WeakTable): string => (isForbidden ? "narrow" : "all");

interface ConnectionOptions {
  readonly head: bigint;
  readonly store: string;
  readonly isForbidden: ((key: string) => boolean) | undefined;
  readonly scope: () => string; // of a request that is sent now
  readonly happens: (what: "ends" | "hangs" | "twice") => boolean;
  readonly onEnd: () => void;
}

class Connection implements Omit<Feed, "close"> {
  readonly kind = "open";
  readonly head: bigint;
  readonly store: string;
  readonly scope: string;
  readonly #scheduler: Scheduler;
  readonly #options: ConnectionOptions;
  #arrivesAt = 0; // the last event
  #isHanging = false;
  #events: FeedEvent[] = [];
  #last: FeedAnswer | undefined;
  #onNews = (): void => {};

  constructor(scheduler: Scheduler, options: ConnectionOptions) {
    this.#scheduler = scheduler;
    this.#options = options;
    this.head = options.head;
    this.store = options.store;
    this.scope = options.scope();
  }

  get hasEnded(): boolean {
    return this.#last !== undefined;
  }

  /** In order, each some time after it was sent. */
  send(event: FeedEvent): void {
    if (this.#options.happens("ends")) this.#arrive(() => this.end());
    else if (this.#options.happens("hangs")) this.#hang();
    const changes = event.changes.filter(({ key }) => !this.#options.isForbidden?.(key));
    const visible = { ...event, changes };
    this.#arrive(() => this.#events.push(visible));
    if (this.#options.happens("twice")) this.#arrive(() => this.#events.push(visible));
  }

  #arrive(run: () => void): void {
    if (this.#isHanging) return;
    const { now } = this.#scheduler;
    this.#arrivesAt = Math.max(this.#arrivesAt, now + this.#scheduler.fraction(latencyMs));
    this.#scheduler.after(this.#arrivesAt - now, () => {
      this.compareScope();
      if (this.#last) return;
      run();
      this.#onNews();
    });
  }

  #hang(): void {
    this.#isHanging = true;
    this.#scheduler.after(silentMs, () => this.end());
  }

  truncate(): void {
    this.#arrive(() => {
      this.#last = { kind: "truncated" };
    });
    this.#isHanging = true;
  }

  /** A connection keeps its scope. If that of requests is another one, the feed begins again. */
  compareScope(): void {
    if (this.#options.scope() !== this.scope) this.end("truncated");
  }

  end(kind: "ended" | "truncated" = "ended"): void {
    this.#last ??= { kind };
    this.#options.onEnd();
    this.#onNews();
  }

  async next(): Promise<FeedAnswer> {
    while (this.#events.length === 0 && this.#last === undefined) {
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    }
    const events = this.#events.splice(0);
    return events.length > 0 ? { kind: "events", events } : (this.#last as FeedAnswer);
  }
}
