// A modal dialog with a title, fields, errors and buttons. Escape closes it, and the focus returns
// to the element that had it.

import { describeError, h } from "./dom.ts";

export interface DialogAction {
  readonly text: string;
  readonly kind?: "primary" | "danger";
  readonly act: () => void | Promise<void>;
}

export class Dialog {
  readonly element: HTMLDialogElement;
  readonly #error = h("div", { class: "error", part: "error", role: "alert", hidden: true });
  readonly #actions: HTMLElement;
  #busy = false;

  /**
   * Opens the dialog. Enter runs the first action of kind "primary". `closed` is called after the
   * dialog has closed.
   */
  constructor(
    view: ShadowRoot,
    title: string,
    content: readonly Node[],
    actions: readonly DialogAction[],
    closed: () => void = () => {},
  ) {
    this.#actions = h("div", { class: "actions" });
    const submit = actions.find(({ kind }) => kind === "primary");
    const form = h(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          if (submit !== undefined) void this.#do(submit);
        },
      },
      h("h2", { id: "dialog-title" }, title),
      ...content,
      this.#error,
      this.#actions,
    );
    this.setActions(actions);
    this.element = h("dialog", { part: "dialog", "aria-labelledby": "dialog-title" }, form);
    this.element.addEventListener("close", () => {
      this.element.remove();
      closed();
    });
    view.append(this.element);
    this.element.showModal();
  }

  setActions(actions: readonly DialogAction[]): void {
    const close = h("button", { type: "button", onclick: () => this.close() }, "Close");
    const buttons = actions.map((action) =>
      h(
        "button",
        {
          type: action.kind === "primary" ? "submit" : "button",
          class: action.kind ?? "",
          ...(action.kind === "primary" ? {} : { onclick: () => void this.#do(action) }),
        },
        action.text,
      ),
    );
    const first = buttons.filter((button) => button.className === "danger");
    this.#actions.replaceChildren(
      ...first,
      h("span", { class: "gap" }),
      close,
      ...buttons.filter((button) => !first.includes(button)),
    );
  }

  /** Shows an error. undefined hides the error shown before. */
  showError(error: unknown): void {
    this.#error.hidden = error === undefined;
    if (error === undefined) return;
    const { title, text, hint } = describeError(error);
    const more = hint === undefined ? undefined : h("span", {}, ` ${hint}`);
    this.#error.replaceChildren(
      ...[h("strong", {}, title), h("span", {}, text), more].filter((part) => part !== undefined),
    );
  }

  close(): void {
    this.element.close();
  }

  // Runs an action. Has no effect while another one is running, for example on a second press of
  // Enter.
  async #do(action: DialogAction): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    this.element.setAttribute("aria-busy", "true");
    try {
      this.showError(undefined);
      await action.act();
    } catch (error) {
      this.showError(error);
    } finally {
      this.#busy = false;
      this.element.removeAttribute("aria-busy");
    }
  }
}

let fields = 0;

/**
 * Creates a form field: a label, the control, an optional note, and an element for the problem with
 * its value.
 */
export function field(
  label: string,
  control: HTMLElement,
  note?: string,
): HTMLElement & { readonly problem: HTMLElement } {
  const id = `field-${++fields}`;
  control.id = id;
  const problem = h("span", { class: "problem", id: `${id}-problem` });
  control.setAttribute("aria-describedby", problem.id);
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    control,
    note === undefined ? undefined : h("span", { class: "note" }, note),
    problem,
  );
  return Object.assign(element, { problem });
}

/**
 * Shows what is wrong with a control; `text` undefined: nothing is. Returns whether the control is
 * valid.
 */
export function showProblem(
  control: HTMLElement,
  problem: HTMLElement,
  text: string | undefined,
): boolean {
  problem.textContent = text ?? "";
  if (text === undefined) control.removeAttribute("aria-invalid");
  else control.setAttribute("aria-invalid", "true");
  return text === undefined;
}

/** Creates a select element. */
export function selectBox<T extends string>(
  options: readonly (readonly [value: T, text: string])[],
  chosen: T,
): HTMLSelectElement {
  const select = h(
    "select",
    {},
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  select.value = chosen;
  return select;
}
