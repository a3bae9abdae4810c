// Stored access policies, and the requests that store them.

import type { Step } from "./request.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { commonHeaders, type Header, makeStep } from "./steps.ts";

export interface Policy {
  id: string;
  start?: string | undefined;
  expiry?: string | undefined;
  permission?: string | undefined;
}

export const xmlType: Header = ["Content-Type", "application/xml"];
// In the form in which both backends return them.
export const validDates = {
  start: "2024-01-01T00:00:00.0000000Z",
  expiry: "2099-01-01T00:00:00.0000000Z",
};
export const pastDates = {
  start: "2020-01-01T00:00:00.0000000Z",
  expiry: "2021-01-01T00:00:00.0000000Z",
};
export const futureDates = {
  start: "2098-01-01T00:00:00.0000000Z",
  expiry: "2099-01-01T00:00:00.0000000Z",
};

// Returns the permissions in a policy's form: each once, in this order.
export function permissionOf(letters: string): string {
  return [..."raud"].filter((letter) => letters.includes(letter)).join("");
}

const element = (name: string, text: string | undefined) =>
  text === undefined ? "" : `<${name}>${text}</${name}>`;

export function policyDocument(policies: readonly Policy[]): string {
  const identifiers = policies.map(({ id, start, expiry, permission }) => {
    const dates = element("Start", start) + element("Expiry", expiry);
    const policy = element("AccessPolicy", dates + element("Permission", permission));
    return element("SignedIdentifier", element("Id", id) + policy);
  });
  return `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers>${identifiers.join("")}</SignedIdentifiers>`;
}

export function setPolicies(
  random: SeededRandom,
  table: string,
  policies: readonly Policy[],
): Step {
  return makeStep({
    operation: "set acl",
    method: "PUT",
    target: `/${table}?comp=acl`,
    headers: [...commonHeaders(random), xmlType],
    body: policyDocument(policies),
    table,
    writes: true,
    expected: "ok",
  });
}
