// The way between a client and the remote table: requests and responses are delayed, lost,
// repeated, refused on the way, or arrive long after the client gave up.

import type { Ticks } from "../../web/src/sync/hidden-tables.ts";
import type { RemoteOperation } from "../../web/src/sync/operation.ts";
import type { Dated, Failure, PushAnswer } from "../../web/src/sync/remote.ts";
import type { Config } from "./config.ts";
import type { Scheduler } from "./scheduler.ts";
import { ticksAt, type WeakTable } from "./weak-table.ts";

export interface NetworkConfig {
  readonly latencyMs: number; // at most, each way, of a normal request
  readonly lateMs: number; // at most, of a request that is late
  readonly visibleMs: number; // δ: at most, from the Timestamp until the row is visible
  readonly timeoutMs: number; // after which the client gives up
  readonly dateSkewMs: number; // of the Date header
  readonly hasDate: boolean; // whether the client can read it
  readonly repeats: boolean; // whether the network may send a request twice
  readonly proxy: Config["proxy"];
}

/** Chances of each fault, for one request. */
const chances = {
  lost: 0.08, // the request never arrives
  busyBefore: 0.04, // 429 or 503, not executed
  busyAfter: 0.03, // 429, 500, 503 or an HTML page, although executed
  late: 0.06,
  repeated: 0.03,
  answerLost: 0.08, // or truncated
};

/** Takes the request's Timestamp. Called once for each copy that arrives. */
export type Execute<A> = (stamp: Ticks) => A;

export interface NetworkRequest<A> {
  readonly partition: string;
  /** A write becomes visible some time after its Timestamp was taken. */
  readonly isWrite: boolean;
  readonly operations: readonly RemoteOperation[]; // of a batch
  readonly execute: Execute<A>;
  /** The network sends the request twice. */
  onRepeat?(): void;
}

const proxyAheadMs = 3_600_000; // the clock of proxies and portals

const isOfProxy = (answer: object): boolean =>
  "kind" in answer && (answer.kind === "failed" || answer.kind === "rejected");

const rejection = ({ operations }: Pick<NetworkRequest<never>, "operations">) =>
  operations.length > 0
    ? ({ kind: "rejected", code: "RejectedByProxy" } satisfies PushAnswer)
    : ({ kind: "failed" } satisfies Failure);

const visibleAtRestMs = 10; // at most, and not above δ: so that no client gives up

export class Network {
  readonly #scheduler: Scheduler;
  readonly #table: WeakTable;
  readonly config: NetworkConfig;
  hasFaults = true;
  /** A captive portal answers all requests. */
  hasPortal = false;

  constructor(scheduler: Scheduler, table: WeakTable, config: NetworkConfig) {
    this.#scheduler = scheduler;
    this.#table = table;
    this.config = config;
  }

  send<A extends object>(request: NetworkRequest<A>): Promise<Dated<A | Failure>> {
    return new Promise((resolve) => {
      const answer = (value: A | Failure, delay: number) =>
        this.#scheduler.after(delay, () => resolve(this.#dated(value)));
      answer({ kind: "failed" }, this.config.timeoutMs);
      if (this.hasPortal || this.#isRejected(request)) {
        // Some proxies answer although the server executes the request.
        if (!this.hasPortal && this.#happens(chances.late)) this.#arrive(request, () => {});
        answer(rejection(request) as A | Failure, this.#latency());
        return;
      }
      if (this.#happens(chances.lost)) {
        if (this.#scheduler.chance(0.5)) answer({ kind: "failed" }, this.#latency());
      } else if (this.#happens(chances.busyBefore)) answer(this.#busy(), this.#latency());
      else if (this.config.repeats && this.#happens(chances.repeated)) {
        request.onRepeat?.();
        this.#arrive(request, () => {}); // this copy's answer is lost on the way
        this.#arrive(request, (value) => answer(value, this.#latency()));
      } else this.#arrive(request, (value) => this.#respond(value, answer));
    });
  }

  #isRejected<A>({ operations }: NetworkRequest<A>): boolean {
    const { proxy } = this.config;
    if (proxy === "small") return operations.length > 2;
    const isRejected = (one: RemoteOperation) =>
      ("set" in one && one.set.has("virus")) ||
      ("properties" in one && one.properties.has("virus"));
    return proxy === "picky" && operations.some(isRejected);
  }

  #arrive<A>(request: NetworkRequest<A>, then: (value: A) => void): void {
    const isLate = this.#happens(chances.late);
    const delay = isLate ? this.#scheduler.fraction(this.config.lateMs) : this.#latency();
    this.#scheduler.after(delay, () => {
      const stamp = this.#table.stamp(request.partition);
      const { visibleMs: faultyMs } = this.config;
      const visibleMs = this.hasFaults ? faultyMs : Math.min(faultyMs, visibleAtRestMs);
      const visibleAfter = request.isWrite ? this.#scheduler.fraction(visibleMs) : 0;
      this.#scheduler.after(visibleAfter, () => then(request.execute(stamp)));
    });
  }

  #respond<A>(value: A, answer: (value: A | Failure, delay: number) => void): void {
    if (this.#happens(chances.answerLost)) {
      if (this.#scheduler.chance(0.5)) answer({ kind: "failed" }, this.#latency());
    } else if (this.#happens(chances.busyAfter)) answer(this.#busy(), this.#latency());
    else answer(value, this.#latency());
  }

  #busy(): Failure {
    const hasRetryAfter = this.#scheduler.chance(0.5);
    return { kind: "failed", retryAfterMs: hasRetryAfter ? this.#scheduler.below(40) : undefined };
  }

  #happens(probability: number): boolean {
    return this.hasFaults && this.#scheduler.chance(probability);
  }

  #latency(): number {
    return 1 + this.#scheduler.fraction(this.config.latencyMs);
  }

  #dated<A extends object>(answer: A): Dated<A> {
    if (!this.config.hasDate) return answer;
    if (isOfProxy(answer)) return { ...answer, date: ticksAt(this.#scheduler.now + proxyAheadMs) };
    const skew = (this.#scheduler.fraction(2) - 1) * this.config.dateSkewMs;
    const ms = Math.floor((this.#scheduler.now + skew) / 10) * 10;
    return { ...answer, date: ticksAt(ms) };
  }
}
