// Counts the memory that bodies take, against one limit: those of all pending requests, or those of
// all responses that are being sent.

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
    if (!this.fits(bytes)) return false;
    this.#used += bytes;
    return true;
  }

  // Reserves the bytes even if they exceed the limit.
  reserveBeyondLimit(bytes: number): void {
    this.#used += bytes;
  }

  get isExhausted(): boolean {
    return this.#used >= this.#limit;
  }

  fits(bytes: number): boolean {
    return this.#used + bytes <= this.#limit;
  }

  // REQUIRES: the bytes were reserved.
  release(bytes: number): void {
    this.#used -= bytes;
  }
}
