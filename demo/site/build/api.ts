// The API reference: the pages of the site whose front matter names an entry point of the package.
// They are generated from the shipped type declarations. Each Markdown file under pages/api/ adds
// an introduction, and below a heading for each function and method its errors and an example.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { highlight } from "entitable/explorer";
import { type Declaration, exportsOf, type Method } from "./declarations.ts";
import { codeBlock, escapeHtml, render, upFrom } from "./markdown.ts";
import type { Page } from "./pages.ts";

interface Entry {
  readonly declarations: ReadonlyMap<string, Declaration>;
  readonly pages: readonly Page[];
}

// Where a declaration is shown.
interface Home {
  readonly address: string; // "api/entitable/#openStore"
  readonly declaration: Declaration;
}

// The declarations of an entry; `default`: those of its ES module.
type Types = string | { readonly default: string };

/**
 * Returns a function that returns the HTML of a page of the reference. `folder` is the installed
 * package. Throws an Error if an entry point has no page, or if a function or method has no notes.
 */
export function apiReference(folder: string, pages: readonly Page[]): (page: Page) => string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = new Map<string, Entry>();
  for (const [entry, { types }] of Object.entries<{ types?: Types }>(manifest.exports)) {
    // ./explorer/…: ./explorer, for a framework's JSX
    if (types === undefined || entry.startsWith("./explorer/")) continue;
    const declarations = exportsOf(join(folder, typeof types === "string" ? types : types.default));
    const own = pages.filter((page) => page.entry === entry);
    if (own.length === 0) throw new Error(`pages/api/ has no page for the entry point ${entry}.`);
    entries.set(entry, { declarations, pages: own });
  }
  const homes = homesOf(entries);
  return (page) => {
    const entry = entries.get(page.entry ?? "");
    if (entry === undefined) throw new Error(`${page.file}: no such entry point ${page.entry}.`);
    return new PageOfReference(page, entry, homes).html();
  };
}

// A name that several entry points export has its home in the first one.
function homesOf(entries: ReadonlyMap<string, Entry>): Map<string, Home> {
  const homes = new Map<string, Home>();
  for (const entry of entries.values()) {
    for (const [name, declaration] of entry.declarations) {
      const address = `${homeOf(name, entry)?.path}#${name}`;
      if (!homes.has(name)) homes.set(name, { address, declaration });
    }
  }
  return homes;
}

function homeOf(name: string, { pages }: Entry): Page | undefined {
  return (
    pages.find(({ declares }) => declares?.includes(name)) ??
    pages.find(({ declares }) => declares === undefined)
  );
}

// ---- Notes --------------------------------------------------------------------------------------

