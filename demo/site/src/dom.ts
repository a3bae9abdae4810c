// Helpers that create DOM elements.

type Child = Node | string | undefined;

/**
 * Creates an element. A function attribute ("onclick") becomes an event listener. A boolean
 * attribute is present if true and absent if false.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

export function formatCount(n: number): string {
  return n.toLocaleString("en-US");
}
