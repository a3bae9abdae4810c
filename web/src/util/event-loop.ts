// When code runs: in a microtask, or in a later task of the event loop.

const resolved = Promise.resolve();

/**
 * Calls the function in a microtask. Unlike queueMicrotask(), which Jest's fake timers replace, it
 * also does so in tests with such timers.
 */
export function inMicrotask(call: () => void): void {
  void resolved.then(call);
}

// Resolves in a later task, so that the browser can first handle input and paint. setTimeout would
// not do, because browsers delay it by up to a second in hidden pages. Only simulated pages of test
// runners, which are never hidden, may lack MessageChannel.
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof MessageChannel === "undefined") {
      setTimeout(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
