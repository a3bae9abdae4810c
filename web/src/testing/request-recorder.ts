// The log of requests to a mock store.

import { matches } from "./request-match.ts";
import type { LoggedRequest, RequestLog, RequestMatch } from "./types.ts";

interface RecorderOptions {
  // false: requests are not kept, because the log is never read.
  readonly retains?: boolean;
  // Called with each request, including those to forks of the store.
  readonly onRequest?: (request: LoggedRequest) => void;
}

export class RequestRecorder implements RequestLog {
  readonly #options: RecorderOptions;
  #requests: LoggedRequest[] = [];

  constructor(options: RecorderOptions = {}) {
    this.#options = options;
  }

  add(request: LoggedRequest): void {
    if (this.#options.retains ?? true) this.#requests.push(request);
    this.#options.onRequest?.(request);
  }

  // Returns an empty log for a fork. It has the same listener.
  forFork(): RequestRecorder {
    const { onRequest } = this.#options;
    return new RequestRecorder(onRequest === undefined ? {} : { onRequest });
  }

  all(): readonly LoggedRequest[] {
    return [...this.#requests];
  }

  matching(
    what: (RequestMatch & { status?: number; code?: string }) | ((r: LoggedRequest) => boolean),
  ): LoggedRequest[] {
    if (typeof what === "function") return this.#requests.filter(what);
    return this.#requests.filter(
      (request) =>
        matches(what, request) &&
        (what.status === undefined || what.status === request.status) &&
        (what.code === undefined || what.code === request.code),
    );
  }

  clear(): void {
    this.#requests = [];
  }
}
