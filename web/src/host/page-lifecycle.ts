// Page lifecycle events that matter to a store. Node has no page and no such events. A worker gets
// the events that its page forwards.
//
//   leaving   the page is hidden or may be closing: pending writes are stored at once
//   suspend   the page is frozen or enters the back/forward cache: it must release its lock
//   resume    the page is active again; another owner may have written in the meantime
//   shown     the page is visible again

export type LifecycleEvent = "leaving" | "suspend" | "resume" | "shown";

export interface PageLifecycle {
  hidden(): boolean;
  watch(listener: (event: LifecycleEvent) => void): () => void;
}

export const noPageLifecycle: PageLifecycle = { hidden: () => false, watch: () => () => {} };

export function pageLifecycle(): PageLifecycle {
  return typeof document === "undefined" ? noPageLifecycle : { hidden, watch };
}

function hidden(): boolean {
  return document.visibilityState === "hidden";
}

function watch(listener: (event: LifecycleEvent) => void): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  document.addEventListener("visibilitychange", () => listener(hidden() ? "leaving" : "shown"), {
    signal,
  });
  const on = (
    target: EventTarget,
    type: string,
    event: (e: PageTransitionEvent) => LifecycleEvent,
  ) => target.addEventListener(type, (e) => listener(event(e as PageTransitionEvent)), { signal });
  on(globalThis, "pagehide", ({ persisted }) => (persisted ? "suspend" : "leaving"));
  on(document, "freeze", () => "suspend");
  on(document, "resume", () => "resume");
  globalThis.addEventListener(
    "pageshow",
    ({ persisted }) => {
      if (persisted) listener("resume");
    },
    { signal },
  );
  return () => stop.abort();
}
