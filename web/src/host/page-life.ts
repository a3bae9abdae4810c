// What happens to the page around a store. In a worker or in Node there is none: nothing ever happens there, unless somebody
// who knows the page says so.
//
//   leaving   it may be about to go for good, or is hidden: what is pending is stored at once
//   suspend   it is frozen, or goes into the back/forward cache: it must hold no lock, and may never wake
//   resume    it is back, and others may have written meanwhile
//   shown     it is looked at again

export type LifeEvent = "leaving" | "suspend" | "resume" | "shown";

export interface PageLife {
  hidden(): boolean;
  watch(listener: (event: LifeEvent) => void): () => void;
}

export const noPage: PageLife = { hidden: () => false, watch: () => () => {} };

export function pageLife(): PageLife {
  return typeof document === "undefined" ? noPage : { hidden, watch };
}

function hidden(): boolean {
  return document.visibilityState === "hidden";
}

function watch(listener: (event: LifeEvent) => void): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  document.addEventListener("visibilitychange", () => listener(hidden() ? "leaving" : "shown"), {
    signal,
  });
  const on = (target: EventTarget, type: string, event: (e: PageTransitionEvent) => LifeEvent) =>
    target.addEventListener(type, (e) => listener(event(e as PageTransitionEvent)), { signal });
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
