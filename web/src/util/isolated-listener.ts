// Calls a listener of the application so that its errors do not affect the package.

/**
 * Wraps a listener. If it throws, the error is reported as an unhandled rejection, and the caller
 * continues.
 */
export function isolatedListener<T>(listener: (value: T) => void): (value: T) => void {
  return (value) => {
    try {
      listener(value);
    } catch (error) {
      void Promise.reject(error);
    }
  };
}
