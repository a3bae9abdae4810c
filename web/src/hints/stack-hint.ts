// Shows the hint of an error where tools print only its stack: in the console of Chromium, and in
// the output of Jest. In development only, like the checks of client/development.ts.

declare const process: { env: { NODE_ENV?: string } };

type ErrorWithHint = Error & { hint?: string };

let show: ((error: ErrorWithHint) => void) | undefined;

/**
 * Lets `error.stack` have the last line "hint: …". Does nothing where the stack has no message
 * (Firefox, Safari), or where only its value is known (Node before version 24, whose console prints
 * all properties of an error).
 */
export function showHintInStack(error: ErrorWithHint): void {
  show ??= chosenWay();
  show(error);
}

function chosenWay(): (error: ErrorWithHint) => void {
  try {
    // exactly this expression, in which bundlers put a value
    if (process.env.NODE_ENV !== "production") return isNode() ? whenRead() : insertHint;
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
  return () => {};
}

function isNode(): boolean {
  const { versions } = Object((globalThis as { process?: object }).process);
  return versions?.node !== undefined;
}

// Chromium's console shows a stack only if no script computes it.
function insertHint(error: ErrorWithHint): void {
  const { stack = "" } = error;
  error.stack = withHint(stack, error);
}

// The stack is formatted when it is read. Test runners map each frame to its source then, which
// takes long, and errors such as ResourceNotFound are normal in loops.
function whenRead(): (error: ErrorWithHint) => void {
  const format = Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;
  if (format === undefined) return () => {};
  const property: PropertyDescriptor = {
    configurable: true,
    get(this: ErrorWithHint) {
      return withHint(format.call(this), this);
    },
    set(value) {
      Object.defineProperty(this, "stack", { value, writable: true, configurable: true });
    },
  };
  return (error) => Object.defineProperty(error, "stack", property);
}

// The hint is the last line, because Chromium's console prints the message instead of what comes
// before the first frame.
function withHint(stack: string, { name, message, hint }: ErrorWithHint): string {
  return stack.startsWith(`${name}: ${message}`) ? `${stack}\nhint: ${hint}` : stack;
}
