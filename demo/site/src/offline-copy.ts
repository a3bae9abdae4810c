// From the second page on, and without a network, pages come from what the first visit left behind. Where there are no Service Workers (plain
// HTTP), or no such file (while developing), they come from the server.

/** `up` leads from this page to the site's start. */
export function keepOffline(up: string): void {
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (workers === undefined) return;
  const keep = () => {
    workers.register(new URL(`${up}sw.js`, location.href)).catch(() => {});
    void workers.ready.then(({ active }) => whenIdle(() => active?.postMessage("keep the rest")));
  };
  if (document.readyState === "complete") keep();
  else addEventListener("load", keep); // what the page itself needs comes first
}

// The rest is large. Who pays by the byte has it when it is asked for, and not before.
function whenIdle(work: () => void): void {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData === true) return;
  if ("requestIdleCallback" in window) requestIdleCallback(work);
  else setTimeout(work, 1000);
}
