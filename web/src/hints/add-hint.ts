// Adds hints to errors of the service. The texts are loaded with the first error, because most
// pages never need them.

import type { FailedRequest } from "./failed-request.ts";
import type { HintHeader, HttpRequestParts, HttpResponseParts } from "./http-errors.ts";
import type { OnRejectedRequest } from "./rejected-request.ts";
import { showHintInStack } from "./stack-hint.ts";

const loadingMs = 1000;

let texts: typeof import("./texts.ts") | undefined;
let loading: Promise<void> | undefined;

// Resolves to undefined if the texts cannot be loaded (the page is offline, for example), or not
// soon. Loads and waits only once: later errors have hints if the texts are loaded by then.
async function loadTexts(): Promise<typeof texts> {
  loading ??= new Promise(load);
  await loading;
  return texts;
}

async function load(stopWaiting: () => void): Promise<void> {
  const timer = setTimeout(stopWaiting, loadingMs);
  texts = await import("./texts.ts").catch(() => undefined);
  clearTimeout(timer);
  stopWaiting();
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
  if (Object(error).name === "RestError") {
    const isAdded = (await loadTexts())?.addHint(error as Error, request);
    if (isAdded === true) showHintInStack(error as Error);
  }
  throw error;
}

// Resolves to the error response with a hint in a header. In development, also reports the error to
// `onWarning`.
export async function withHttpHint<R extends HttpResponseParts>(
  response: R,
  request: HttpRequestParts,
  header: HintHeader,
  onWarning: OnRejectedRequest | undefined,
): Promise<R> {
  return (await loadTexts())?.addHttpHint(response, request, header, onWarning) ?? response;
}
