// The switches of a faultyFetch() (entitable/testing), if the sync was started with one.

import type { Sync } from "../start-sync/types.ts";
import type {
  FetchFault,
  FetchFaultName,
  FetchFaultOptions,
  FetchFaults,
} from "../testing/index.ts";
import type { Dom } from "./dom.ts";

/** What TabSync has for this module. */
interface SyncWithFetch extends Sync {
  readonly fetch?: unknown;
}

const names: Readonly<Record<FetchFaultName, string>> = {
  offline: "Offline",
  "request-lost": "Lose requests",
  "response-lost": "Lose responses",
  throttled: "Answer 429",
  "server-error": "Answer 500",
  delayed: "Delay",
};

const modes: readonly (readonly [text: string, options: FetchFaultOptions])[] = [
  ["every request", {}],
  ["the next request", { times: 1 }],
  ["the next five requests", { times: 5 }],
  ["one request in four", { probability: 0.25 }],
];

export class SyncNetwork {
  readonly element: HTMLElement;
  readonly #mode: HTMLSelectElement;
  readonly #buttons: ReadonlyMap<string, HTMLElement>; // by the fault's name
  #faults: FetchFaults | undefined;
  #end = (): void => {};

  constructor({ h }: Dom) {
    const options = modes.map(([text], index) => h("option", { value: index }, text));
    this.#mode = h("select", { id: "sync-faults" }, ...options);
    this.#buttons = new Map(
      Object.keys(names).map((name) => {
        const onclick = () => this.#toggle(name as FetchFaultName);
        return [name, h("button", { type: "button", "aria-pressed": "false", onclick })];
      }),
    );
    this.element = h(
      "div",
      { class: "network", role: "region", "aria-label": "Network faults", hidden: true },
      h("strong", { class: "title" }, "Network faults"),
      h("label", { for: "sync-faults" }, "Apply to"),
      this.#mode,
      ...this.#buttons.values(),
      h(
        "p",
        { class: "muted" },
        "For requests of this tab. If several tabs are open, one of them syncs.",
      ),
    );
  }

  open(sync: Sync): void {
    const { fetch } = sync as SyncWithFetch;
    const { faults } = (fetch ?? {}) as { faults?: FetchFaults };
    if (typeof faults?.subscribe !== "function") return;
    this.#faults = faults;
    this.#end = faults.subscribe(() => this.#draw());
    this.element.hidden = false;
    this.#draw();
  }

  close(): void {
    this.#end();
    this.#end = () => {};
    this.#faults = undefined;
    this.element.hidden = true;
  }

  #toggle(name: FetchFaultName): void {
    const fault = this.#faults?.all().find((one) => one.name === name);
    if (fault === undefined) return;
    if (isOn(fault)) this.#faults?.off(name);
    else this.#faults?.on(name, modes[Number(this.#mode.value)]?.[1]);
  }

  #draw(): void {
    for (const fault of this.#faults?.all() ?? []) {
      const button = this.#buttons.get(fault.name);
      button?.setAttribute("aria-pressed", String(isOn(fault)));
      button?.replaceChildren(names[fault.name] + (fault.hits > 0 ? ` (${fault.hits})` : ""));
    }
  }
}

const isOn = ({ remaining }: FetchFault): boolean => remaining > 0;
