// Reads the pages of the guide from pages/. Each page is one Markdown file, whose front matter
// gives its group and its order in the guide.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Page {
  /** Path relative to pages/, separated by "/": "patterns/log-tail.md". */
  readonly file: string;
  /** Path on the site: "" for the start page, or for example "patterns/log-tail/". */
  readonly path: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  readonly group: string;
  readonly order: number;
  readonly markdown: string;
  /** The body of a page that is not made from Markdown. */
  readonly html?: string;
}

/** All groups, in the order of the contents. */
export const groups: readonly string[] = ["Guide", "Patterns", "Modelling", "Package", "Reference"];

/**
 * Throws an Error that names the file if its front matter is invalid, or if another page has the
 * same group and order.
 */
export function readPages(folder: string): Page[] {
  const files = globSync("**/*.md", { cwd: folder }).map((file) => file.replaceAll("\\", "/"));
  const pages = files.map((file) => parsePage(file, readFileSync(join(folder, file), "utf8")));
  const places = new Map<string, string>();
  for (const { file, group, order } of pages) {
    const place = `${group} ${order}`;
    const other = places.get(place);
    if (other !== undefined)
      throw new Error(`pages/${file} has the same group and order as ${other}: ${place}.`);
    places.set(place, file);
  }
  return pages.sort(
    (a, b) => groups.indexOf(a.group) - groups.indexOf(b.group) || a.order - b.order,
  );
}

function parsePage(file: string, text: string): Page {
  const [, head, markdown] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? [];
  const fields = new Map(
    [...(head ?? "").matchAll(/^(\w+): (.+)$/gm)].map(([, name, value]) => [name, value]),
  );
  const field = (name: string) => {
    const value = fields.get(name);
    if (value === undefined) throw new Error(`pages/${file}: the front matter lacks "${name}".`);
    return value;
  };
  const group = field("group");
  if (!groups.includes(group)) throw new Error(`pages/${file}: unknown group "${group}".`);
  return {
    file,
    path: pathOf(file),
    title: field("title"),
    summary: field("summary"),
    group,
    order: Number(field("order")),
    markdown: markdown ?? "",
  };
}

/** Returns the path on the site for the path of a Markdown file. */
export function pathOf(file: string): string {
  return file.replace(/\.md$/, "/").replace(/(^|\/)index\/$/, "$1");
}
