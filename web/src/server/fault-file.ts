// Reads fault rules from a file: a JSON array of the rules of `entitable/testing`. Text between
// slashes is a regular expression; other text has no slashes, because table names and keys cannot
// contain any.

import { StoreError } from "../errors.ts";
import { checkRule } from "../testing/fault-rules.ts";
import type { FaultRule } from "../testing/types.ts";
import { nodeModule, systemErrorCode } from "../util/node.ts";

type Json = Record<string, unknown>;

const members = [
  "on",
  "table",
  "partitionKey",
  "rowKey",
  "times",
  "skip",
  "probability",
  "respond",
  "network",
  "delayMs",
];
const membersOfRespond = ["code", "status", "message", "retryAfter", "headers"];
const texts = ["table", "partitionKey", "rowKey"];

/**
 * Reads the rules. Rejects with StoreError ValidationFailed; the message names the file and the
 * rule.
 */
export async function readFaultFile(file: string): Promise<FaultRule[]> {
  const { promises: fs } = await nodeModule("node:fs");
  const bytes = await fs.readFile(file).catch((error: unknown) => {
    throw invalid(`${file} can't be read (${systemErrorCode(error)}).`, error);
  });
  let rules: unknown;
  try {
    // TextDecoder removes the byte order mark that Windows editors add.
    rules = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw invalid(`${file}: ${(error as Error).message}`, error);
  }
  if (!Array.isArray(rules)) throw invalid(`${file} is no array of fault rules.`);
  return rules.map((rule, i) => ruleOf(`${file}[${i}]`, rule));
}

function ruleOf(where: string, json: unknown): FaultRule {
  const given = objectOf(where, json, members);
  if (given["respond"] !== undefined)
    objectOf(`${where}.respond`, given["respond"], membersOfRespond);
  const rule: Json = { ...given };
  for (const name of texts) {
    if (name in given) rule[name] = textOrPattern(`${where}: ${name}`, given[name]);
  }
  try {
    checkRule(rule as unknown as FaultRule);
  } catch (error) {
    throw invalid(`${where}: ${(error as Error).message}`, error);
  }
  return rule as unknown as FaultRule;
}

function objectOf(where: string, json: unknown, known: readonly string[]): Json {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalid(`${where} is no object.`);
  }
  const unknown = Object.keys(json).find((name) => !known.includes(name));
  if (unknown === undefined) return json as Json;
  throw invalid(`${where} has ${unknown}, which is none of ${known.join(", ")}.`);
}

function textOrPattern(where: string, value: unknown): unknown {
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(String(value)) ?? [];
  if (source === undefined) return value;
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw invalid(`${where}: ${(error as Error).message}`, error);
  }
}

function invalid(message: string, cause?: unknown): StoreError {
  return new StoreError("ValidationFailed", message, { cause });
}
