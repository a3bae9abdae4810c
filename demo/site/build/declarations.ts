// Reads the declarations of the package: the exports of its entry points, with their comments, and
// the members of classes and interfaces.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "vite";

export interface Declaration {
  readonly name: string;
  readonly kind: "function" | "class" | "value" | "type";
  /** The doc comment, as Markdown. */
  readonly text: string;
  /** The code without the members in `methods`. */
  readonly code: string;
  /** The whole code. */
  readonly fullCode: string;
  /** The methods of a class or an interface, in their order. Overloads are one method. */
  readonly methods: readonly Method[];
  /** The interfaces that an interface extends. */
  readonly bases: readonly string[];
}

export interface Method {
  readonly name: string;
  readonly text: string;
  readonly code: string;
}

// The parts of the syntax tree that this file reads.
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly id?: Name | null;
  readonly declaration?: Node | null;
  readonly declarations?: readonly Node[];
  readonly source?: { readonly value: string } | null;
  readonly specifiers?: readonly {
    readonly local: Name;
    readonly exported?: Name;
    readonly imported?: Name;
  }[];
  readonly body?: { readonly body?: readonly Node[] };
  readonly key?: Partial<Name>;
  readonly kind?: string;
  readonly accessibility?: string | null;
  readonly extends?: readonly { readonly expression: Partial<Name> }[];
  readonly typeAnnotation?: { readonly typeAnnotation: Node };
}
interface Name {
  readonly name: string;
}

const read = new Map<string, Map<string, Declaration>>();

/** Returns the exports of a declaration file, by name. */
export function exportsOf(file: string): Map<string, Declaration> {
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
  const methods = (declared.body?.body ?? []).filter(isMethod);
  const common = {
    kind,
    text: commentBefore(source, node.start),
    code: declarationCode(source, node, methods),
    fullCode: declarationCode(source, node, []),
    methods: methodsOf(methods, source),
    bases: (declared.extends ?? []).flatMap(({ expression }) => expression.name ?? []),
  };
  return named.flatMap(({ id }) => (id ? [{ name: id.name, ...common }] : []));
}

// A property whose type is a function is called like a method. Not those that only the browser or a
// subclass calls.
function isMethod({ type, kind, key, accessibility, typeAnnotation }: Node): boolean {
  if (key?.name === undefined) return false; // [Symbol.asyncDispose]
  if (accessibility === "protected" || key.name.endsWith("Callback")) return false;
  if (type === "TSMethodSignature") return true;
  if (type === "MethodDefinition") return kind === "method";
  return typeAnnotation?.typeAnnotation.type === "TSFunctionType";
}

function methodsOf(nodes: readonly Node[], source: string): Method[] {
  const groups = Map.groupBy(nodes, ({ key }) => key?.name ?? "");
  return [...groups].map(([name, overloads]) => ({
    name,
    text: overloads
      .map(({ start }) => commentBefore(source, start))
      .join("\n\n")
      .trim(),
    code: overloads.map(({ start, end }) => dedented(source.slice(start, end))).join("\n"),
  }));
}

// Returns the code of a declaration without these members and their comments.
function declarationCode(source: string, node: Node, without: readonly Node[]): string {
  let code = "";
  let at = node.start;
  for (const { start, end } of without) {
    code += source.slice(at, startWithComment(source, start)).trimEnd();
    at = end;
  }
  return unwrapped(code + source.slice(at, node.end))
    .replace(/^(export )?(declare )?/, "")
    .replace(/^ +#private;\n/m, "")
    .replace(/\{\s*\}$/, "{}");
}

const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/;

function startWithComment(source: string, start: number): number {
  const before = source.slice(0, start);
  return comment.exec(before)?.index ?? before.trimEnd().length;
}

function commentBefore(source: string, start: number): string {
  const [, text] = comment.exec(source.slice(0, start)) ?? [];
  return (text ?? "").replace(/^\s*\* ?/gm, "").trim();
}

function dedented(code: string): string {
  return unwrapped(code).replace(/^ {4}/gm, "");
}

// Joins the wrapped lines of each comment inside a declaration, so that the page can wrap them
// itself.
function unwrapped(code: string): string {
  return code.replace(/\/\*\*[\s\S]*?\*\//g, (text) =>
    text.replace(/\s*\n\s*(\*(?!\/))?\s*/g, " "),
  );
}
