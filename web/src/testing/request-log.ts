// What reached a store.

import { matches } from "./request-match.ts";
import type { LoggedRequest, RequestLog, RequestMatch } from "./types.ts";

interface LogOptions {
  // One that keeps nothing is for stores that nobody can ask what was asked of them.
  readonly keeps?: boolean;
  // Is told of each request, also of those to forks of the store.
  readonly hear?: (request: LoggedRequest) => void;
}

export class Log implements RequestLog {
  readonly #options: LogOptions;
  #requests: LoggedRequest[] = [];

  constructor(options: LogOptions = {}) {
    this.#options = options;
  }

  add(request: LoggedRequest): void {
    if (this.#options.keeps ?? true) this.#requests.push(request);
    this.#options.hear?.(request);
  }

  // Empty.
  ofFork(): Log {
    const { hear } = this.#options;
    return new Log(hear === undefined ? {} : { hear });
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
