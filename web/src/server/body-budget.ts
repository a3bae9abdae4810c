// Counts the memory that the bodies of all pending requests take, against one limit.

export class BodyBudget {
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  // The bytes that are reserved.
  get used(): number {
    return this.#used;
  }

  // Reserves the bytes. Returns false, and reserves nothing, if they exceed the limit.
  reserve(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false;
    this.#used += bytes;
    return true;
  }

  // REQUIRES: the bytes were reserved.
  release(bytes: number): void {
    this.#used -= bytes;
  }
}
