// Shows the hint of an error where tools print only its stack: in the console of Chromium, and in
// the output of Jest. In development only, like the checks of client/development.ts.

declare const process: { env: { NODE_ENV?: string } };

let property: PropertyDescriptor | undefined;
let isDecided = false;

/**
 * Lets `error.stack` have the line "hint: …" after the message. The engine still formats the stack
 * only when it is read, because errors such as ResourceNotFound are normal in loops. Does nothing
 * in an engine whose stacks are plain values (V8 before version 13), or have no message (Firefox).
 */
export function showHintInStack(error: Error & { hint?: string }): void {
  if (!isDecided) property = decide();
  if (property !== undefined) Object.defineProperty(error, "stack", property);
}

function decide(): PropertyDescriptor | undefined {
  isDecided = true;
  try {
    // exactly this expression, in which bundlers put a value
    if (process.env.NODE_ENV !== "production") return stackProperty();
  } catch {
    // A page without a bundler has no `process`, so it counts as production.
  }
  return undefined;
}

function stackProperty(): PropertyDescriptor | undefined {
  const format = Object.getOwnPropertyDescriptor(new Error(), "stack")?.get;
  if (format === undefined) return undefined;
  return {
    configurable: true,
    get(this: Error & { hint?: string }) {
      const stack: string = format.call(this);
      const { name, message, hint } = this;
      const head = `${name}: ${message}`;
      if (hint === undefined || !stack.startsWith(head)) return stack;
      return `${head}\nhint: ${hint}${stack.slice(head.length)}`;
    },
    set(value) {
      Object.defineProperty(this, "stack", { value, writable: true, configurable: true });
    },
  };
}
