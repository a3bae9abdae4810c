// Which requests a page of another origin may send, and which headers it may read: asks as a
// browser would. Only programs outside of browsers can send these requests.

import type { Http } from "./http.ts";

export interface CorsReport {
  readonly origin: string;
  /** Pages can send batches. */
  readonly push: boolean;
  /** Pages can read responses. */
  readonly read: boolean;
  /** Headers that sync needs, and that pages cannot read. */
  readonly hidden: readonly string[];
}

/** What the account's owner must set. A page's origin can take the place of "*". */
export const corsRule = {
  allowedOrigins: "*",
  allowedMethods: "GET,POST",
  allowedHeaders: "content-type,accept",
  exposedHeaders: "x-ms-continuation-NextPartitionKey,x-ms-continuation-NextRowKey,date",
  maxAgeInSeconds: 7200,
} as const;

/** Undefined: the remote did not answer. REQUIRES: the table has two entities. */
export async function examineCors(
  http: Http,
  table: string,
  origin: string,
): Promise<CorsReport | undefined> {
  const preflight = await http.send({
    method: "OPTIONS",
    path: "$batch",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "content-type",
    },
  });
  const read = await http.send({
    method: "GET",
    path: `${table}()`,
    query: { $top: "1" }, // so that the response has tokens
    headers: { Origin: origin },
  });
  if (typeof preflight !== "object" || typeof read !== "object") return undefined;
  const allows = ({ headers }: { headers: Headers }) =>
    ["*", origin].includes(headers.get("Access-Control-Allow-Origin") ?? "");
  const exposed = listOf(read.headers.get("Access-Control-Expose-Headers"));
  return {
    origin,
    push: preflight.status === 200 && allows(preflight),
    read: allows(read),
    hidden: corsRule.exposedHeaders.split(",").filter((name) => !isExposed(name, exposed)),
  };
}

const listOf = (header: string | null): string[] =>
  (header ?? "").split(",").map((name) => name.trim().toLowerCase());

const isExposed = (name: string, exposed: readonly string[]): boolean =>
  exposed.includes("*") || exposed.includes(name.toLowerCase());
