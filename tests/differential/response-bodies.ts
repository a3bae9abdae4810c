// The formats of bodies, read into what can be compared: numbers keep their kind, XML becomes a
// tree, batches their parts.

// A number as it was written: what has no point or exponent is an integer.
const numeral = (text: string) =>
  /[.eE]/.test(text)
    ? `double ${Object.is(Number(text), -0) ? "-0" : Number(text)}`
    : `int ${text}`;

// Azurite writes numbers that JSON has no text for as they are.
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

export interface Element {
  name: string;
  children: Element[];
  text: string;
}

// Enough for what the two write; attributes are dropped.
export function parseXml(text: string): Element {
  const root: Element = { name: "", children: [], text: "" };
  const open = [root];
  for (const [, tag, content] of text.replace(/^\ufeff/, "").matchAll(/<([^>]*)>|([^<]+)/g)) {
    const top = open.at(-1) as Element;
    if (tag === undefined) top.text += content?.trim() ?? "";
    else if (tag.startsWith("/")) open.pop();
    else if (!/^[?!]/.test(tag)) {
      const element = { name: tag.split(/[\s/]/, 1)[0] ?? "", children: [], text: "" };
      top.children.push(element);
      if (!tag.endsWith("/")) open.push(element);
    }
  }
  if (open.length !== 1 || root.children.length !== 1) throw new Error(`no XML: ${text}`);
  return root.children[0] as Element;
}

export function childOf(element: Element, name: string): Element | undefined {
  return element.children.find((child) => child.name.replace(/^.*:/, "") === name);
}

// The same without order of siblings' names: {name: [texts or subtrees]}.
export function xmlTree({ children, text }: Element): unknown {
  if (children.length === 0) return text;
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

// The responses in a batch, of one change set or of one query.
export function parseBatch(text: string): BatchPart[] {
  return text
    .split(/\r?\n(?=HTTP\/1\.1 )|^(?=HTTP\/1\.1 )/m)
    .slice(1)
    .map((part) => {
      // Azurite may leave out the blank line
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
