// Connects a session to a table of the remote, which is created if something is to be pushed.

import type { Failure } from "../sync/remote.ts";
import { errorOf } from "../sync/requests.ts";
import type { AccountFeed } from "../sync-remote/account-feed.ts";
import type { Http } from "../sync-remote/http.ts";
import { HttpRemote, settleMsMin } from "../sync-remote/http-remote.ts";
import { probe } from "../sync-remote/probe.ts";
import type { Service } from "../sync-remote/profile.ts";
import { failureOf } from "../sync-remote/service-error.ts";
import { splitRange } from "../sync-remote/split-range.ts";
import type { Connection, Pass, SessionOptions } from "../sync-session/session-options.ts";

export interface ConnectOptions {
  readonly http: Http;
  readonly table: string;
  readonly filter: string | undefined;
  /** The table of beacons. */
  readonly beacon: string | undefined;
  readonly token: () => string;
  /** Called if the remote has a feed of changes. Undefined: it cannot be followed. */
  readonly feed: () => Promise<AccountFeed | undefined>;
  /** Remembers which service the remote is, and returns the client's name in its receipts. */
  readonly client: (service: Service) => Promise<string>;
  /** Whether the table is to be created if it is missing. */
  readonly mayCreate: () => Promise<boolean>;
}

type Sender = Pick<Http, "base" | "send">;

const settleMs = Math.max(90_000, settleMsMin);

/** What a session calls to learn what the remote can do. Rejects if the store fails. */
export function connector(options: ConnectOptions): SessionOptions["connect"] {
  return async (pass) => {
    const answer = await connect(options, pass);
    if (answer.kind === "unauthorized") options.http.refresh();
    return answer;
  };
}

async function connect(options: ConnectOptions, pass: Pass): Promise<Connection | Failure> {
  const { client, filter, http, mayCreate, table } = options;
  const passing: Sender = {
    base: http.base,
    send: (request) => pass(() => http.send(request)),
  };
  let probed = await probe(passing, table);
  if (probed.kind === "tableMissing" && (await mayCreate())) {
    const failure = await createTable(passing, table);
    if (failure) return failure;
    probed = await probe(passing, table);
  }
  if (probed.kind !== "probed") return probed;
  const { profile } = probed;
  const feed = http.feedPath === undefined ? undefined : await options.feed();
  const name = await client(profile.service);
  const remote = new HttpRemote(http, { table, client: name, profile, feed, filter });
  return {
    kind: "connected",
    remote,
    limits: profile.limits,
    settleMs,
    beacon: await beaconOf(options, name),
    split: (whole, count, isOver) =>
      splitRange((range) => pass(() => remote.firstKey(range)), whole, count, isOver),
  };
}

/** The code is loaded only if it is used. */
async function beaconOf(
  { beacon, http, table, token }: ConnectOptions,
  client: string,
): Promise<Connection["beacon"]> {
  if (beacon === undefined) return undefined;
  const { TableBeacon } = await import("../sync-remote/beacon.ts");
  return new TableBeacon(http, { table: beacon, of: table, client, token });
}

/** Returns the failure, if the table does not exist afterwards. */
async function createTable(http: Sender, table: string): Promise<Failure | undefined> {
  const headers = { "Content-Type": "application/json", Prefer: "return-no-content" };
  const body = JSON.stringify({ TableName: table });
  const result = await http.send({ method: "POST", path: "Tables", headers, body });
  const isCreated = typeof result === "object" && result.status >= 200 && result.status < 300;
  if (isCreated) return undefined;
  const failure = failureOf(result);
  // Another client has created it. A credential without this right
  // waits until the table is there.
  if (typeof result === "object" && result.status === 409 && failure.kind === "failed")
    return undefined;
  return errorOf(failure) === "unauthorized" ? { kind: "tableMissing" } : failure;
}
