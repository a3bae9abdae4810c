// What every answer of the store has to have, whatever was asked and whatever Azurite says (spec §2.5, §8.2).

import { type Difference, headerOf, type RawResponse, type Seen, type Step } from "./request.ts";

const newest = "2020-12-06";

// The version that an answer has to name.
export function askedVersion(step: Step): string {
  const ofSignature = step.sas?.["sv"] ?? /[?&]sv=([^&]+)/.exec(step.target)?.[1];
  const version = headerOf(step, "x-ms-version") ?? ofSignature ?? newest;
  return /^\d{4}-\d\d-\d\d$/.test(version) ? version : newest;
}

export function breaches(step: Step, response: RawResponse, seen: Seen): Difference[] {
  const out: Difference[] = [];
  const ought = (name: string, holds: boolean, theirs: string) => {
    if (!holds) out.push({ path: `ought.${name}`, ours: response.headers.get(name), theirs });
  };
  const is = (name: string, value: string | undefined) =>
    ought(name, response.headers.get(name) === value, value ?? "none");
  is("x-ms-version", askedVersion(step));
  is("x-ms-client-request-id", headerOf(step, "x-ms-client-request-id"));
  ought(
    "x-ms-request-id",
    /^[\da-f-]{36}$/.test(response.headers.get("x-ms-request-id") ?? ""),
    "a GUID",
  );
  ought("date", !Number.isNaN(Date.parse(response.headers.get("date") ?? "")), "a date");
  if (response.body === "") is("content-type", undefined);
  if (response.status >= 400) {
    is("x-ms-error-code", seen.code);
    ought("code", seen.code !== "", "a code in the body");
  }
  return out;
}
