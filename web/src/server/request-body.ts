// The body of one request, in memory that the budget of the server allows.
//
//   if (body.reserve() && (await body.read()) === "received") use(body.bytes);
//   body.release();
//
// A body counts with its Content-Length, before it is read. A body of unknown length counts with
// the memory that it takes so far. No body counts with more than 4 MiB, because no more is read.

import { bodyBytesMax } from "../rest/entry-point.ts";
import type { NodeRequest } from "../util/node.ts";
import type { BodyBudget } from "./body-budget.ts";

// received       as much as the store needs: all of it, or more than the longest body
// no memory      the budget does not allow the next bytes
// disconnected   the client closed the connection before the end
export type ReadOutcome = "received" | "no memory" | "disconnected";

export class RequestBody {
  readonly #request: NodeRequest;
  readonly #budget: BodyBudget;
  readonly #announced: number | undefined; // Content-Length; undefined: sent in chunks
  #buffer = new Uint8Array();
  #length = 0;
  #reserved = 0;
  #isComplete: boolean;

  constructor(request: NodeRequest, budget: BodyBudget) {
    this.#request = request;
    this.#budget = budget;
    const { "transfer-encoding": encoding, "content-length": contentLength = 0 } = request.headers;
    this.#announced = encoding === undefined ? Number(contentLength) : undefined;
    this.#isComplete = this.#announced === 0;
  }

  // Whether all of the body was received; also if the request has none.
  get isComplete(): boolean {
    return this.#isComplete;
  }

  // Whether the announced length exceeds the longest body. Such a body is not read.
  get isAnnouncedTooLong(): boolean {
    return (this.#announced ?? 0) > bodyBytesMax;
  }

  // How many bytes were received.
  get receivedLength(): number {
    return this.#length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  // Reserves the memory for a body of known length. Returns false if the budget does not allow it.
  reserve(): boolean {
    return this.#reserveUpTo(this.#announced ?? 0);
  }

  // Reads the body. REQUIRES: reserve() returned true.
  read(): Promise<ReadOutcome> {
    if (this.isAnnouncedTooLong) {
      // The store rejects the body by its length, so the content is not needed.
      this.#length = bodyBytesMax + 1;
      this.#buffer = new Uint8Array(this.#length);
      return Promise.resolve("received");
    }
    return new Promise((resolve) => {
      const request = this.#request;
      if (request.destroyed) resolve("disconnected"); // its events have been emitted already
      const onData = (chunk: Uint8Array) => {
        const isAdded = this.#add(chunk);
        if (isAdded && this.#length <= bodyBytesMax) return;
        request.off("data", onData);
        resolve(isAdded ? "received" : "no memory");
      };
      request.on("data", onData);
      request.on("end", () => {
        this.#isComplete = true;
        resolve("received"); // no effect if the body was too long
      });
      request.on("close", () => resolve("disconnected")); // no effect if "end" came first
      request.on("error", () => resolve("disconnected"));
    });
  }

  // Returns the memory to the budget. The body must not be used any more.
  release(): void {
    this.#budget.release(this.#reserved);
    this.#reserved = 0;
    this.#buffer = new Uint8Array();
  }

  // Appends the chunk to one buffer. For a client that sends single bytes, a list of chunks would
  // use a hundred times the memory. Returns false if the budget does not allow a larger buffer.
  #add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const capacity = this.#announced ?? Math.max(length, 2 * this.#buffer.length);
      if (!this.#reserveUpTo(capacity)) return false;
      const larger = new Uint8Array(capacity);
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return true;
  }

  #reserveUpTo(bytes: number): boolean {
    const counted = Math.min(bytes, bodyBytesMax);
    if (!this.#budget.reserve(counted - this.#reserved)) return false;
    this.#reserved = counted;
    return true;
  }
}
