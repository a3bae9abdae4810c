// The pages of the guide, as they stand under pages/: one Markdown file each, with front matter that says where in the guide it belongs.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Page {
  /** Under pages/, "/" between folders: "patterns/log-tail.md". */
  readonly file: string;
  /** Where it is on the site: "" is the start, "patterns/log-tail/" another. */
  readonly path: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  readonly group: string;
  readonly order: number;
  readonly markdown: string;
  /** Of a page that is made otherwise: its body. */
  readonly html?: string;
}

/** In the order in which the guide lists them. */
export const groups: readonly string[] = ["Guide", "Patterns", "Modelling", "Package", "Reference"];

/** Throws an Error that names the file if its front matter is not as it should be, or its place is another's. */
export function readPages(folder: string): Page[] {
  const files = globSync("**/*.md", { cwd: folder }).map((file) => file.replaceAll("\\", "/"));
  const pages = files.map((file) => parsePage(file, readFileSync(join(folder, file), "utf8")));
  const places = new Map<string, string>();
  for (const { file, group, order } of pages) {
    const place = `${group} ${order}`;
    const other = places.get(place);
    if (other !== undefined) throw new Error(`pages/${file} has the place of ${other}: ${place}.`);
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
    if (value === undefined) throw new Error(`pages/${file}: its front matter has no "${name}".`);
    return value;
  };
  const group = field("group");
  if (!groups.includes(group)) throw new Error(`pages/${file}: there is no group "${group}".`);
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

/** Where the page of a Markdown file is on the site. */
export function pathOf(file: string): string {
  return file.replace(/\.md$/, "/").replace(/(^|\/)index\/$/, "$1");
}
