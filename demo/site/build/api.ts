// The API reference: a page for each entry point of the package, generated from the shipped type
// declarations. Declarations are shown verbatim, with their comments; type names link to their
// declarations.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { highlight } from "entitable/explorer";
import MarkdownIt from "markdown-it";
import { parseAst } from "vite";
import { escapeHtml } from "./markdown.ts";
import type { Page } from "./pages.ts";

// The purpose of each entry point. The build fails if an entry point is missing here.
const summaries: Readonly<Record<string, string>> = {
  ".": "Stores and tables: all that most programs need.",
  "./bulk": "Bulk writes: groups any number of entities into transactions by partition.",
  "./data-tables": "The API of @azure/data-tables, backed by a store.",
  "./encryption": "Client-side encryption of properties.",
  "./elements": "`entitable` and `entitable/explorer` in one file, for pages without a bundler.",
  "./explorer": "Custom elements for web pages: runnable code blocks, and an explorer for tables.",
  "./inline": "The WebAssembly module in JavaScript, for bundles without files next to them.",
  "./keys": "Keys that sort in the same order as the values that they encode.",
  "./large-values": "Values larger than a property or an entity allows, split over several rows.",
  "./msw": "Handlers for Mock Service Worker.",
  "./playwright": "A Playwright fixture for tests in a browser.",
  "./queue": "A small durable queue, stored in a table.",
  "./server": "Serves stores over HTTP in Node.",
  "./service-worker": "A Service Worker that answers a site's requests to a storage account.",
  "./testing":
    "A mock store for tests, with forks, a virtual clock, fault injection and a request log.",
  "./worker": "The script of the worker that runs a store's engine.",
};

interface Declaration {
  readonly name: string;
  readonly kind: "function" | "class" | "value" | "type";
  /** The declaration's doc comment, as Markdown. */
  readonly text: string;
  readonly code: string;
}

// The declarations of an entry; `default`: those of its ES module.
type Types = string | { readonly default: string };

/** Returns the pages of the reference for the package that is installed in `folder`. */
export function apiPages(folder: string): Page[] {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = Object.entries(manifest.exports as Record<string, { types?: Types }>)
    .filter(([entry]) => !entry.startsWith("./explorer/")) // ./explorer, for a framework's JSX
    .flatMap(([entry, { types }]) => {
      if (types === undefined) return [];
      const file = typeof types === "string" ? types : types.default;
      return [{ entry, declarations: exportsOf(join(folder, file)) }];
    })
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
  if (summary === undefined)
    throw new Error(`build/api.ts has no summary for the entry point ${entry}.`);
  return summary;
}

// ---- Reading ------------------------------------------------------------------------------------

// The parts of the syntax tree that this file reads.
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

/** Returns the exports of a declaration file, by name. */
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

// Joins the wrapped lines of each comment inside a declaration, so that the page can wrap them
// itself.
function unwrapped(code: string): string {
  return code.replace(/\/\*\*[\s\S]*?\*\//g, (comment) =>
    comment.replace(/\s*\n\s*(\*(?!\/))?\s*/g, " "),
  );
}

function commentBefore(source: string, start: number): string {
  const [, comment] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(source.slice(0, start)) ?? [];
  return (comment ?? "").replace(/^\s*\* ?/gm, "").trim();
}

// ---- Writing ------------------------------------------------------------------------------------

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

/** Returns highlighted code in which type names link to their declarations. */
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
