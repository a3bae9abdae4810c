// Where code is shown in colours and can be edited: a text area whose letters are transparent, over the same text in colours. So the
// keyboard, undo, selection and screen readers have the browser's own field. Tab moves on, as everywhere in a page.

import { h } from "./dom.ts";
import { highlight } from "./highlight.ts";

/** What a page may put in its place: an element with the code in it, which tells of changes. */
export interface CodeEditor {
  readonly element: HTMLElement;
  value: string;
  /** From where to where, in UTF-16 units; the same twice is where the caret is. Without it the caret of the text area before it is lost. */
  selection?: CodeSelection;
  /** Without it `element` gets the focus. */
  focus?(): void;
}

export type CodeSelection = readonly [from: number, to: number];

export interface CodeEditorOptions {
  value: string;
  /** Where the element will be. */
  root: ShadowRoot;
  onChange(value: string): void;
  /** Run it: what Ctrl and Enter ask for. */
  onRun(): void;
}

export class CodeView implements CodeEditor {
  readonly element: HTMLElement;
  readonly #colours: HTMLElement;
  readonly #field: HTMLTextAreaElement;
  #composing = false;

  constructor({ value, onChange, onRun }: Omit<CodeEditorOptions, "root">) {
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
      oncompositionstart: () => {
        this.#composing = true;
      },
      oncompositionend: () => {
        this.#composing = false;
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

  get selection(): CodeSelection {
    return [this.#field.selectionStart, this.#field.selectionEnd];
  }

  /** An input method is not amid a word: another editor in its place would break that off. */
  async composed(): Promise<void> {
    if (!this.#composing) return;
    await new Promise((resolve) => {
      this.#field.addEventListener("compositionend", resolve, { once: true });
    });
  }

  #colour(): void {
    const pieces = highlight(this.#field.value).map(({ kind, text }) =>
      kind === "plain" ? text : h("span", { class: kind }, text),
    );
    this.#colours.replaceChildren(...pieces, "\n"); // a last line that is empty has a height
  }
}
