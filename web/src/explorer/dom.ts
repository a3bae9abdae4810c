// Creates elements without parsing HTML, and formats numbers, values and errors for display.

import { isBytes, isDate } from "../util/platform-objects.ts";

/**
 * Functions for scripts that are loaded later. They are passed what every page has loaded, so that
 * bundlers leave it in the page's own file.
 */
export type Dom = Pick<
  typeof import("./dom.ts"),
  "h" | "setChildren" | "formatCount" | "formatCountWithNoun" | "describeError" | "valueText"
>;

type Attribute = string | number | boolean | undefined | ((event: Event) => void);
type Child = Node | string | undefined;

/**
 * Creates an element. An attribute that is a function becomes an event listener ("onclick"). A
 * boolean attribute is present if true. Undefined attributes are left out.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/**
 * Makes these elements the children of `parent`. Children that stay are not moved if their order
 * stays the same, so they keep the focus, the selected text and running animations.
 */
export function setChildren(parent: Element, children: readonly Element[]): void {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) next = child.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

/** Formats a number with thousands separators. */
export function formatCount(n: number | bigint): string {
  return n.toLocaleString("en-US", { maximumFractionDigits: 20 });
}

/** Formats a number with its noun: "1 row", "2 rows". */
export function formatCountWithNoun(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** Formats a duration with its unit. */
export function formatDuration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  return ms < 100 ? `${ms.toFixed(1)} ms` : `${formatCount(Math.round(ms))} ms`;
}

/**
 * Returns texts that describe an error to the user. For an error of the service, the title is its
 * status and code ("412 UpdateConditionNotSatisfied"), and the text is the service's message.
 */
export function describeError(error: unknown): { title: string; text: string; hint?: string } {
  const fields = (typeof error === "object" && error !== null ? error : {}) as {
    name?: string;
    statusCode?: number;
    code?: string;
    message?: string;
    hint?: string;
  };
  const title =
    fields.statusCode === undefined
      ? (fields.code ?? fields.name ?? "Error")
      : `${fields.statusCode} ${fields.code ?? ""}`.trim();
  const text = fields.message ?? String(error);
  return fields.hint === undefined ? { title, text } : { title, text, hint: fields.hint };
}

/** Formats a property value of any Edm type for display. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (isDate(value)) return value.toISOString();
  if (isBytes(value)) return bytesText(value);
  if (typeof value === "number" || typeof value === "bigint") return value.toString();
  if (typeof value !== "object") return String(value);
  const { type, value: inner } = value as { type?: unknown; value?: unknown };
  return typeof type === "string" && inner !== undefined ? valueText(inner) : JSON.stringify(value);
}

/** Formats a value for display. Numbers get thousands separators, so the value must be a count. */
export function valueTextWithSeparators(value: unknown): string {
  const isNumber = typeof value === "bigint" || Number.isFinite(value);
  return isNumber ? formatCount(value as number | bigint) : valueText(value);
}

function bytesText(bytes: Uint8Array): string {
  const shown = [...bytes.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, "0"));
  const rest = bytes.length > 16 ? `… (${formatCountWithNoun(bytes.length, "byte")})` : "";
  return `${shown.join(" ")}${rest}`;
}
