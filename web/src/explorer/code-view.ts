// Where code is shown in colours and can be edited: a text area whose letters are transparent, over the same text in colours. So the
// keyboard, undo, selection and screen readers have the browser's own field. Tab moves on, as everywhere in a page.

import { h } from "./dom.ts";
import { highlight } from "./highlight.ts";

/** What a page may put in its place: an element with the code in it, which tells of changes. */
export interface CodeEditor {
  readonly element: HTMLElement;
  value: string;
}

export interface CodeEditorOptions {
  value: string;
  onChange(value: string): void;
  /** Run it: what Ctrl and Enter ask for. */
  onRun(): void;
}

export class CodeView implements CodeEditor {
  readonly element: HTMLElement;
  readonly #colours: HTMLElement;
  readonly #field: HTMLTextAreaElement;

  constructor({ value, onChange, onRun }: CodeEditorOptions) {
    this.#colours = h("pre", { "aria-hidden": "true" });
    this.#field = h("textarea", {
      "aria-label": "Code",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      oninput: () => {
        this.#colour();
        onChange(this.#field.value);
      },
      onkeydown: (event) => {
        const { key, ctrlKey, metaKey } = event as KeyboardEvent;
        if (key !== "Enter" || !(ctrlKey || metaKey)) return;
        event.preventDefault();
        onRun();
      },
    });
    const layers = h("div", { class: "layers" }, this.#colours, this.#field);
    this.element = h("div", { class: "code", part: "code" }, layers);
    this.value = value;
  }

  get value(): string {
    return this.#field.value;
  }
  set value(value: string) {
    this.#field.value = value;
    this.#colour();
  }

  #colour(): void {
    const pieces = highlight(this.#field.value).map(({ kind, text }) =>
      kind === "plain" ? text : h("span", { class: kind }, text),
    );
    this.#colours.replaceChildren(...pieces, "\n"); // a last line that is empty has a height
  }
}
