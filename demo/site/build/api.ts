// The API reference: a page for each entry of the package, made from the declarations that it ships. What they say is what there is, so a
// declaration is shown as it stands, comments included, and its types lead to theirs.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { highlight } from "entitable/explorer";
import MarkdownIt from "markdown-it";
import { parseAst } from "vite";
import { escapeHtml } from "./markdown.ts";
import type { Page } from "./pages.ts";

// What each entry is for. An entry that is missing here has no page, which is an error.
const summaries: Readonly<Record<string, string>> = {
  ".": "Stores and tables: what most programs need, and nothing else.",
  "./bulk": "Writes of any number of entities, sorted into transactions by their partitions.",
  "./data-tables": "The names of @azure/data-tables over a store.",
  "./encryption": "Properties that are encrypted before they are stored.",
  "./explorer":
    "Elements for pages: code that readers can run, and tables that they can look into.",
  "./keys": "Keys that sort as the values do that they are made of.",
  "./large-values": "Values beyond the limits of a property and of an entity, in rows of a table.",
  "./msw": "Handlers for Mock Service Worker.",
  "./playwright": "A fixture for tests that run in a browser.",
  "./queue": "A small durable queue over a table.",
  "./server": "Stores behind Node's HTTP server.",
  "./service-worker": "Requests of a site to an account, answered in the browser.",
  "./testing": "A store for tests: forks, clock, faults, and a log of requests.",
  "./worker": "The script of a store's worker.",
};

interface Declaration {
  readonly name: string;
  readonly kind: "function" | "class" | "value" | "type";
  /** Its comment, as Markdown. */
  readonly text: string;
  readonly code: string;
}

/** The pages of the reference, for the package that is installed in `folder`. */
export function apiPages(folder: string): Page[] {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(manifest.exports as Record<string, { types?: string }>)
    .filter(([, { types }]) => types !== undefined)
    .map(([entry, { types = "" }]) => ({ entry, declarations: exportsOf(join(folder, types)) }))
    .filter(({ declarations }) => declarations.size > 0);
  const homes = new Map<string, string>();
  for (const { entry, declarations } of entries) {
    for (const name of declarations.keys()) {
      if (!homes.has(name)) homes.set(name, `../${slugOf(entry)}/#${name}`);
    }
  }
  return entries.map(({ entry, declarations }, order) => ({
    file: `api/${slugOf(entry)}.md`,
    path: `api/${slugOf(entry)}/`,
    title: nameOf(entry),
    summary: summaryOf(entry),
    group: "Reference",
    order,
    markdown: "",
    html: bodyOf([...declarations.values()], homes),
  }));
}

const nameOf = (entry: string) => entry.replace(/^\./, "entitable");
const slugOf = (entry: string) => nameOf(entry).replaceAll("/", "-");

function summaryOf(entry: string): string {
  const summary = summaries[entry];
  if (summary === undefined) throw new Error(`build/api.ts does not say what ${entry} is for.`);
  return summary;
}

// ---- Reading ------------------------------------------------------------------------------------------------------------

// The parts of the syntax tree that are looked at.
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly id?: { readonly name: string } | null;
  readonly declaration?: Node | null;
  readonly declarations?: readonly Node[];
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly {
    readonly local: { readonly name: string };
    readonly exported?: { readonly name: string };
    readonly imported?: { readonly name: string };
  }[];
}

const read = new Map<string, Map<string, Declaration>>();

