// What a response means that is not the result of a request.

import type { Failure } from "../sync/remote.ts";
import type { HttpResponse, HttpResult } from "./http.ts";

export interface ServiceError {
  readonly code: string;
  /** The index of the operation of a batch that failed. */
  readonly index: number | undefined;
}

/** Returns undefined if the body is not an error of the service: a proxy sends any status. */
export function serviceErrorOf(body: string): ServiceError | undefined {
  const text = body.replace(/^\ufeff/, "").trim();
  if (text.startsWith("<?xml")) {
    const [, code] = /<(?:m:)?error\b[^>]*>\s*<(?:m:)?code>\s*([\w.]+)/i.exec(text) ?? [];
    return code === undefined ? undefined : { code, index: undefined };
  }
  try {
    const { code, message } = JSON.parse(text)["odata.error"];
    if (typeof code !== "string" || code === "") return undefined;
    const [, index] = /^(\d+):/.exec(String(message?.value ?? "")) ?? [];
    return { code, index: index === undefined ? undefined : Number(index) };
  } catch {
    return undefined;
  }
}

/** Also while a table is being deleted, which takes about 40 s: nothing is executed. */
export const isTableMissing = (status: number, code: string | undefined): boolean =>
  (status === 404 && code === "TableNotFound") || (status === 409 && code === "TableBeingDeleted");

/** The service cannot do what the request asks for. */
export const isRefusal = ({ status, text }: HttpResponse): boolean =>
  (status === 400 || status === 501) && serviceErrorOf(text) !== undefined;

/** Of an entity; Cosmos DB says the same of a table. "EntityNotFound" is the documented code. */
export const isAbsence = (status: number, code: string | undefined): boolean =>
  status === 404 && (code === "ResourceNotFound" || code === "EntityNotFound");

/** Of a request, or of an operation of a batch. */
export const isUnauthorized = (status: number): boolean => status === 401 || status === 403;

/** REQUIRES: it is a failure. */
export function failureOf(response: HttpResult): Failure {
  if (response === "noCredential") return { kind: "unauthorized", lacksCredential: true };
  if (response === undefined || response === "notSent") return { kind: "failed" };
  const { status, text, retryAfterMs } = response;
  const code = serviceErrorOf(text)?.code;
  const isMalformed = code === "InvalidAuthenticationInfo"; // 400
  if (isMalformed || (code !== undefined && isUnauthorized(status)))
    return { kind: "unauthorized" };
  if (isTableMissing(status, code)) return { kind: "tableMissing" };
  return { kind: "failed", retryAfterMs };
}

/** Of a query, which needs only the table. REQUIRES: it is a failure. */
export function failureOfQuery(response: HttpResult): Failure {
  const failure = failureOf(response);
  if (failure.kind !== "failed" || typeof response !== "object") return failure;
  const isMissing = isAbsence(response.status, serviceErrorOf(response.text)?.code);
  return isMissing ? { kind: "tableMissing" } : failure;
}
