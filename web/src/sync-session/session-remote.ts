// The remote as a session uses it: holds requests back, paces the scans of a census, and notes
// whether the remote answers.

import type { FrozenPush, PushName } from "../sync/hidden-tables.ts";
import type { Key, Partition } from "../sync/keys.ts";
import type {
  Dated,
  FeedRequest,
  OpenFeedAnswer,
  PushAnswer,
  ReadAnswer,
  Remote,
  RemoteTraits,
  ScanAnswer,
  ScanRequest,
} from "../sync/remote.ts";
import type { EntityBudget } from "./entity-budget.ts";
import type { Gate } from "./gate.ts";
import type { Reachability } from "./reachability.ts";

export interface SessionRemoteOptions {
  readonly remote: Remote;
  readonly gate: Gate;
  readonly budget: EntityBudget;
  readonly reachability: Reachability;
  /** A push was sent that was perhaps applied. */
  readonly onPushed: (partition: Partition) => void;
  /** Called before another credential is asked for. */
  readonly onUnauthorized: () => void;
  readonly onPage: (request: ScanRequest, page: ScanAnswer & { kind: "page" }) => void;
  readonly onRead: (key: Key, answer: ReadAnswer & { kind: "found" }) => void;
  readonly onFailure: () => void;
  readonly onChange: () => void;
}

export class SessionRemote implements Remote {
  readonly #options: SessionRemoteOptions;

  constructor(options: SessionRemoteOptions) {
    this.#options = options;
  }

  get traits(): RemoteTraits {
    return this.#options.remote.traits;
  }

  async push(push: FrozenPush, sendBefore: number): Promise<Dated<PushAnswer>> {
    const answer = await this.#send(() => this.#options.remote.push(push, sendBefore));
    const isPossible = answer.kind === "applied" || answer.kind === "failed";
    if (isPossible) this.#options.onPushed(push.partition);
    return answer;
  }

  fence(push: PushName, etag: string | undefined): Promise<Dated<PushAnswer>> {
    return this.#send(() => this.#options.remote.fence(push, etag));
  }

  async read(key: Key): Promise<Dated<ReadAnswer>> {
    const answer = await this.#send(() => this.#options.remote.read(key));
    if (answer.kind === "found") this.#options.onRead(key, answer);
    return answer;
  }

  readReceipt(partition: Partition): Promise<Dated<ReadAnswer>> {
    return this.#send(() => this.#options.remote.readReceipt(partition));
  }

  /** Only a census is paced: a scan by Timestamp returns what the application waits for. */
  async scan(request: ScanRequest): Promise<Dated<ScanAnswer>> {
    const { budget, onPage, remote } = this.#options;
    if (request.keysOnly) await budget.available(true);
    const answer = await this.#send(() => remote.scan(request));
    if (answer.kind === "page") onPage(request, answer);
    if (request.keysOnly && answer.kind === "page") budget.spend(answer.rows.length);
    return answer;
  }

  /** The request is on its way until it is answered. An open feed is none. */
  async openFeed(request: FeedRequest): Promise<OpenFeedAnswer> {
    const { gate, onChange, reachability, remote } = this.#options;
    const open = remote.openFeed?.bind(remote);
    if (open === undefined) return { kind: "none" };
    const answer = await gate.pass(() => open(request));
    if (answer.kind !== "none" && !request.signal?.aborted) reachability.note(answer);
    onChange();
    return answer;
  }

  async refresh(): Promise<void> {
    this.#options.onUnauthorized();
    await this.#options.remote.refresh();
  }

  async #send<A extends { readonly kind: string }>(send: () => Promise<A>): Promise<A> {
    const { gate, onChange, onFailure, reachability } = this.#options;
    const answer = await gate.pass(() => {
      onChange();
      return send();
    });
    reachability.note(answer);
    if (!reachability.isAnswering) onFailure();
    onChange();
    return answer;
  }
}
