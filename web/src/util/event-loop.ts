// Lets the event loop turn once, so that input and painting come first. Not setTimeout, which browsers slow down to a second
// in hidden pages.
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
