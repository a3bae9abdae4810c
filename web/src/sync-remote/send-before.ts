// The time limit of a request whose `fetch` sends it later, because it asks another thread.

/**
 * In the options of `fetch`: the request is sent before this time, by the monotonic clock of the
 * thread that calls it, or not at all. A symbol, because it is not for the application's `fetch`.
 */
export const sendBeforeOption = Symbol("sendBefore");

export interface TimedInit extends RequestInit {
  readonly [sendBeforeOption]?: number | undefined;
}

/** `fetch` rejects with it if the time had passed, so that the request was not sent. */
export class NotSentError extends Error {
  override readonly name = "NotSentError";
}
