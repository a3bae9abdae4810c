// Checks of objects that may come from another realm: a frame, a vm context, or a test runner that
// replaces some of the platform's classes. There `instanceof` is false, so nothing else in the
// package uses it with a class of the platform (tests/tidy checks this).

/**
 * Returns whether a value is an object of the platform's class `name`, from any realm. A subclass
 * of a class of the language, such as Error, counts as that class.
 */
export function isPlatformObject(value: unknown, name: string): boolean {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && isPlatformObject(value, "Uint8Array");
}

export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return isPlatformObject(value, "ArrayBuffer");
}

export function isDate(value: unknown): value is Date {
  return value instanceof Date || isPlatformObject(value, "Date");
}

export function isRegExp(value: unknown): value is RegExp {
  return isPlatformObject(value, "RegExp");
}

export function isUrl(value: unknown): value is URL {
  return isPlatformObject(value, "URL");
}

export function isError(value: unknown): value is Error {
  return value instanceof Error || isPlatformObject(value, "Error") || isDomException(value);
}

/** Also recognizes the DOMException of happy-dom, which is an ordinary subclass of Error. */
export function isDomException(value: unknown): value is DOMException {
  if (isPlatformObject(value, "DOMException")) return true;
  if (!isPlatformObject(value, "Error")) return false;
  for (let at = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at)) {
    if (at.constructor?.name === "DOMException") return true;
  }
  return false;
}

/** Returns the error itself, or an Error for another value that was thrown. */
export function toError(cause: unknown): Error {
  return isError(cause) ? cause : new Error(String(cause));
}

/** Returns the message of an error, or another value that was thrown, as text. */
export function errorMessage(cause: unknown): string {
  return isError(cause) ? cause.message : String(cause);
}
