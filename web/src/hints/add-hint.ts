// Adds hints to errors of the service. The texts are loaded with the first error, because most
// pages never need them.

import type { FailedRequest } from "./failed-request.ts";
import type { HttpRequestParts, HttpResponseParts } from "./http-errors.ts";

let texts: typeof import("./texts.ts") | undefined;

// Resolves to undefined if the texts could not be loaded: the page is offline, for example.
async function loadTexts(): Promise<typeof texts> {
  texts ??= await import("./texts.ts").catch(() => undefined);
  return texts;
}

// Returns the result of `call`. If `call` throws or rejects, rejects with the error, and adds a
// hint to an error of the service.
export function withHint<R>(
  call: () => R | Promise<R>,
  request: () => FailedRequest,
): R | Promise<R> {
  const onError = (error: unknown) => rejectWithHint(error, request());
  try {
    const result = call();
    return result instanceof Promise ? result.catch(onError) : result;
  } catch (error) {
    return onError(error);
  }
}

export async function rejectWithHint(error: unknown, request: FailedRequest): Promise<never> {
  if ((error as Error).name === "RestError") (await loadTexts())?.addHint(error as Error, request);
  throw error;
}

// Resolves to the error response with a hint in a header.
export async function withHttpHint<R extends HttpResponseParts>(
  response: R,
  request: HttpRequestParts,
): Promise<R> {
  return (await loadTexts())?.addHttpHint(response, request) ?? response;
}
