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
  const removers: (() => void)[] = [];
  // Without the option `signal`, because pages of test runners accept only their own AbortSignal,
  // which the runner may have replaced.
  const on = (
    target: EventTarget,
    type: string,
    eventOf: (e: PageTransitionEvent) => LifecycleEvent | undefined,
  ) => {
    const listen = (e: Event) => {
      const event = eventOf(e as PageTransitionEvent);
      if (event !== undefined) listener(event);
    };
    target.addEventListener(type, listen);
    removers.push(() => target.removeEventListener(type, listen));
  };
  on(document, "visibilitychange", () => (hidden() ? "leaving" : "shown"));
  on(globalThis, "pagehide", ({ persisted }) => (persisted ? "suspend" : "leaving"));
  on(document, "freeze", () => "suspend");
  on(document, "resume", () => "resume");
  on(globalThis, "pageshow", ({ persisted }) => (persisted ? "resume" : undefined));
  return () => {
    for (const remove of removers) remove();
  };
}
