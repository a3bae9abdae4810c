// A table of Azure Table storage, Cosmos DB, Azurite or `entitable serve`, as sync sees it.

import type { FrozenPush, PushName } from "../sync/hidden-tables.ts";
import { type Key, type KeyRange, type Partition, receiptKey, rowKeyOf } from "../sync/keys.ts";
import {
  fenceToken,
  operationsOf,
  type RemoteOperation,
  receiptOperation,
} from "../sync/operation.ts";
import type {
  Dated,
  PushAnswer,
  ReadAnswer,
  Remote,
  RemoteTraits,
  ScanAnswer,
  ScanRequest,
} from "../sync/remote.ts";
import type { AccountFeed } from "./account-feed.ts";
import { answerOfBatch } from "./batch-answer.ts";
import { batchRequest } from "./batch-request.ts";
import type { Http, HttpResult } from "./http.ts";
import type { RemoteProfile } from "./profile.ts";
import { Reads } from "./reads.ts";
import { Scans } from "./scans.ts";
import { isUnauthorized } from "./service-error.ts";
import type { FirstKey } from "./split-range.ts";

export interface HttpRemoteOptions {
  readonly table: string;
  /** The client's name in its receipts. */
  readonly client: string;
  readonly profile: RemoteProfile;
  /** Evaluated by the remote in scans that ask for it. */
  readonly filter?: string | undefined;
  /** Undefined: changes are scanned for. */
  readonly feed?: AccountFeed | undefined;
}

/** Connecting may take so long. Then the request is aborted, perhaps just as it is sent. */
const pushMs = 30_000;
const serverSeconds = 20; // the server gives up after this time

/**
 * The least settle time (SyncRules): a process that has ended can have left a push that is executed
 * so much later than it was due. Servers end requests late, and their time-out is only a request.
 */
export const settleMsMin = pushMs + 2 * 1000 * serverSeconds;

export class HttpRemote implements Remote {
  readonly #http: Http;
  readonly #options: HttpRemoteOptions;
  readonly #scans: Scans;
  readonly #reads: Reads;
  readonly openFeed: Remote["openFeed"];

  constructor(http: Http, options: HttpRemoteOptions) {
    this.#http = http;
    this.#options = options;
    const { feed, table } = options;
    this.openFeed = feed && (({ signal, since }) => feed.open(table, since, signal));
    this.#scans = new Scans(http, options);
    this.#reads = new Reads(http, options.table, options.profile, this.#scans);
  }

  get traits(): RemoteTraits {
    return this.#scans.traits;
  }

  push(push: FrozenPush, sendBefore: number): Promise<Dated<PushAnswer>> {
    const operations = operationsOf(push, this.#options.client);
    return this.#sendBatch(push, operations, push.receipt !== undefined, sendBefore);
  }

  fence(push: PushName, etag: string | undefined): Promise<Dated<PushAnswer>> {
    const fence = { partition: push.partition, token: fenceToken(push) };
    return this.#sendBatch(push, [receiptOperation(fence, etag, this.#options.client)], true);
  }

  async #sendBatch(
    { token }: PushName,
    operations: readonly RemoteOperation[],
    hasReceipt: boolean,
    sendBefore = Number.POSITIVE_INFINITY,
  ): Promise<Dated<PushAnswer>> {
    const index = operations.map(({ key }) => this.#isRefused(key)).lastIndexOf(true);
    if (index >= 0) return { kind: "refused", index, status: 400, code: "InvalidInput" };
    const { profile, table } = this.#options;
    const isCosmos = profile.service === "cosmos";
    const result = await this.#http.send({
      ...batchRequest(operations, token, `${this.#http.base}/${table}`, isCosmos),
      method: "POST",
      path: "$batch",
      query: { timeout: `${serverSeconds}` },
      sendBefore,
      timeoutMs: pushMs,
    });
    const deletes = operations.map(({ kind }) => kind === "delete");
    const answer = answerOfBatch(result, deletes, hasReceipt);
    const isForbidden = answer.kind === "refused" && isUnauthorized(answer.status);
    if (isForbidden && typeof result === "object") this.#http.reject(result);
    return dated(answer, result);
  }

  /** Such a key is not sent, so that the rest of a push is not refused with it. */
  #isRefused(key: Key): boolean {
    const { rowKeyBytes = Number.POSITIVE_INFINITY } = this.#options.profile.limits;
    const { length } = new TextEncoder().encode(rowKeyOf(key));
    return hasLoneSurrogate(key) || length > rowKeyBytes;
  }

  async read(key: Key): Promise<Dated<ReadAnswer>> {
    if (hasLoneSurrogate(key)) return { kind: "absent" };
    const { answer, result } = await this.#reads.read(key);
    return dated(answer, result);
  }

  readReceipt(partition: Partition): Promise<Dated<ReadAnswer>> {
    return this.read(receiptKey(partition, this.#options.client));
  }

  async scan(request: ScanRequest): Promise<Dated<ScanAnswer>> {
    const { answer, result } = await this.#scans.page(request);
    return dated(answer, result);
  }

  /** REQUIRES: the remote is sorted. */
  async firstKey(range: KeyRange): Promise<FirstKey | Exclude<ScanAnswer, { kind: "page" }>> {
    const request = { range, keysOnly: true, isFiltered: false, needsOrder: true };
    for (let token: string | undefined; ; ) {
      const { answer } = await this.#scans.page({ ...request, token }, 1);
      if (answer.kind !== "page") return answer;
      const [first] = answer.rows;
      ({ token } = answer);
      if (first !== undefined || token === undefined) return { kind: "key", key: first?.key };
    }
  }

  async refresh(): Promise<void> {
    this.#http.refresh();
  }
}

/** No URL can have such a key, so no entity with it can be written or read. */
const hasLoneSurrogate = (key: Key): boolean => /\p{Surrogate}/u.test(key);

function dated<A extends object>(answer: A, result: HttpResult): Dated<A> {
  const date = typeof result === "object" ? result.date : undefined;
  return date === undefined ? answer : { ...answer, date };
}