/** What a Markdown file says below its headings, by heading. The key "" is the introduction. */
function notesOf(markdown: string): Map<string, string> {
  const [introduction = "", ...sections] = markdown.split(/^## /m);
  const notes = new Map([["", introduction]]);
  for (const section of sections) {
    const [names = "", ...lines] = section.split("\n");
    for (const name of names.split(", ")) notes.set(name.trim(), lines.join("\n"));
  }
  return notes;
}

// ---- A page -------------------------------------------------------------------------------------

class PageOfReference {
  readonly #page: Page;
  readonly #entry: Entry;
  readonly #homes: ReadonlyMap<string, Home>;
  readonly #notes: Map<string, string>;
  readonly #used = new Set([""]);

  constructor(page: Page, entry: Entry, homes: ReadonlyMap<string, Home>) {
    this.#page = page;
    this.#entry = entry;
    this.#homes = homes;
    this.#notes = notesOf(page.markdown);
  }

  html(): string {
    const { declarations } = this.#entry;
    const { declares } = this.#page;
    const own = [...declarations.values()].filter(
      ({ name }) => homeOf(name, this.#entry) === this.#page,
    );
    for (const name of declares ?? []) {
      if (!declarations.has(name)) throw new Error(`${this.#page.file}: no declaration ${name}.`);
    }
    const introduction = render(this.#page, this.#notes.get(""));
    const body = declares === undefined ? this.#entryBody(own) : this.#classBody(own, declares);
    const unused = [...this.#notes.keys()].filter((name) => !this.#used.has(name));
    if (unused.length > 0)
      throw new Error(`${this.#page.file}: no such function or method: ${unused.join(", ")}.`);
    return introduction + body;
  }

  // Types are folded and sorted by name; those with notes on their methods are shown like classes.
  #entryBody(own: readonly Declaration[]): string {
    const isElsewhere = ({ name }: Declaration) =>
      !this.#entry.pages.some(({ path }) => this.#addressOf(name)?.startsWith(`${path}#`));
    const here = own.filter((one) => !isElsewhere(one));
    const isOpen = ({ kind, name, methods }: Declaration) =>
      kind === "class" || methods.some((method) => this.#notes.has(`${name}.${method.name}`));
    const open = here.filter((one) => one.kind !== "function" && isOpen(one));
    const rest = here.filter((one) => !open.includes(one));
    const ofKind = (kind: Declaration["kind"]) => rest.filter((one) => one.kind === kind);
    const functions = ofKind("function").sort(
      (a, b) => this.#orderOf(a.name) - this.#orderOf(b.name),
    );
    const types = ofKind("type").sort(byName);
    return [
      this.#elsewhere(),
      section(
        "Functions",
        functions.map((one) => this.#function(one)),
      ),
      section(
        "Classes",
        open.map((one) => this.#class(one, 3)),
      ),
      section(
        "Values",
        ofKind("value").map((one) => this.#simple(one)),
      ),
      section(
        "Types",
        types.map((one) => this.#type(one)),
      ),
      section(
        "Also exported",
        own
          .filter(isElsewhere)
          .sort(byName)
          .map((one) => this.#type(one, "declaration copy-of")),
      ),
    ].join("\n");
  }

  #classBody(own: readonly Declaration[], order: readonly string[]): string {
    return order
      .map((name) => this.#class(own.find((one) => one.name === name) as Declaration, 2))
      .join("\n");
  }

  // The declarations that have pages of their own.
  #elsewhere(): string {
    const pages = this.#entry.pages.filter(({ declares }) => declares !== undefined);
    const items = pages.map(
      (page) =>
        `<li><a class="declared" href="${upFrom(this.#page)}${page.path}">${escapeHtml(page.title)}</a>: ${escapeHtml(page.summary)}</li>`,
    );
    return items.length === 0 ? "" : `<ul>${items.join("")}</ul>`;
  }

  #function(declaration: Declaration): string {
    const { name, text, code } = declaration;
    return this.#member(name, name, 3, { name, text, code });
  }

  #class(declaration: Declaration, level: number): string {
    const { name, text, code } = declaration;
    const ordered = this.#methodsOf(declaration).sort(
      (a, b) => this.#orderOf(`${name}.${a.name}`) - this.#orderOf(`${name}.${b.name}`),
    );
    const methods = ordered.map((method) =>
      this.#member(`${name}.${method.name}`, method.name, level + 1, method),
    );
    const notes = this.#noteOf(name);
    return `<section class="declaration" id="${name}">${heading(name, name, level)}${this.#prose(text)}${this.#code(code, name)}${notes}</section>\n${methods.join("\n")}`;
  }

  // The methods of an interface include those of the interfaces that it extends, unless these have
  // a page.
  #methodsOf({ methods, bases }: Declaration): Method[] {
    const inherited = bases
      .flatMap((base) => this.#entry.declarations.get(base) ?? [])
      .filter(({ name }) => !this.#entry.pages.some(({ declares }) => declares?.includes(name)))
      .flatMap((base) => this.#methodsOf(base));
    return [...methods, ...inherited];
  }

  // A function or a method, which must have notes.
  #member(key: string, title: string, level: number, { text, code }: Method): string {
    const notes = this.#noteOf(key);
    if (notes === "") throw new Error(`${this.#page.file} has no heading "## ${key}".`);
    return `<section class="declaration" id="${key}">${heading(key, title, level)}${this.#prose(text)}${this.#code(code, key)}${notes}</section>`;
  }

  #simple({ name, text, code }: Declaration): string {
    return `<section class="declaration" id="${name}">${heading(name, name, 3)}${this.#prose(text)}${this.#code(code, name)}${this.#noteOf(name)}</section>`;
  }

  // The search does not list what another entry point declares.
  #type({ name, text, fullCode }: Declaration, kind = "declaration"): string {
    return `<details class="${kind}" id="${name}"><summary><code>${name}</code></summary>${this.#prose(text)}${this.#code(fullCode, name)}</details>`;
  }

  // Functions and methods are in the order of their notes.
  #orderOf(key: string): number {
    return [...this.#notes.keys()].indexOf(key);
  }

  #noteOf(key: string): string {
    const notes = this.#notes.get(key);
    if (notes === undefined) return "";
    this.#used.add(key);
    return render(this.#page, notes);
  }

  #prose(text: string): string {
    return text === "" ? "" : render(this.#page, text, false);
  }

  /** Returns highlighted code in which type names link to their declarations. */
  #code(code: string, own: string): string {
    const html = highlight(code).map(({ kind, text }) => {
      if (kind !== "plain") return `<span class="${kind}">${escapeHtml(text)}</span>`;
      return escapeHtml(text).replace(/(?<![\w$#&])[A-Z]\w+/g, (name) => {
        const home = this.#addressOf(name);
        return home === undefined || name === own ? name : this.#link(name, home);
      });
    });
    return codeBlock(html.join(""));
  }

  // Another entry point may declare the same name otherwise, as those for frameworks do.
  #addressOf(name: string): string | undefined {
    const home = this.#homes.get(name);
    const own = this.#entry.declarations.get(name);
    if (own === undefined || own === home?.declaration) return home?.address;
    return `${homeOf(name, this.#entry)?.path}#${name}`;
  }

  #link(name: string, home: string): string {
    const { path } = this.#page;
    const isHere = home.startsWith(`${path}#`);
    return `<a href="${isHere ? `#${name}` : upFrom(this.#page) + home}">${name}</a>`;
  }
}

function section(title: string, members: readonly string[]): string {
  if (members.length === 0) return "";
  const id = title.toLowerCase().replaceAll(" ", "-");
  return `<h2 id="${id}"><a class="anchor" href="#${id}">${title}</a></h2>\n${members.join("\n")}`;
}

function heading(id: string, title: string, level: number): string {
  return `<h${level}><a class="anchor" href="#${id}"><code>${title}</code></a></h${level}>`;
}

function byName(a: Declaration, b: Declaration): number {
  return a.name < b.name ? -1 : 1;
}
