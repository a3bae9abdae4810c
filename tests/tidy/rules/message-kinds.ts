// Compares the three lists of message kinds: in core/rpc/LAYOUT.md, in C++ and in TypeScript.

import type { Repository } from "../repository.ts";

const layoutFile = "core/rpc/LAYOUT.md";
const typescriptFile = "web/src/util/engine-message-kinds.ts";

type Kinds = Map<string, number>;

interface Statement {
  readonly path: string;
  readonly kinds: Kinds;
}

/**
 * Makes names equal that differ only in spelling, such as "list tables", "list_tables" and
 * "listTables".
 */
const normalized = (name: string) => name.replace(/[^a-z0-9]/gi, "").toLowerCase();

/**
 * Returns group 1 (a name) and group 2 (a number) of each match of `entry` in a section of a text.
 */
function kindsIn(text: string, section: RegExp, entry: RegExp): Kinds {
  const content = section.exec(text)?.[1] ?? "";
  return new Map(
    [...content.matchAll(entry)].map(([, name = "", kind]) => [normalized(name), Number(kind)]),
  );
}

/** Returns the number in the first group of the pattern's match, under this name. */
function constant(text: string, name: string, pattern: RegExp): Kinds {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? new Map() : new Map([[name, Number(value)]]);
}

function rpcStatements(read: (path: string) => string, direction: "request" | "response") {
  const title = direction === "request" ? "Request" : "Response";
  const rows = new Map<string, number>();
  const section = new RegExp(`\\n## ${title}s\\n([^]*?)(?:\\n###? |$)`).exec(read(layoutFile))?.[1];
  for (const [, kind, name = ""] of (section ?? "").matchAll(/^\| (\d+) \| ([\w -]+) \|/gm)) {
    rows.set(normalized(name), Number(kind));
  }
  const header = "core/rpc/message.h";
  const enumerator = /^ {2}(\w+) = (\d+),/gm;
  const member = /^ {2}(\w+): (\d+),/gm;
  const enumeration = new RegExp(`enum class ${title}Kind [^{]*\\{([^}]*)\\}`);
  const object = new RegExp(`const ${direction}Kind = \\{([^}]*)\\}`);
  return [
    { path: layoutFile, kinds: rows },
    { path: header, kinds: kindsIn(read(header), enumeration, enumerator) },
    { path: typescriptFile, kinds: kindsIn(read(typescriptFile), object, member) },
  ];
}

/** Returns what each file states about the kinds of calls and of HTTP messages. */
function otherStatements(read: (path: string) => string): Statement[][] {
  const statement = (path: string, name: string, pattern: RegExp): Statement => ({
    path,
    kinds: constant(read(path), name, pattern),
  });
  const codec = "core/rest/http_codec.h";
  return [
    [
      statement(layoutFile, "call", /\bKind (\d+) is a call\b/),
      statement("core/dispatch/call_header.h", "call", /\bcall = (\d+):u8/),
      statement("core/dispatch/call_header.cc", "call", /\bcall_kind = (\d+);/),
      statement(typescriptFile, "call", /\bcallKind = (\d+);/),
    ],
    [
      statement(layoutFile, "HTTP request", /\bKinds (\d+) and \d+ are HTTP messages\b/),
      statement(codec, "HTTP request", /\bhttp_request_kind = (\d+);/),
      statement(codec, "HTTP request", /\brequest {2}= (\d+):u8/),
      statement(typescriptFile, "HTTP request", /\bhttpRequestKind = (\d+);/),
    ],
    [
      statement(layoutFile, "HTTP response", /\bKinds \d+ and (\d+) are HTTP messages\b/),
      statement(codec, "HTTP response", /\bhttp_response_kind = (\d+);/),
      statement(codec, "HTTP response", /\bresponse = (\d+):u8/),
      statement(typescriptFile, "HTTP response", /\bhttpResponseKind = (\d+);/),
    ],
  ];
}

/** The documentation, the C++ and the TypeScript state the same kinds of messages. */
export function messageKindsAgree(repository: Repository): string[] {
  if (!repository.text.has(typescriptFile)) return [];
  const read = (path: string) => repository.text.get(path) ?? "";
  const groups = [rpcStatements(read, "request"), rpcStatements(read, "response")];
  return [...groups, ...otherStatements(read)].flatMap(differences);
}

/**
 * Compares each file's statement with the first one. A statement without kinds is also a violation.
 */
function differences([first, ...others]: Statement[]): string[] {
  if (first === undefined) return [];
  if (first.kinds.size === 0) return [`${first.path}: states no message kinds`];
  const text = (kinds: Kinds) => [...kinds].map(([name, kind]) => `${name} ${kind}`).join(", ");
  return others
    .filter(({ kinds }) => text(kinds) !== text(first.kinds))
    .map(
      ({ path, kinds }) => `${path}: ${text(kinds)}; but ${first.path} has ${text(first.kinds)}`,
    );
}
