// Resolves in a later task, so that the browser can first handle input and paint. setTimeout would
// not do, because browsers delay it by up to a second in hidden pages.
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
