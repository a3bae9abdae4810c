// Checks of everything that the official client does. They run in every environment: over a store
// in Node, in a page, through a Service Worker, and through a server over HTTP and HTTPS.

import { access } from "./access.ts";
import { entities } from "./entities.ts";
import {
  type Check,
  CheckContext,
  type Environment,
  type EnvironmentKind,
  rejectionOf,
} from "./environment.ts";
import { queries } from "./queries.ts";
import { service } from "./service.ts";
import { tables } from "./tables.ts";
import { transactions } from "./transactions.ts";

export type { Account, Environment, EnvironmentKind } from "./environment.ts";

export const checks: readonly Check[] = [
  ...tables,
  ...entities,
  ...queries,
  ...transactions,
  ...access,
  ...service,
];

export interface ExpectedFailure {
  check: string;
  kinds: EnvironmentKind[];
  reason: string;
  error: RegExp; // the error of such an attempt
}

/**
 * The checks that fail in some environments because of restrictions of the client or the emulator.
 * The suite verifies that they still fail.
 */
export const expectedFailures: readonly ExpectedFailure[] = [
  {
    check: "a key authorizes, alone or in a connection string; a wrong key does not",
    kinds: ["page", "worker"],
    reason:
      "the client's build for browsers accepts no keys: sign a SAS with entitable/data-tables",
    error: /Shared Access Key authentication is not supported in the browser/,
  },
  {
    check: "a token is sent, and accepted if no authorization is required",
    kinds: ["http"],
    reason: "the client sends tokens over HTTPS only",
    error: /not permitted for non-TLS protected/,
  },
  {
    check: "a token is sent, and accepted if no authorization is required",
    kinds: ["node", "https"],
    reason: "these accounts require signatures, and only the service itself accepts tokens",
    error: /AuthenticationFailed/,
  },
];

export function expectedFailureOf(
  check: Check,
  kind: EnvironmentKind,
): ExpectedFailure | undefined {
  return expectedFailures.find(
    ({ check: name, kinds }) => name === check.name && kinds.includes(kind),
  );
}

/** Runs a check. REQUIRES: each check runs only once in an environment. */
export async function runCheck(index: number, environment: Environment): Promise<void> {
  const check = checks[index];
  if (check === undefined) throw new Error(`There is no check ${index}.`);
  const running = check.run(new CheckContext(environment, `check${index}`));
  const expectedFailure = expectedFailureOf(check, environment.kind);
  if (expectedFailure === undefined) return await running;
  const error = await rejectionOf(running);
  if (!expectedFailure.error.test(String(error))) throw error;
}
