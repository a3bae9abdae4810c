// The places of the official client that are in Node, and how its suite runs under node:test.

import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  type AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  type SignedIdentifier,
  TableClient,
  type TableServiceClientOptions,
} from "@azure/data-tables";
import { type Account, checks, exceptionOf, type Kind, type Place } from "./sdk-surface/index.ts";

export interface Runner {
  run(check: number): Promise<void>;
  close(): Promise<void>;
}

/** One test for each check of the suite. */
export function describeSurface(name: string, kind: Kind, open: () => Promise<Runner>): void {
  describe(name, () => {
    let runner: Runner;
    before(async () => {
      runner = await open();
    });
    after(() => runner?.close());
    for (const [index, check] of checks.entries()) {
      const exception = exceptionOf(check, kind);
      const title =
        exception === undefined ? check.name : `not (${exception.reason}): ${check.name}`;
      test(title, () => runner.run(index));
    }
  });
}

/** A place whose account has a key, which the client has too. */
export function placeWithKey(
  kind: Kind,
  at: Omit<Account, "credential">,
  key: AzureNamedKeyCredential,
  byHost: Omit<Account, "credential"> = at,
): Place {
  const account = { ...at, credential: key };
  return {
    kind,
    account,
    byHost: { ...byHost, credential: key },
    locked: account,
    key,
    signer: { tableSas: generateTableSas, accountSas: generateAccountSas },
    setPolicies: (table: string, policies: SignedIdentifier[]) =>
      new TableClient(at.endpoint, table, key, at.options).setAccessPolicy(policies),
  };
}

/** Options by which every host name means this machine, whatever its certificate says. */
export function anyHostHere(ca?: string): TableServiceClientOptions {
  const here = { address: "127.0.0.1", family: 4 };
  const lookup: LookupFunction = (_name, { all }, done) => {
    if (all === true) done(null, [here]);
    else done(null, here.address, here.family);
  };
  const agent =
    ca === undefined
      ? new http.Agent({ lookup })
      : new https.Agent({ lookup, ca, checkServerIdentity: () => undefined });
  return {
    additionalPolicies: [
      {
        position: "perCall",
        policy: {
          name: "any host here",
          sendRequest(request, next) {
            request.agent = agent;
            return next(request);
          },
        },
      },
    ],
  };
}
