// The environments in Node for the official client's suite, and the runner of the suite under
// node:test.

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
import {
  type Account,
  checks,
  type Environment,
  type EnvironmentKind,
  expectedFailureOf,
} from "./sdk-surface/index.ts";

export interface Runner {
  run(check: number): Promise<void>;
  close(): Promise<void>;
}

/** Declares one test for each check of the suite. */
export function describeSurface(
  name: string,
  kind: EnvironmentKind,
  open: () => Promise<Runner>,
): void {
  describe(name, () => {
    let runner: Runner;
    before(async () => {
      runner = await open();
    });
    after(() => runner?.close());
    for (const [index, check] of checks.entries()) {
      const expectedFailure = expectedFailureOf(check, kind);
      const title =
        expectedFailure === undefined
          ? check.name
          : `not (${expectedFailure.reason}): ${check.name}`;
      test(title, () => runner.run(index));
    }
  });
}

/** Returns an environment with an account key, which the client also has. */
export function environmentWithKey(
  kind: EnvironmentKind,
  at: Omit<Account, "credential">,
  key: AzureNamedKeyCredential,
  hostStyle: Omit<Account, "credential"> = at,
): Environment {
  const account = { ...at, credential: key };
  return {
    kind,
    account,
    hostStyle: { ...hostStyle, credential: key },
    locked: account,
    key,
    signer: { tableSas: generateTableSas, accountSas: generateAccountSas },
    setPolicies: (table: string, policies: SignedIdentifier[]) =>
      new TableClient(at.endpoint, table, key, at.options).setAccessPolicy(policies),
  };
}

/**
 * Returns client options that resolve every host name to this machine and accept the test
 * certificate.
 */
export function resolveEveryHostToLoopback(ca?: string): TableServiceClientOptions {
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
