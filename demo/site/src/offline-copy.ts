// Registers the Service Worker, which serves all later pages from its cache, also offline. Without
// Service Workers (plain HTTP), or without the file sw.js (in development), the server serves
// pages.

/** `up` is the relative URL of the site's start page. */
export function registerOfflineCopy(up: string): void {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (workers === undefined) return;
  const keep = () => {
    workers.register(new URL(`${up}sw.js`, location.href)).catch(() => {});
    void workers.ready.then(({ active }) => whenIdle(() => active?.postMessage("keep the rest")));
  };
  if (document.readyState === "complete") keep();
  else addEventListener("load", keep); // the page's own resources load first
}

// The large files are cached when the browser is idle. With Save-Data on, they are cached only on
// use.
function whenIdle(work: () => void): void {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData === true) return;
  if ("requestIdleCallback" in window) requestIdleCallback(work);
  else setTimeout(work, 1000);
}
