// Connects a session to a table of the remote, which is created if something is to be pushed.

import type { Failure } from "../sync/remote.ts";
import type { Http } from "../sync-remote/http.ts";
import { HttpRemote, settleMsMin } from "../sync-remote/http-remote.ts";
import { probe } from "../sync-remote/probe.ts";
import { failureOf } from "../sync-remote/service-error.ts";
import { splitRange } from "../sync-remote/split-range.ts";
import type { Connection } from "../sync-session/session-options.ts";

export interface ConnectOptions {
  readonly http: Http;
  readonly table: string;
  /** The client's name in its receipts. */
  readonly client: () => Promise<string>;
  /** Whether the table is to be created if it is missing. */
  readonly mayCreate: () => Promise<boolean>;
}

const settleMs = Math.max(90_000, settleMsMin);

/** Returns a function that asks what the remote can do. It never rejects. */
export function connector(options: ConnectOptions): () => Promise<Connection | Failure> {
  const { http } = options;
  return async () => {
    try {
      const answer = await connect(options);
      if (answer.kind === "unauthorized") http.refresh();
      return answer;
    } catch {
      return { kind: "failed" };
    }
  };
}

async function connect(options: ConnectOptions): Promise<Connection | Failure> {
  const { client, http, mayCreate, table } = options;
  let probed = await probe(http, table);
  if (probed.kind === "tableMissing" && (await mayCreate())) {
    const failure = await createTable(http, table);
    if (failure) return failure;
    probed = await probe(http, table);
  }
  if (probed.kind !== "probed") return probed;
  const { profile } = probed;
  const remote = new HttpRemote(http, { table, client: await client(), profile });
  return {
    kind: "connected",
    remote,
    limits: profile.limits,
    settleMs,
    split: (whole, count) => splitRange((range) => remote.firstKey(range), whole, count),
  };
}

/** Returns the failure, if the table does not exist afterwards. */
async function createTable(http: Http, table: string): Promise<Failure | undefined> {
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
  return failure.kind === "unauthorized" ? { kind: "tableMissing" } : failure;
}
