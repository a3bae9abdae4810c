// Buttons of the panel "Sync" that call the sync.

import type { Dom } from "./dom.ts";

export interface ActionListeners {
  readonly onDone: () => void;
  readonly onError: (error: unknown) => void;
}

export class ActionButtons {
  readonly #dom: Dom;
  readonly #listeners: ActionListeners;

  constructor(dom: Dom, listeners: ActionListeners) {
    this.#dom = dom;
    this.#listeners = listeners;
  }

  /**
   * Creates a button that waits for its action. `what` follows the text in the name that assistive
   * technology reads.
   */
  button(text: string, what: string, act: () => Promise<unknown>): HTMLButtonElement {
    const name = what === "" ? undefined : `${text} ${what}`;
    const button = this.#dom.h("button", { type: "button", "aria-label": name }, text);
    // Not `disabled`: a button that gets disabled loses the focus.
    const run = async () => {
      if (button.hasAttribute("aria-disabled")) return;
      button.setAttribute("aria-disabled", "true");
      try {
        await act();
        this.#listeners.onDone();
      } catch (error) {
        this.#listeners.onError(error);
      } finally {
        button.removeAttribute("aria-disabled");
      }
    };
    button.addEventListener("click", () => void run());
    return button;
  }
}