/** What a file of declarations exports, by name. */
function exportsOf(file: string): Map<string, Declaration> {
  const known = read.get(file);
  if (known !== undefined) return known;
  const found = new Map<string, Declaration>();
  read.set(file, found);
  const source = readFileSync(file, "utf8");
  const nodes = parseAst(source, { lang: "ts" }).body as unknown as readonly Node[];
  const from = (address: string) =>
    exportsOf(join(dirname(file), address.replace(/\.js$/, ".d.ts")));
  const local = new Map<string, Declaration | undefined>();
  for (const node of nodes) {
    if (node.type === "ImportDeclaration" && node.source?.value.startsWith(".")) {
      const theirs = from(node.source.value);
      for (const { local: own, imported } of node.specifiers ?? []) {
        local.set(own.name, theirs.get(imported?.name ?? own.name));
      }
    }
    for (const declaration of declarationsOf(node, source))
      local.set(declaration.name, declaration);
  }
  for (const node of nodes) {
    if (node.type === "ExportAllDeclaration" && node.source) {
      for (const [name, declaration] of from(node.source.value)) found.set(name, declaration);
    }
    if (node.type !== "ExportNamedDeclaration") continue;
    for (const { name } of declarationsOf(node, source))
      found.set(name, local.get(name) as Declaration);
    const theirs = node.source ? from(node.source.value) : local;
    for (const { local: own, exported = own } of node.specifiers ?? []) {
      const declaration = theirs.get(own.name);
      if (declaration !== undefined) found.set(exported.name, declaration);
    }
  }
  return found;
}

const kinds: Readonly<Record<string, Declaration["kind"]>> = {
  TSDeclareFunction: "function",
  FunctionDeclaration: "function",
  ClassDeclaration: "class",
  VariableDeclaration: "value",
  TSInterfaceDeclaration: "type",
  TSTypeAliasDeclaration: "type",
};

function declarationsOf(node: Node, source: string): Declaration[] {
  const declared = node.type === "ExportNamedDeclaration" ? node.declaration : node;
  const kind = kinds[declared?.type ?? ""];
  if (!declared || kind === undefined) return [];
  const named = declared.declarations ?? [declared];
  const text = commentBefore(source, node.start);
  const code = unwrapped(source.slice(node.start, node.end))
    .replace(/^(export )?(declare )?/, "")
    .replace(/^ +#private;\n/m, "");
  return named.flatMap(({ id }) => (id ? [{ name: id.name, kind, text, code }] : []));
}

// Comments within a declaration are wrapped for an editor; on a page each is one text, which breaks where the page is full.
function unwrapped(code: string): string {
  return code.replace(/\/\*\*[\s\S]*?\*\//g, (comment) =>
    comment.replace(/\s*\n\s*(\*(?!\/))?\s*/g, " "),
  );
}

function commentBefore(source: string, start: number): string {
  const [, comment] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(source.slice(0, start)) ?? [];
  return (comment ?? "").replace(/^\s*\* ?/gm, "").trim();
}

// ---- Writing ------------------------------------------------------------------------------------------------------------

const titles = {
  function: "Functions",
  class: "Classes",
  value: "Values",
  type: "Types",
} as const;

function bodyOf(declarations: readonly Declaration[], homes: ReadonlyMap<string, string>): string {
  const markdown = new MarkdownIt({ typographer: true });
  return Object.entries(titles)
    .map(([kind, title]) => [title, declarations.filter((one) => one.kind === kind)] as const)
    .filter(([, members]) => members.length > 0)
    .map(([title, members]) => {
      const sections = members.map(
        ({ name, text, code }) =>
          `<section class="declaration" id="${name}"><h3><a href="#${name}"><code>${name}</code></a></h3>` +
          `${markdown.render(text)}<pre class="code" tabindex="0"><code>${linked(code, name, homes)}</code></pre></section>`,
      );
      return `<h2 id="${title.toLowerCase()}">${title}</h2>\n${sections.join("\n")}`;
    })
    .join("\n");
}

/** Code in colours, in which the names of types lead to them. */
function linked(code: string, own: string, homes: ReadonlyMap<string, string>): string {
  return highlight(code)
    .map(({ kind, text }) => {
      if (kind !== "plain") return `<span class="${kind}">${escapeHtml(text)}</span>`;
      return escapeHtml(text).replace(/(?<![\w$#&])[A-Z]\w+/g, (name) => {
        const home = homes.get(name);
        return home === undefined || name === own ? name : `<a href="${home}">${name}</a>`;
      });
    })
    .join("");
}
