// Adds to RPC responses what the official client's responses have because they come from HTTP:
// request ids, the service version, and the wire form of dates, row keys and error messages.

import { RestError } from "../errors.ts";
import type { RestEntryPoint } from "../rest/entry-point.ts";
import type {
  TableTransactionEntityResponse,
  TableTransactionResponse,
  TransactionAction,
} from "../types.ts";
import { randomGuid } from "../util/random.ts";

export const serviceVersion = "2019-02-02";

export interface ResponseHeaders {
  clientRequestId: string;
  requestId: string;
  version: string;
}

export function responseHeaders(version: string, { random }: RestEntryPoint): ResponseHeaders {
  return { clientRequestId: randomGuid(random), requestId: randomGuid(random), version };
}

// Rounds down to a second, the resolution of HTTP's Date header.
export function truncateToSeconds(date: Date): Date {
  return new Date(Math.floor(date.getTime() / 1000) * 1000);
}

// Converts a transaction's response to the service's form: only the responses to creations have the
// row key, encoded as in a URL.
export function toServiceTransactionResponse(
  response: TableTransactionResponse,
  actions: readonly TransactionAction[],
): TableTransactionResponse {
  const subResponses = response.subResponses.map(
    ({ rowKey = "", ...part }, i): TableTransactionEntityResponse =>
      actions[i]?.[0] === "create" ? { ...part, rowKey: encodeKeyForUrl(rowKey) } : part,
  );
  return {
    ...response,
    subResponses,
    getResponseForEntity: (rowKey) => subResponses.find((part) => part.rowKey === rowKey),
  };
}

function encodeKeyForUrl(key: string): string {
  return encodeURIComponent(key.replaceAll("'", "''"));
}

// Returns the error in the official client's form. Its message is the body of the response, whose
// text ends with the request id and the time. For a transaction, the message is the text of the
// action that failed, and the error has no details.
export function toServiceError(
  error: RestError,
  isTransaction: boolean,
  restEntryPoint: RestEntryPoint,
): RestError {
  const { code = "", statusCode, hint, response } = error;
  const known = {
    code,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(hint === undefined ? {} : { hint }),
  };
  const body = (response as { bodyAsText?: string } | undefined)?.bodyAsText;
  if (body !== undefined) return new RestError(body, { ...known, details: error.details ?? {} });
  const time = new Date(restEntryPoint.now()).toISOString().replace("Z", "0000Z");
  const value = `${error.message}\nRequestId:${randomGuid(restEntryPoint.random)}\nTime:${time}`;
  if (isTransaction) return new RestError(value, known);
  const odataError = { code, message: { lang: "en-US", value } };
  const details = { odataError, errorCode: code };
  return new RestError(JSON.stringify({ "odata.error": odataError }), { ...known, details });
}
