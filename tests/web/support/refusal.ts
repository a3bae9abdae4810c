// Runs a call of the official package that must throw.

/** Returns what is thrown, so that it can be compared with what our package throws. */
export function refusalOf(call: () => unknown): { name: string; message: string } {
  try {
    call();
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
  throw new Error("the official package accepts the call");
}
