// Names what was pushed in the beacon, and asks it what others have pushed.

import type { Partition } from "../sync/keys.ts";
import type { Puller } from "../sync/puller.ts";
import type { SessionTime } from "./clock.ts";
import type { Pass } from "./session-options.ts";

export interface Beacon {
  /** Resolves to the partitions that were pushed since the last call. Undefined: not known. */
  changed(): Promise<readonly Partition[] | undefined>;
  announce(partitions: ReadonlySet<Partition>): Promise<void>;
}

const announceMs = 50; // in which pushes of several partitions are collected

export class BeaconWork {
  readonly #beacon: Beacon;
  readonly #time: SessionTime;
  readonly #pass: Pass;
  #pushed = new Set<Partition>();
  /** Named by the beacon, and not read yet. */
  readonly #named = new Set<Partition>();
  #isKnown = false; // what was pushed before the last call

  constructor(beacon: Beacon, time: SessionTime, pass: Pass) {
    this.#beacon = beacon;
    this.#time = time;
    this.#pass = pass;
  }

  /** A push was sent that may have been applied. */
  onPushed(partition: Partition): void {
    if (this.#pushed.size === 0) this.#time.after(announceMs, () => void this.#announce());
    this.#pushed.add(partition);
  }

  async #announce(): Promise<void> {
    const partitions = this.#pushed;
    this.#pushed = new Set();
    await this.#pass(() => this.#beacon.announce(partitions));
  }

  /** What had to be read could not be read: the next call does not know either. */
  forget(): void {
    this.#isKnown = false;
  }

  /**
   * Reads the partitions that others have pushed. Resolves to whether all could be read. Undefined:
   * it is not known which, so everything must be read.
   */
  async pull(puller: Puller): Promise<boolean | undefined> {
    const changed = await this.#pass(() => this.#beacon.changed());
    const wasKnown = this.#isKnown;
    this.#isKnown = changed !== undefined;
    if (changed === undefined || !wasKnown) {
      this.#named.clear();
      return undefined;
    }
    for (const partition of changed) this.#named.add(partition);
    for (const partition of [...this.#named]) {
      if (!(await puller.pullPartition(partition))) return false;
      this.#named.delete(partition);
    }
    return true;
  }
}
