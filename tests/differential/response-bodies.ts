// Parses bodies into values that can be compared. Numbers keep their kind, XML becomes a tree, and
// a batch becomes a list of parts.

import assert from "node:assert/strict";
import { parseXml, type XmlElement } from "../../web/src/data-tables/xml.ts";

// A number as it was written: what has no point or exponent is an integer.
const numeral = (text: string) =>
  /[.eE]/.test(text)
    ? `double ${Object.is(Number(text), -0) ? "-0" : Number(text)}`
    : `int ${text}`;

// Azurite writes numbers such as NaN without quotes, although JSON has no such numbers.
export function parseJson(text: string): unknown {
  return parseNumerals(text.replace(/:(-?Infinity|NaN)(?=[,}])/g, ':"$1"'));
}

function parseNumerals(text: string): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: newer than the library's declarations
  const parse = JSON.parse as (text: string, reviver: (...args: any[]) => unknown) => unknown;
  return parse(text, (_key, value, { source } = {}) =>
    typeof value === "number" ? { number: numeral(source) } : value,
  );
}

// The root of a document.
export function rootOf(xml: string): XmlElement {
  const { children } = parseXml(xml.replace(/^\ufeff/, ""));
  assert.equal(children.length, 1, `no XML: ${xml}`);
  return children[0] as XmlElement;
}

// The text of the first child with one of the names, whatever its prefix.
export function trimmedChildText({ children }: XmlElement, names: RegExp): string | undefined {
  return children.find(({ name }) => names.test(name.replace(/^.*:/, "")))?.text.trim();
}

// The same without order of siblings' names: {name: [texts or subtrees]}.
export function xmlTree({ children, text }: XmlElement): unknown {
  if (children.length === 0) return text.trim();
  const out: Record<string, unknown[]> = {};
  for (const child of children) {
    const list = out[child.name] ?? [];
    list.push(xmlTree(child));
    out[child.name] = list;
  }
  return out;
}

export interface BatchPart {
  status: number;
  headers: Map<string, string>;
  body: string;
}

// Returns the responses in a batch, which is a change set or a query.
export function parseBatch(text: string): BatchPart[] {
  return text
    .split(/\r?\n(?=HTTP\/1\.1 )|^(?=HTTP\/1\.1 )/m)
    .slice(1)
    .map((part) => {
      // Azurite may omit the blank line.
      const [head = "", ...rest] = part.split(/(?:\r?\n){2}|\r?\n(?=\{)/);
      const [first = "", ...lines] = head.split(/\r?\n/);
      const headers = new Map<string, string>();
      for (const line of lines) {
        const colon = line.indexOf(":");
        if (colon > 0)
          headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      }
      const body = rest.join("\n\n").replace(/(?:^|\r?\n)--\S[\s\S]*$/, "");
      return { status: Number(first.split(" ")[1]), headers, body: body.trim() };
    });
}
