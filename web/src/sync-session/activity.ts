// What a platform says about the user and the network.

/** "focus": the user has turned to the page, which may have been visible all the time. */
export type ActivityEvent = "online" | "offline" | "shown" | "hidden" | "focus";

export interface Activity {
  /** False: certainly offline. True: perhaps online. */
  isOnline(): boolean;
  isVisible(): boolean;
  /** Returns a function that ends the watch. */
  watch(listener: (event: ActivityEvent) => void): () => void;
}

/** Of a platform without pages. */
export const alwaysActive: Activity = {
  isOnline: () => true,
  isVisible: () => true,
  watch: () => () => {},
};

/** Of this page. In Node and in workers, always active. */
export function pageActivity(): Activity {
  if (typeof document === "undefined") return alwaysActive;
  return {
    isOnline: () => globalThis.navigator?.onLine !== false,
    isVisible: () => document.visibilityState !== "hidden",
    watch,
  };
}

function watch(listener: (event: ActivityEvent) => void): () => void {
  const removers: (() => void)[] = [];
  const on = (target: EventTarget, type: string, eventOf: () => ActivityEvent) => {
    const listen = () => listener(eventOf());
    target.addEventListener(type, listen);
    removers.push(() => target.removeEventListener(type, listen));
  };
  on(globalThis, "online", () => "online");
  on(globalThis, "offline", () => "offline");
  on(globalThis, "focus", () => "focus");
  const visibility = () => (document.visibilityState === "hidden" ? "hidden" : "shown");
  on(document, "visibilitychange", visibility);
  return () => {
    for (const remove of removers) remove();
  };
}
