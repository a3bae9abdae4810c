// Owns all time of a simulation: timers, requests, storing, and the users' steps are events, which
// run one after the other in the order of their times. The same seed gives the same events.

import { type Random, seededRandom } from "../web/support/random.ts";

interface Event {
  readonly at: number;
  readonly number: number;
  run(): void;
}

// Between two events, this many turns of microtasks run: more than any chain of awaits has that
// waits for no event.
const microtaskTurns = 40;

const chances = 1 << 30;

export class Scheduler {
  readonly #random: Random;
  readonly #heap: Event[] = [];
  #added = 0;
  #failure: { error: unknown } | undefined;
  now = 0;
  steps = 0;
  hash = 0;
  /** Called with each line of the trace, if it is set. */
  onTrace: ((line: string) => void) | undefined;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(n: number): number {
    return this.#random.below(n);
  }

  /** From 0 (inclusive) to `n` (exclusive). */
  fraction(n = 1): number {
    return (this.#random.below(chances) / chances) * n;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  after(delay: number, run: () => void): void {
    pushHeap(this.#heap, { at: this.now + delay, number: ++this.#added, run });
  }

  /** Ends the simulation: the first failure counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Adds a line to the trace, which is hashed. */
  trace(what: string, ...details: readonly (string | number | undefined)[]): void {
    const line = `${this.now.toFixed(2)} ${what} ${details.join(" ")}`;
    for (let i = 0; i < line.length; ++i) {
      this.hash = (Math.imul(this.hash, 31) + line.charCodeAt(i)) >>> 0;
    }
    this.onTrace?.(line);
  }

  /** Runs events until `end`. Throws the first failure. */
  async run(end: number): Promise<void> {
    for (;;) {
      const event = this.#heap[0];
      if (event === undefined || event.at > end) break;
      popHeap(this.#heap);
      this.now = event.at;
      this.steps += 1;
      event.run();
      for (let turn = 0; turn < microtaskTurns; ++turn) await undefined;
      if (this.#failure) throw this.#failure.error;
    }
    this.now = end;
  }
}

const isBefore = (a: Event, b: Event): boolean =>
  a.at < b.at || (a.at === b.at && a.number < b.number);

function pushHeap(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (isBefore(heap[parent] as Event, event)) break;
    heap[at] = heap[parent] as Event;
    at = parent;
  }
  heap[at] = event;
}

function popHeap(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    const right = heap[child + 1];
    if (right && isBefore(right, heap[child] as Event)) child += 1;
    if (!isBefore(heap[child] as Event, last)) break;
    heap[at] = heap[child] as Event;
    at = child;
  }
  heap[at] = last;
}
