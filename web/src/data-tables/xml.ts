// Reading and writing of the service's XML documents. The reader accepts what the service and the
// core (core/rest/xml) write; it is not a general parser. Of three libraries compared, two are
// many times larger than this reader, and the third needs Node.

export interface XmlElement {
  readonly name: string; // as written, with its prefix
  text: string; // what is directly in it
  readonly children: XmlElement[];
}

const tagOrText = /<([^>]*)>|([^<]+)/g;

/**
 * Returns the document, a nameless element whose only child is the root. A document that is not XML
 * has no child. Attributes are ignored. Throws if an element is not closed.
 */
export function parseXml(xml: string): XmlElement {
  const document: XmlElement = { name: "", text: "", children: [] };
  const open = [document];
  for (const [, tag, text = ""] of xml.matchAll(tagOrText)) {
    const parent = open.at(-1) as XmlElement;
    if (tag === undefined) parent.text += unescapeXml(text);
    else if (tag.startsWith("/")) open.length -= 1;
    else if (!/^[?!]/.test(tag)) {
      const element = { name: tag.split(/[\s/]/, 1)[0] as string, text: "", children: [] };
      parent.children.push(element);
      if (!tag.endsWith("/")) open.push(element);
    }
    if (open.length === 0) break;
  }
  if (open.length !== 1) throw new Error(`not XML: ${xml}`);
  return document;
}

export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name);
}

export function childrenOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return element?.children.filter((child) => child.name === name) ?? [];
}

export function childText(element: XmlElement | undefined, name: string): string | undefined {
  return childOf(element, name)?.text;
}

/** Returns an element as text. The children must already be XML; they are inserted unchanged. */
export function serializeElement(name: string, ...children: readonly string[]): string {
  return `<${name}>${children.join("")}</${name}>`;
}

export function serializeTextElement(
  name: string,
  text: string | number | boolean | undefined,
): string {
  return text === undefined ? "" : serializeElement(name, escapeXml(String(text)));
}

const entities: Readonly<Record<string, string>> = {
  "<": "&lt;",
  ">": "&gt;",
  "&": "&amp;",
  "\r": "&#13;",
};

function escapeXml(text: string): string {
  return text.replace(/[<>&\r]/g, (character) => entities[character] as string);
}

const named: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[name] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}
