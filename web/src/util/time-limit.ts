// Waiting for a promise for a limited time.

export class TimedOut extends Error {}

// Rejects with TimedOut if the promise does not settle within `ms`.
export function withTimeLimit<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimedOut("The browser does not respond.")), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
