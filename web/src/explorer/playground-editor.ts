// A code editor with syntax highlighting: a text area with transparent letters lies over the same
// text in colours. Keyboard, undo, selection and screen readers therefore work as in every text
// area. Tab moves the focus to the next element.

import { h } from "./dom.ts";
import { highlight } from "./highlight.ts";

/** An editor that the page supplies (TablePlayground.editor). */
export interface CodeEditor {
  readonly element: HTMLElement;
  value: string;
  /**
   * The selected range, in UTF-16 units; an empty range is the caret. Without this property, the
   * caret's position is lost when the editor replaces the text area.
   */
  selection?: CodeSelection;
  /** Focuses the editor. Without this method, `element` gets the focus. */
  focus?(): void;
}

export type CodeSelection = readonly [from: number, to: number];

export interface CodeEditorOptions {
  value: string;
  /** The shadow root that will contain the element. */
  root: ShadowRoot;
  onChange(value: string): void;
  /**
   * The editor calls this function when the user wants to run the code, for example by Ctrl+Enter.
   */
  onRun(): void;
}

export class TextAreaCodeEditor implements CodeEditor {
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

  /**
   * Resolves when no input method is composing a word. Replacing the text area earlier would
   * interrupt the composition.
   */
  async whenNotComposing(): Promise<void> {
    if (!this.#composing) return;
    await new Promise((resolve) => {
      this.#field.addEventListener("compositionend", resolve, { once: true });
    });
  }

  #colour(): void {
    const pieces = highlight(this.#field.value).map(({ kind, text }) =>
      kind === "plain" ? text : h("span", { class: kind }, text),
    );
    // without it, an empty last line would have no height
    this.#colours.replaceChildren(...pieces, "\n");
  }
}
