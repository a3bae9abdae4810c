/// <reference types="vite/client" />
// The search: a dialog with a field and a list of results. It is loaded when a reader opens the
// search for the first time, and so is the index.
import MiniSearch, { type SearchResult } from "minisearch";
import { h } from "./dom.ts";
import { queryFor, type SearchEntry, searchOptions } from "./search-options.ts";
import "./search.css";

const most = 20; // results that are shown

export class Search {
  readonly #up: string;
  readonly #index: Promise<MiniSearch<SearchEntry>>;
  readonly #field = h("input", {
    type: "search",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Names, errors, words",
    "aria-label": "Search the site",
    "aria-controls": "search-results",
    "aria-expanded": "false",
    oninput: () => void this.#show(),
  });
  readonly #results = h("div", {
    class: "results",
    id: "search-results",
    role: "listbox",
    "aria-label": "Results",
  });
  readonly #message = h("p", { "aria-live": "polite" });
  readonly #dialog = h(
    "dialog",
    { class: "search", "aria-label": "Search" },
    h("div", { class: "panel" }, this.#field, this.#message, this.#results),
  );
  #selected = -1;

  /** `up` is the relative URL of the site's start page. */
  constructor(up: string) {
    this.#up = up;
    this.#index = loadIndex(`${up}search.json`);
    this.#dialog.addEventListener("keydown", (event) => this.#onKey(event));
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog) this.#dialog.close(); // a click beside the panel
    });
    document.body.append(this.#dialog);
  }

  open(): void {
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#field.select();
    void this.#show();
  }

  async #show(): Promise<void> {
    const query = this.#field.value.trim();
    const found = await this.#index.then(
      (index) => index.search(queryFor(query)),
      () => undefined,
    );
    if (query !== this.#field.value.trim()) return; // a later input shows its own results
    this.#results.replaceChildren(...(found ?? []).slice(0, most).map((one) => this.#option(one)));
    this.#results.setAttribute("aria-label", `Results for ${query}`);
    this.#field.setAttribute("aria-expanded", String(this.#options.length > 0));
    this.#select(this.#options.length > 0 ? 0 : -1);
    this.#message.textContent = messageOf(query, found);
  }

  get #options(): HTMLElement[] {
    return [...this.#results.children] as HTMLElement[];
  }

  #option(result: SearchResult): HTMLElement {
    const { path, page, title, excerpt, id } = result as SearchResult & SearchEntry;
    const place = title === page ? page : `${page} › ${title}`;
    const option = h(
      "a",
      {
        href: `${this.#up}${path}`,
        role: "option",
        id: `result-${id}`,
        tabindex: "-1",
        "aria-selected": "false",
      },
      h("b", {}, place),
      h("span", {}, excerpt),
    );
    option.addEventListener("click", () => this.#dialog.close());
    return option;
  }

  #select(index: number): void {
    this.#selected = index;
    for (const [at, option] of this.#options.entries()) {
      option.setAttribute("aria-selected", String(at === index));
    }
    const option = this.#options[index];
    if (option === undefined) this.#field.removeAttribute("aria-activedescendant");
    else this.#field.setAttribute("aria-activedescendant", option.id);
    option?.scrollIntoView({ block: "nearest" });
  }

  #onKey(event: KeyboardEvent): void {
    const { length } = this.#options;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && length > 0) this.#select((this.#selected + step + length) % length);
    else if (event.key === "Escape")
      this.#dialog.close(); // would only empty the field
    else if (event.key === "Enter") this.#options[this.#selected]?.click();
    else return;
    event.preventDefault();
  }
}

async function loadIndex(url: string): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return MiniSearch.loadJSON(await response.text(), searchOptions);
}

function messageOf(query: string, found: readonly SearchResult[] | undefined): string {
  if (found === undefined) return "The search index could not be loaded.";
  if (query === "") return "";
  if (found.length === 0) return "Nothing was found.";
  return found.length > most ? `The first ${most} of ${found.length} results` : "";
}
