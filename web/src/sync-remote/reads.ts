// Reads of single entities. The absence of an entity can delete a local row, so an answer that may
// be about something else is checked by a search for the key.

import { type Key, keyAfter } from "../sync/keys.ts";
import type { ReadAnswer } from "../sync/remote.ts";
import { entityPath } from "./batch-request.ts";
import { type JsonEntity, parseTypedJson, rowOf } from "./entity-json.ts";
import type { Http, HttpResponse, HttpResult } from "./http.ts";
import type { RemoteProfile } from "./profile.ts";
import { isInSasRange } from "./sas-range.ts";
import type { Scans } from "./scans.ts";
import { failureOf, isAbsence, isRefusal, serviceErrorOf } from "./service-error.ts";

interface ReadResult {
  readonly answer: ReadAnswer;
  readonly result: HttpResult;
}

export class Reads {
  readonly #http: Http;
  readonly #table: string;
  readonly #scans: Scans;
  /** Whether a missing table may be answered like an absent entity, as Cosmos DB does. */
  readonly #hidesMissingTable: boolean;

  constructor(http: Http, table: string, { service }: RemoteProfile, scans: Scans) {
    this.#http = http;
    this.#table = table;
    this.#scans = scans;
    this.#hidesMissingTable = service === "cosmos" || service === "unknown";
  }

  async read(key: Key): Promise<ReadResult> {
    const result = await this.#http.send({ method: "GET", path: entityPath(this.#table, key) });
    if (typeof result !== "object") return { answer: failureOf(result), result };
    const answer =
      result.status === 200 ? found(result, key) : this.#answerWithoutEntity(result, key);
    return answer ? { answer, result } : this.#search(key);
  }

  /**
   * Undefined: a search must decide. The service decodes a path twice, so with a "%" in its key it
   * may have looked for another entity. And a query with a shared access signature returns nothing
   * of what is outside of its range.
   */
  #answerWithoutEntity(response: HttpResponse, key: Key): ReadAnswer | undefined {
    const { status, text, sas } = response;
    const code = serviceErrorOf(text)?.code;
    if (code === undefined) return failureOf(response);
    const isAbsent = isAbsence(status, code);
    const isForbidden = status === 403 && code === "AuthorizationFailure";
    const hasPercent = key.includes("%");
    const isOutside = !isInSasRange(key, sas) && (isForbidden || hasPercent || status === 400);
    if (isOutside) return { kind: "forbidden" };
    if (isAbsent && !hasPercent && !this.#hidesMissingTable) return { kind: "absent" };
    const mayMislead = isAbsent || status === 400 || (isForbidden && hasPercent);
    return mayMislead ? undefined : failureOf(response);
  }

  async #search(key: Key): Promise<ReadResult> {
    const range = { from: key, to: keyAfter(key) };
    for (let token: string | undefined; ; ) {
      const request = { range, keysOnly: false, isFiltered: false, token };
      const { answer, result } = await this.#scans.page(request);
      if (answer.kind === "tokensHidden") return { answer: { kind: "failed" }, result };
      if (answer.kind !== "page") return isRefused(result) ? this.#others() : { answer, result };
      const [first] = answer.rows;
      if (first) return { answer: { kind: "found", row: first.row }, result };
      ({ token } = answer);
      if (token === undefined) return { answer: { kind: "absent" }, result };
    }
  }

  /**
   * A key that is refused both in a path and in a filter, while others can be read, is that of no
   * entity.
   */
  async #others(): Promise<ReadResult> {
    const request = { range: { from: "" }, keysOnly: true, isFiltered: false };
    const { answer, result } = await this.#scans.page(request, 1);
    if (answer.kind === "page") return { answer: { kind: "absent" }, result };
    return { answer: answer.kind === "tokensHidden" ? { kind: "failed" } : answer, result };
  }
}

const isRefused = (result: HttpResult): boolean => typeof result === "object" && isRefusal(result);

/** Undefined: it is another entity, as a path with "%" may bring. */
function found({ text }: HttpResponse, key: Key): ReadAnswer | undefined {
  const entity = parseTypedJson(text);
  const scanned = isJsonEntity(entity) ? rowOf(entity, false) : undefined;
  if (scanned?.key === key) return { kind: "found", row: scanned.row, bytes: text.length };
  return scanned && key.includes("%") ? undefined : { kind: "failed" };
}

const isJsonEntity = (value: unknown): value is JsonEntity =>
  typeof value === "object" && value !== null;
