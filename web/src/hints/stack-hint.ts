// Shows the hint of an error where tools print only its stack: in the console of Chromium, and in
// the output of Jest. In development only, like the checks of client/development.ts.

declare const process: { env: { NODE_ENV?: string } };

type ErrorWithHint = Error & { hint?: string };

let show: ((error: ErrorWithHint) => void) | undefined;

/**
 * Lets `error.stack` have the last line "hint: …". Does nothing where the stack has no message
 * (Firefox, Safari), and in Node without Jest, because Node's console prints the properties of an
 * error.
 */
export function showHintInStack(error: ErrorWithHint): void {
  show ??= chosenWay();
  show(error);
}

function chosenWay(): (error: ErrorWithHint) => void {
  try {
    // exactly this expression, in which bundlers put a value
    if (process.env.NODE_ENV !== "production" && !isNodeWithoutJest()) return insertHint;
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
  return () => {};
}

function isNodeWithoutJest(): boolean {
  const { env, versions } = Object((globalThis as { process?: object }).process);
  return versions?.node !== undefined && env?.JEST_WORKER_ID === undefined;
}

/**
 * Adds the hint to a stack that begins with the message. The hint is the last line, because
 * Chromium's console prints the message instead of what comes before the first frame. It prints no
 * stack that a getter computes, and neither does a debugger of Node.
 */
export function insertHint(error: ErrorWithHint): void {
  try {
    const { name, message, hint, stack } = error;
    if (typeof stack !== "string" || !stack.startsWith(`${name}: ${message}`)) return;
    const value = `${stack}\nhint: ${hint}`;
    Object.defineProperty(error, "stack", { value, writable: true, configurable: true });
  } catch {
    // The error is more important: an application's function formats stacks, and it threw.
  }
}
