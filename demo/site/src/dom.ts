// Making elements.

/** An element with a class, and text or other elements in it. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}
