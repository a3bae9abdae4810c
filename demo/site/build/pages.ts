// Reads the pages of the site from pages/. Each page is one Markdown file, whose front matter gives
// its group and its order in the group.
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
  /** Of a page of the API reference: the entry point of the package that it describes. */
  readonly entry?: string | undefined;
  /** The declarations that this page describes, rather than the entry point's first page. */
  readonly declares?: readonly string[] | undefined;
}

/** The parts of the site. Each has its own contents, with these groups of pages. */
export const areas: readonly { readonly title: string; readonly groups: readonly string[] }[] = [
  {
    title: "Documentation",
    groups: ["Start", "Tables", "Stores", "Testing", "Protocol and servers", "Elements", "Recipes"],
  },
  { title: "Table design", groups: ["Guide", "Patterns", "Modelling"] },
  {
    title: "API reference",
    groups: [
      "entitable",
      "Helpers",
      "Frameworks",
      "Tests",
      "Clients and servers",
      "Elements and modules",
    ],
  },
];

const groups = areas.flatMap((area) => area.groups);

/** Returns the pages of the same area as this page, in the order of the contents. */
export function pagesOfArea(page: Page, pages: readonly Page[]): Page[] {
  const area = areas.find((one) => one.groups.includes(page.group));
  return pages.filter(({ group }) => area?.groups.includes(group));
}

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
    entry: fields.get("entry"),
    declares: fields.get("declares")?.split(", "),
  };
}

/** Returns the path on the site for the path of a Markdown file. */
export function pathOf(file: string): string {
  return file.replace(/\.md$/, "/").replace(/(^|\/)index\/$/, "$1");
}
