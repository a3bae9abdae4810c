// Rules that every response of the store must follow, whatever Azurite does (SERVICE.md §9.1 and
// §2.5).

import {
  type Difference,
  headerOf,
  type NormalisedResponse,
  type RawResponse,
  type Step,
} from "./request.ts";

const newest = "2020-12-06";

// Returns the service version that the response must name.
export function requestedVersion(step: Step): string {
  const ofSignature = step.sas?.["sv"] ?? /[?&]sv=([^&]+)/.exec(step.target)?.[1];
  const version = headerOf(step, "x-ms-version") ?? ofSignature ?? newest;
  return /^\d{4}-\d\d-\d\d$/.test(version) ? version : newest;
}

export function ruleViolations(
  step: Step,
  response: RawResponse,
  normalised: NormalisedResponse,
): Difference[] {
  const out: Difference[] = [];
  const rule = (name: string, holds: boolean, theirs: string) => {
    if (!holds) out.push({ path: `rule.${name}`, ours: response.headers.get(name), theirs });
  };
  const expectHeader = (name: string, value: string | undefined) =>
    rule(name, response.headers.get(name) === value, value ?? "none");
  expectHeader("x-ms-version", requestedVersion(step));
  expectHeader("x-ms-client-request-id", headerOf(step, "x-ms-client-request-id"));
  rule(
    "x-ms-request-id",
    /^[\da-f-]{36}$/.test(response.headers.get("x-ms-request-id") ?? ""),
    "a GUID",
  );
  rule("date", !Number.isNaN(Date.parse(response.headers.get("date") ?? "")), "a date");
  if (response.body === "") expectHeader("content-type", undefined);
  if (response.status >= 400) {
    expectHeader("x-ms-error-code", normalised.code);
    rule("code", normalised.code !== "", "a code in the body");
  }
  return out;
}
