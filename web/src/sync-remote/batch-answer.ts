// What the response to a push means.

import { isConflict, isTemporary } from "../sync/answer.ts";
import type { Version } from "../sync/hidden-tables.ts";
import type { PushAnswer } from "../sync/remote.ts";
import { isETag } from "./entity-json.ts";
import type { HttpResponse, HttpResult } from "./http.ts";
import { failureOf, isTableMissing, type ServiceError, serviceErrorOf } from "./service-error.ts";
import { timestampOfETag } from "./timestamp.ts";

interface Part {
  readonly status: number;
  readonly etag: string | undefined;
  readonly body: string;
}

/** `deletes`: which operations delete an entity; the first may be the receipt. */
export function answerOfBatch(
  result: HttpResult,
  deletes: readonly boolean[],
  hasReceipt: boolean,
): PushAnswer {
  if (result === "notSent") return { kind: "notSent" };
  if (result === undefined || result === "noCredential") return failureOf(result);
  if (!isSuccess(result.status)) return answerOfError(result, deletes.length);
  const parts = partsOf(result.text);
  const [first] = parts ?? [];
  if (parts === undefined || first === undefined) return failureOf(result);
  if (!isSuccess(first.status)) {
    return parts.length === 1 ? answerOfPart(first, result, deletes.length) : failureOf(result);
  }
  const versions = parts.map((part, index) => versionOf(part, deletes[index] === true, result));
  const isComplete = parts.length === deletes.length && !versions.includes(null);
  if (!isComplete) return failureOf(result);
  const known = versions as (Version | undefined)[];
  const receipt = hasReceipt ? known.shift() : undefined;
  return { kind: "applied", receipt, versions: known };
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * Returns null if the part does not say that the operation was executed. An ETag that has no
 * Timestamp gets the time of the response, until a scan brings the entity's own.
 */
function versionOf(
  { status, etag }: Part,
  isDelete: boolean,
  { date }: HttpResponse,
): Version | undefined | null {
  if (!isSuccess(status)) return null;
  if (isDelete) return undefined;
  if (!isETag(etag)) return null;
  return { etag, timestamp: timestampOfETag(etag) ?? date ?? 0n };
}

/** The whole request failed. */
function answerOfError(response: HttpResponse, operations: number): PushAnswer {
  const { status, text } = response;
  const failure = failureOf(response);
  const isFinal = status >= 400 && !isTemporary(status);
  if (failure.kind !== "failed" || !isFinal) return failure;
  const error = serviceErrorOf(text);
  const refused = error && refusalOf(status, error, operations);
  return refused ?? { kind: "rejected", code: error?.code ?? `HTTP ${status}` };
}

/** One operation failed. It can fail like a whole request, then without an index. */
function answerOfPart(
  { status, body }: Part,
  response: HttpResponse,
  operations: number,
): PushAnswer {
  const error = serviceErrorOf(body);
  if (error === undefined || isTemporary(status)) return failureOf(response);
  if (isTableMissing(status, error.code)) return { kind: "tableMissing" };
  return refusalOf(status, error, operations) ?? { kind: "rejected", code: error.code };
}

/**
 * Without an index, a conflict is attributed to the first operation: all members are read anyway,
 * and the receipt, if it is the first, tells whether it was the cause.
 */
function refusalOf(
  status: number,
  { code, index }: ServiceError,
  operations: number,
): PushAnswer | undefined {
  const isKnown = index !== undefined || operations === 1 || isConflict(status);
  if (!isKnown || (index ?? 0) >= operations) return undefined;
  return { kind: "refused", index: index ?? 0, status, code };
}

/** Returns undefined if the body is not a complete batch response. */
function partsOf(text: string): Part[] | undefined {
  const body = text.trim();
  const [outer = ""] = /^--\S+/.exec(body) ?? [];
  if (outer === "" || !body.endsWith(`${outer}--`)) return undefined;
  const [, inner] = /^content-type:\s*multipart\/mixed;\s*boundary="?([^"\s;]+)/im.exec(body) ?? [];
  const pieces = body.split(inner === undefined ? outer : `--${inner}`).slice(1, -1);
  const parts = pieces.map(partOf);
  return parts.includes(undefined) ? undefined : (parts as Part[]);
}

const responseOfPart = /\r?\n\r?\nHTTP\/\d\.\d (\d{3})([\s\S]*?)\r?\n\r?\n([\s\S]*)/;

function partOf(piece: string): Part | undefined {
  const [, status, headers = "", body = ""] = responseOfPart.exec(`${piece}\r\n\r\n`) ?? [];
  if (status === undefined) return undefined;
  const [, etag] = /^etag:[ \t]*(.*?)[ \t]*$/im.exec(headers) ?? [];
  return { status: Number(status), etag, body: body.trim() };
}
