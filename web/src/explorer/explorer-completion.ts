// Completes filters: suggests properties, operators and values, using the rows shown so far.

import type { EdmTypes } from "../types.ts";
import { isTyped, literalOf, type TypedValue } from "./explorer-values.ts";

const sampleMax = 12;
const literalUnitsMax = 60;
const namesMax = 2000;

/** The properties of the rows shown so far, each with its types and some of its values. */
export class PropertySamples {
  readonly #samples = new Map<string, Map<EdmTypes, Set<string>>>();

  constructor() {
    this.clear();
  }

  clear(): void {
    this.#samples.clear();
    for (const key of ["PartitionKey", "RowKey"]) this.#literalsFor(key, "String");
    this.#literalsFor("Timestamp", "DateTime");
  }

  get names(): string[] {
    return [...this.#samples.keys()];
  }

  typesOf(name: string): EdmTypes[] {
    return [...(this.#samples.get(name)?.keys() ?? [])];
  }

  /** Returns some values of a property, as literals of a filter. */
  literalsOf(name: string): string[] {
    return [...(this.#samples.get(name)?.values() ?? [])].flatMap((literals) => [...literals]);
  }

  addRows(rows: readonly Readonly<Record<string, unknown>>[]): void {
    for (const { partitionKey, rowKey, timestamp, etag: _, ...properties } of rows) {
      this.#addSample("PartitionKey", "String", partitionKey);
      this.#addSample("RowKey", "String", rowKey);
      this.#addSample("Timestamp", "DateTime", timestamp);
      for (const [name, property] of Object.entries(properties)) {
        if (isTyped(property)) this.#addSample(name, property.type, property.value);
      }
    }
  }

  #literalsFor(name: string, type: EdmTypes): Set<string> | undefined {
    let types = this.#samples.get(name);
    if (types === undefined) {
      if (this.#samples.size >= namesMax) return undefined;
      types = new Map();
      this.#samples.set(name, types);
    }
    let literals = types.get(type);
    if (literals === undefined) {
      literals = new Set();
      types.set(type, literals);
    }
    return literals;
  }

  #addSample(name: string, type: EdmTypes, value: unknown): void {
    if (typeof value !== "string") return; // the query did not select the property
    const literals = this.#literalsFor(name, type);
    if (literals === undefined || literals.size >= sampleMax) return;
    if (value.length > literalUnitsMax) return;
    literals.add(literalOf({ type, value } satisfies TypedValue));
  }
}

export interface Completion {
  readonly text: string;
  /** A short description. */
  readonly detail: string;
  /** Where the caret is after the insertion: UTF-16 units before the end of `text`. */
  readonly back: number;
}

export interface CompletionList {
  /** The range of the filter that an option replaces. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly Completion[];
}

interface Token {
  readonly text: string;
  readonly from: number;
}

const tokens = /(?:[A-Za-z]*'(?:[^']|'')*'?)|[()]|[^\s()']+/g;

/** Splits a filter into tokens. A string without its closing quote extends to the end. */
export function tokenizeFilter(text: string): Token[] {
  return Array.from(text.matchAll(tokens), ({ 0: token, index }) => ({ text: token, from: index }));
}

const operators: readonly (readonly [text: string, detail: string])[] = [
  ["eq", "equal"],
  ["ne", "not equal"],
  ["gt", "greater"],
  ["ge", "greater or equal"],
  ["lt", "less"],
  ["le", "less or equal"],
];

// What may follow in a filter. `property`: the property that the value is compared with. joint:
// `and`, `or` or a closing parenthesis.
type Expectation = { what: "operand" | "operator" | "joint" } | { what: "value"; property: string };

function expectedAfter(before: readonly Token[]): Expectation & { property?: string } {
  let expected: Expectation & { property?: string } = { what: "operand" };
  for (const { text } of before) {
    if (expected.what === "operand") {
      if (text === "(" || text === "not") continue;
      expected = { what: "operator", property: text };
    } else if (expected.what === "operator") {
      const isOperator = operators.some(([name]) => name === text);
      if (isOperator) expected = { what: "value", property: expected.property ?? "" };
      else expected = { what: text === "and" || text === "or" ? "operand" : "joint" };
    } else if (expected.what === "value") {
      expected = { what: "joint" };
    } else {
      expected = { what: text === "and" || text === "or" ? "operand" : "joint" };
    }
  }
  return expected;
}

/** Returns the completions for the word at the caret, which is a position in UTF-16 units. */
export function completeFilter(text: string, caret: number, seen: PropertySamples): CompletionList {
  const all = tokenizeFilter(text);
  const at = all.find((token) => token.from < caret && caret <= token.from + token.text.length);
  const current = at !== undefined && /^[()]$/.test(at.text) ? undefined : at;
  const before = all.filter((token) => token.from + token.text.length <= (current?.from ?? caret));
  const expected = expectedAfter(before);
  const from = current?.from ?? caret;
  const written = text.slice(from, caret);
  const options = optionsFor(expected, before, seen).filter((option) => fits(option, written));
  const to = current === undefined ? caret : from + current.text.length;
  const isWhole = options.length === 1 && options[0]?.text.trimEnd() === text.slice(from, to);
  return { from, to, options: isWhole ? [] : options };
}

function fits({ text }: Completion, written: string): boolean {
  const sought = written.toLowerCase();
  return text.toLowerCase().startsWith(sought) || text.toLowerCase().startsWith(`'${sought}`);
}

function optionsFor(
  expected: Expectation & { property?: string },
  before: readonly Token[],
  seen: PropertySamples,
): Completion[] {
  switch (expected.what) {
    case "operand":
      return [
        ...seen.names.map((name) => option(`${name} `, seen.typesOf(name).join(", "))),
        option("not (", "negation"),
      ];
    case "operator":
      return operators.map(([text, detail]) => option(`${text} `, detail));
    case "value":
      return valuesOf(expected.property ?? "", seen);
    case "joint": {
      const open = count(before, "(") > count(before, ")");
      const joints = [option("and ", "both"), option("or ", "either")];
      return open ? [...joints, option(") ", "close")] : joints;
    }
  }
}

function count(list: readonly Token[], text: string): number {
  return list.filter((token) => token.text === text).length;
}

const empty: Readonly<Record<EdmTypes, readonly [text: string, back: number]>> = {
  String: ["''", 1],
  Int32: ["0", 0],
  Int64: ["0L", 0],
  Double: ["0.0", 0],
  Boolean: ["true", 0],
  DateTime: ["datetime''", 1],
  Guid: ["guid''", 1],
  Binary: ["X''", 1],
};

// Returns sample values of the property, then the literal syntax of each of its types.
function valuesOf(property: string, seen: PropertySamples): Completion[] {
  const types = seen.typesOf(property);
  const shown = seen.literalsOf(property).map((text) => option(`${text} `, "seen"));
  const written = (types.length === 0 ? (["String", "Int32"] as const) : types).flatMap((type) => {
    if (type === "Boolean") return ["true", "false"].map((text) => option(`${text} `, type));
    const [text, back] = empty[type];
    return [{ text, detail: type, back }];
  });
  const known = new Set(shown.map(({ text }) => text.trimEnd()));
  return [...shown, ...written.filter(({ text }) => !known.has(text.trimEnd()))];
}

function option(text: string, detail: string): Completion {
  return { text, detail, back: 0 };
}

/**
 * Returns the range of the token that caused a syntax error. `position`: where that token ends, as
 * the store reports it.
 */
export function errorRange(filter: string, position: number): { from: number; to: number } {
  const to = Math.min(position, filter.length);
  const token = tokenizeFilter(filter)
    .filter(({ from }) => from < to)
    .at(-1);
  return { from: token === undefined ? to : token.from, to };
}

/** Returns the position that a syntax error's message names; undefined: it names none. */
export function parseErrorPosition(message: string): number | undefined {
  const [, position] = /^Syntax error at position (\d+) in /.exec(message) ?? [];
  return position === undefined ? undefined : Number(position);
}
