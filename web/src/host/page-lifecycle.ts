// What happens to the page around a store. In a worker or in Node there is none: nothing ever happens there, unless somebody
// who knows the page says so.
//
//   leaving   it may be about to go for good, or is hidden: what is pending is stored at once
//   suspend   it is frozen, or goes into the back/forward cache: it must hold no lock, and may never wake
//   resume    it is back, and others may have written meanwhile
//   shown     it is looked at again

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
