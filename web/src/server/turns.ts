// Lets the requests of each connection take turns: a request is handled after the response to the
// previous one was sent. A client that sends many requests at once (pipelining) and reads no
// response therefore makes the server keep one response, not one for each request.

// Node reads requests in pieces of 64 KiB, which hold up to about 2,000 requests.
const waitingMax = 64;

export class Turns {
  readonly #waiting = new WeakMap<object, (() => Promise<void>)[]>(); // by connection

  // Runs `handle` when the connection's earlier calls have ended. It must not reject. Returns
  // false, and will not run it, if too many calls wait.
  run(connection: object, handle: () => Promise<void>): boolean {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) {
      this.#waiting.set(connection, []);
      void this.#runAll(connection, handle);
    } else {
      if (waiting.length >= waitingMax) return false;
      waiting.push(handle);
    }
    return true;
  }

  async #runAll(connection: object, first: () => Promise<void>): Promise<void> {
    const waiting = this.#waiting.get(connection) ?? [];
    for (let next: (() => Promise<void>) | undefined = first; next; next = waiting.shift())
      await next();
    this.#waiting.delete(connection);
  }
}
