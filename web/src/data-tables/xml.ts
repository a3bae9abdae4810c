// Minimal XML reading and writing for the service's documents. It only reads documents of our own
// core (core/rest/xml), whose elements have known names and are never nested in elements of the
// same name. It is not a general parser.

/** Returns an element. Text is escaped; child elements are inserted unchanged. */
export function element(name: string, ...children: readonly string[]): string {
  return `<${name}>${children.join("")}</${name}>`;
}

export function textElement(name: string, text: string | number | boolean | undefined): string {
  return text === undefined ? "" : element(name, escapeXml(String(text)));
}

// Returns the content of each element with this name.
export function elementContents(xml: string, name: string): string[] {
  const pattern = new RegExp(`<${name}(?:\\s[^>]*)?(?:/>|>(.*?)</${name}>)`, "gs");
  return Array.from(xml.matchAll(pattern), ([, inside = ""]) => inside);
}

export function firstElementContent(xml: string, name: string): string | undefined {
  return elementContents(xml, name)[0];
}

export function elementText(xml: string, name: string): string | undefined {
  const text = firstElementContent(xml, name);
  return text === undefined ? undefined : unescapeXml(text);
}

export function removeElements(xml: string, name: string): string {
  return xml.replace(new RegExp(`<${name}>.*?</${name}>`, "gs"), "");
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
