// What reached a store.

import { matches } from "./request-match.ts";
import type { LoggedRequest, RequestLog, RequestMatch } from "./types.ts";

export class Log implements RequestLog {
  readonly #keeps: boolean;
  #requests: LoggedRequest[] = [];

  // One that keeps nothing is for stores that nobody can ask what was asked of them.
  constructor(keeps = true) {
    this.#keeps = keeps;
  }

  add(request: LoggedRequest): void {
    if (this.#keeps) this.#requests.push(request);
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
