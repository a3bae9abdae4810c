// The filter field: a combo box with completions, and a marker for the position of a syntax error.

import { h } from "./dom.ts";
import {
  type CompletionList,
  completeFilter,
  errorRange,
  type PropertySamples,
  parseErrorPosition,
} from "./explorer-completion.ts";

const optionsMax = 50;

export class FilterBox {
  readonly element: HTMLElement;
  readonly #seen: PropertySamples;
  readonly #input: HTMLInputElement;
  readonly #list = h("ul", {
    role: "listbox",
    id: "filter-options",
    "aria-label": "Completions",
    part: "completions",
    hidden: true,
  });
  readonly #where = h("div", {
    class: "where",
    id: "filter-where",
    part: "position",
    hidden: true,
  });
  #completion: CompletionList | undefined;
  #active = -1;

  constructor(seen: PropertySamples) {
    this.#seen = seen;
    this.#input = h("input", {
      id: "filter",
      type: "text",
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": "filter-options",
      "aria-describedby": "filter-where",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      placeholder: "everything",
      oninput: () => this.#edited(),
      onkeydown: (event) => this.#key(event as KeyboardEvent),
      onblur: () => this.#close(),
      onclick: () => this.#suggest(),
    });
    this.element = h(
      "div",
      { class: "filter" },
      h("label", { for: "filter" }, "Filter"),
      h("div", { class: "combo" }, this.#input, this.#list),
      this.#where,
    );
    this.#list.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus
    this.#list.addEventListener("click", (event) => this.#clicked(event.target));
  }

  get value(): string {
    return this.#input.value.trim();
  }
  set value(text: string) {
    this.#input.value = text;
    this.showError(undefined);
    this.#close();
  }

  /**
   * Marks the filter as wrong. If the store's message names a position, marks that position.
   * undefined removes the mark.
   */
  showError(message: string | undefined): void {
    const position = message === undefined ? undefined : parseErrorPosition(message);
    this.#where.hidden = position === undefined;
    this.#input.toggleAttribute("data-wrong", message !== undefined);
    if (message === undefined) this.#input.removeAttribute("aria-invalid");
    else this.#input.setAttribute("aria-invalid", "true");
    if (position === undefined) return;
    const filter = this.value;
    const { from, to } = errorRange(filter, position);
    const offset = this.#input.value.indexOf(filter);
    if (this.#isFocused()) this.#input.setSelectionRange(offset + from, offset + to);
    const description = `At ${position}: ${filter.slice(from, to) || "the end"}`;
    this.#where.replaceChildren(
      h("span", { "aria-hidden": "true" }, filter.slice(0, from)),
      h("mark", { "aria-hidden": "true" }, filter.slice(from, to) || " "),
      h("span", { "aria-hidden": "true" }, filter.slice(to)),
      h("span", { class: "unseen" }, description),
    );
  }

  #isFocused(): boolean {
    return (this.element.getRootNode() as ShadowRoot).activeElement === this.#input;
  }

  #edited(): void {
    this.showError(undefined);
    this.#suggest();
  }

  #suggest(): void {
    const caret = this.#input.selectionStart ?? this.#input.value.length;
    this.#completion = completeFilter(this.#input.value, caret, this.#seen);
    const options = this.#completion.options.slice(0, optionsMax);
    if (options.length === 0) {
      this.#close();
      return;
    }
    this.#list.replaceChildren(
      ...options.map(({ text, detail }, index) =>
        h(
          "li",
          { role: "option", id: `filter-option-${index}`, "data-index": index },
          h("code", {}, text.trimEnd()),
          h("span", { class: "detail" }, detail),
        ),
      ),
    );
    this.#list.hidden = false;
    this.#input.setAttribute("aria-expanded", "true");
    this.#mark(-1);
  }

  #close(): void {
    this.#completion = undefined;
    this.#list.hidden = true;
    this.#list.replaceChildren();
    this.#input.setAttribute("aria-expanded", "false");
    this.#mark(-1);
  }

  #mark(index: number): void {
    this.#active = index;
    for (const [at, option] of [...this.#list.children].entries()) {
      option.setAttribute("aria-selected", String(at === index));
      if (at === index) option.scrollIntoView({ block: "nearest" });
    }
    if (index < 0) this.#input.removeAttribute("aria-activedescendant");
    else this.#input.setAttribute("aria-activedescendant", `filter-option-${index}`);
  }

  #key(event: KeyboardEvent): void {
    if (this.#completion === undefined) {
      if (event.key !== "ArrowDown" && !(event.key === " " && event.ctrlKey)) return;
      event.preventDefault();
      this.#suggest();
      return;
    }
    const last = this.#list.children.length - 1;
    switch (event.key) {
      case "ArrowDown":
        this.#mark(this.#active >= last ? 0 : this.#active + 1);
        break;
      case "ArrowUp":
        this.#mark(this.#active <= 0 ? last : this.#active - 1);
        break;
      case "Escape":
        this.#close();
        break;
      case "Enter":
      case "Tab":
        if (this.#active < 0) {
          this.#close();
          return; // the browser handles the key as usual
        }
        this.#take(this.#active);
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #clicked(target: EventTarget | null): void {
    const index = (target as Element | null)?.closest<HTMLElement>("li")?.dataset["index"];
    if (index !== undefined) this.#take(Number(index));
  }

  // Replaces the current word by an option, and suggests what may follow.
  #take(index: number): void {
    const option = this.#completion?.options[index];
    if (this.#completion === undefined || option === undefined) return;
    const { from, to } = this.#completion;
    const rest = this.#input.value.slice(to);
    const text = rest.startsWith(" ") ? option.text.trimEnd() : option.text;
    this.#input.setRangeText(text, from, to, "end");
    const caret = from + text.length - option.back + (text === option.text ? 0 : 1);
    this.#input.setSelectionRange(caret, caret);
    this.#edited();
  }
}
