// The server's limits: their defaults, their ranges, and the settings of Node's server that enforce
// most of them.

import { StoreError } from "../errors.ts";
import { bodyBytesMax } from "../rest/entry-point.ts";
import type { NodeServerOptions } from "../util/node.ts";

export interface ServerLimits {
  /**
   * Bytes that the bodies of all pending requests may take. A request beyond the limit gets 503
   * `ServerBusy` with `Retry-After`, and its body is not read. Default 128 MiB, at least 4 MiB (the
   * longest body). The server takes about three times this memory, because it copies bodies.
   */
  bodyBytes: number;
  /**
   * Bytes of all responses that clients have not read. While they reach the limit, requests get 503
   * `ServerBusy` with `Retry-After`, and so does a read whose response would exceed it. Default 256
   * MiB, at least 64 MiB (the longest response).
   */
  responseBytes: number;
  /** Open connections. Further connections are closed at once. Default 1,000. */
  connections: number;
  /** Requests on one connection. Further requests get 503. Default 10,000. */
  requestsPerConnection: number;
  /**
   * Change feeds that are open at once. Further requests for one get 503 `ServerBusy` with
   * `Retry-After`. Default 100.
   */
  feeds: number;
  /**
   * Milliseconds in which a client must send all headers of a request, from the beginning of the
   * connection or of the request. Otherwise it gets 408, and the connection is closed. Default
   * 20,000, or `requestMs` if that is less.
   */
  headersMs: number;
  /**
   * Milliseconds in which a client must send a request, headers and body. Otherwise it gets 408,
   * and the connection is closed. At least `headersMs`. Default 120,000.
   */
  requestMs: number;
  /**
   * Milliseconds in which a client must read a response, or an event of a change feed. Otherwise
   * the connection is closed. Default 120,000.
   */
  responseMs: number;
  /**
   * Milliseconds for which a connection may be idle between requests. Default 65,000, which is
   * longer than clients keep idle connections, so that the client and not the server closes them.
   */
  idleMs: number;
}

export const limitDefaults: Readonly<ServerLimits> = {
  bodyBytes: 128 * 1024 * 1024,
  responseBytes: 256 * 1024 * 1024,
  connections: 1000,
  requestsPerConnection: 10_000,
  feeds: 100,
  headersMs: 20_000,
  requestMs: 120_000,
  responseMs: 120_000,
  idleMs: 65_000,
};

const greatest = 2 ** 31 - 1; // of Node's timers

const responseBytesMax = 64 * 1024 * 1024; // page_body_bytes_max of core/rest/odata_response_json.h

// The least and the greatest value of each limit.
export const limitRanges: Readonly<Record<keyof ServerLimits, readonly [number, number]>> = {
  bodyBytes: [bodyBytesMax, Number.MAX_SAFE_INTEGER],
  responseBytes: [responseBytesMax, Number.MAX_SAFE_INTEGER],
  connections: [1, greatest],
  requestsPerConnection: [1, greatest],
  feeds: [1, greatest],
  headersMs: [1, greatest],
  requestMs: [1, greatest],
  responseMs: [1, greatest],
  idleMs: [1, greatest],
};

export const limitNames = Object.keys(limitDefaults) as (keyof ServerLimits)[];

// Returns all limits: the given ones and the defaults of the others. Throws ValidationFailed if one
// is out of its range.
export function completeLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const limits = { ...limitDefaults };
  limits.headersMs = Math.min(limits.headersMs, given.requestMs ?? limits.requestMs);
  for (const name of limitNames) {
    const [least, most] = limitRanges[name];
    const value = given[name] ?? limits[name];
    limits[name] = value;
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new StoreError(
        "ValidationFailed",
        `limits.${name} must be a whole number from ${least} to ${most}.`,
      );
    }
  }
  if (limits.headersMs > limits.requestMs) {
    throw new StoreError("ValidationFailed", "limits.headersMs must not exceed limits.requestMs.");
  }
  return limits;
}

// Node compares the time-outs with the age of the connections at this interval.
const checkIntervalMsMax = 5000;

export function nodeServerOptions({
  headersMs,
  requestMs,
  idleMs,
}: ServerLimits): NodeServerOptions {
  return {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    handshakeTimeout: headersMs,
    connectionsCheckingInterval: Math.min(headersMs, checkIntervalMsMax),
  };
}
