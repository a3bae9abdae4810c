// A table that exists only while a remote is measured.

import type { Ticks, Version } from "../sync/hidden-tables.ts";
import { type Key, keyOf, type Partition } from "../sync/keys.ts";
import type { RemoteOperation } from "../sync/operation.ts";
import type { Properties } from "../sync/properties.ts";
import type { PushAnswer, ReadAnswer, ScannedRow } from "../sync/remote.ts";
import type { Value } from "../sync/value.ts";
import { answerOfBatch } from "./batch-answer.ts";
import { batchRequest } from "./batch-request.ts";
import type { Http, HttpResult } from "./http.ts";
import { HttpRemote } from "./http-remote.ts";
import type { RemoteProfile } from "./profile.ts";
import { failureOf, serviceErrorOf } from "./service-error.ts";

/** The remote did not do what a measurement needs. */
export class MeasurementError extends Error {
  /** The service's code, if it has sent one. */
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

const triesMax = 5;
const retryMs = 500;
const unitsMax = 30_000; // a property has 64 KiB at most, with two bytes for each unit

export interface Scan {
  readonly rows: readonly ScannedRow[];
  readonly pages: number;
  /** Of the page that has the most. */
  readonly pageRows: number;
}

export class ScratchTable {
  readonly #http: Http;
  readonly #name: string;
  readonly #token: () => string;
  #profile: RemoteProfile;
  #remote: HttpRemote;
  #created: Promise<HttpResult> | undefined;
  #dropped: Promise<void> | undefined;

  /** `token`: returns GUIDs. */
  constructor(http: Http, token: () => string, profile: RemoteProfile) {
    const name = `entitable${token().replaceAll("-", "")}`;
    this.#http = http;
    this.#name = name;
    this.#token = token;
    this.#profile = profile;
    this.#remote = new HttpRemote(http, { table: name, client: "", profile });
  }

  get name(): string {
    return this.#name;
  }

  /** REQUIRES: drop() is called afterwards, whatever comes of it. */
  async create(): Promise<void> {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ TableName: this.#name });
    this.#created = this.#http.send({ method: "POST", path: "Tables", headers, body });
    const created = await this.#created;
    if (!isSuccess(created)) throw errorOf("create a table", failureOf(created), created);
  }

  /** Deletes the table, if it exists. Throws MeasurementError if it may exist afterwards. */
  drop(): Promise<void> {
    this.#dropped ??= this.#drop();
    return this.#dropped;
  }

  /** Creating may have failed although the table was created, so that is not trusted. */
  async #drop(): Promise<void> {
    const created = await this.#created;
    if (this.#created === undefined || isRefused(created)) return;
    const path = `Tables('${this.#name}')`;
    for (let tries = 1; ; ++tries) {
      const dropped = await this.#http.send({ method: "DELETE", path });
      if (isSuccess(dropped) || isMissing(dropped)) return;
      if (tries === triesMax)
        throw errorOf(`delete the table ${this.#name}`, failureOf(dropped), dropped);
      await delay(retryMs * tries);
    }
  }

  /** What a probe has shown. */
  use(profile: RemoteProfile): void {
    this.#profile = profile;
    this.#remote = new HttpRemote(this.#http, { table: this.#name, client: "", profile });
  }

  /** Inserts entities with properties of `bytes` bytes. All keys are of one partition. */
  async insert(partition: Partition, rowKeys: readonly string[], bytes = 0): Promise<Version[]> {
    const properties = propertiesOf(bytes);
    const operations = rowKeys.map(
      (row) => ({ kind: "insert", key: keyOf(partition, row), properties }) as const,
    );
    return this.#write(operations);
  }

  /** Changes an entity. Returns its version. */
  async merge(key: Key, etag: string, value: number): Promise<Version> {
    const set = new Map([["n", { type: "Int32", value } as const]]);
    const [version] = await this.#write([{ kind: "merge", key, set, etag }]);
    return version as Version;
  }

  async #write(operations: readonly RemoteOperation[]): Promise<Version[]> {
    const isCosmos = this.#profile.service === "cosmos";
    const url = `${this.#http.base}/${this.#name}`;
    const request = batchRequest(operations, this.#token(), url, isCosmos);
    const sent = await this.#http.send({ ...request, method: "POST", path: "$batch" });
    const isDelete = operations.map(() => false);
    const answer: PushAnswer = answerOfBatch(sent, isDelete, false);
    if (answer.kind !== "applied") throw errorOf("write", answer, sent);
    return answer.versions as Version[];
  }

  /** Returns what became of a batch: undefined if it was executed, or else the error's code. */
  async refusalOf(partition: Partition, rowKeys: readonly string[], bytes: number) {
    try {
      await this.insert(partition, rowKeys, bytes);
      return undefined;
    } catch (error) {
      if (error instanceof MeasurementError) return error.code ?? "no answer";
      throw error;
    }
  }

  read(key: Key): Promise<ReadAnswer> {
    return this.#remote.read(key);
  }

  async scan(keysOnly: boolean, since?: Ticks): Promise<Scan> {
    const rows: ScannedRow[] = [];
    let pageRows = 0;
    const request = { range: { from: "" }, keysOnly, isFiltered: false, since };
    for (let pages = 1, token: string | undefined; ; ++pages) {
      const answer = await this.#remote.scan({ ...request, token });
      if (answer.kind !== "page") throw errorOf("scan", answer);
      for (const row of answer.rows) rows.push(row);
      pageRows = Math.max(pageRows, answer.rows.length);
      ({ token } = answer);
      if (token === undefined) return { rows, pages, pageRows };
    }
  }
}

function propertiesOf(bytes: number): Properties {
  const properties = new Map<string, Value>();
  for (let at = 0; at < bytes; at += unitsMax) {
    const value = "x".repeat(Math.min(unitsMax, bytes - at));
    properties.set(`data${at}`, { type: "String", value });
  }
  return properties;
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const isSuccess = (result: HttpResult): boolean =>
  typeof result === "object" && result.status >= 200 && result.status < 300;

/** The service has said that it did not do it. */
const isRefused = (result: HttpResult): boolean =>
  result === "noCredential" ||
  (typeof result === "object" && result.status < 500 && serviceErrorOf(result.text) !== undefined);

const isMissing = (result: HttpResult): boolean =>
  typeof result === "object" && result.status === 404 && isRefused(result);

interface Answer {
  readonly kind: string;
  readonly code?: string;
}

/** The message has no part of a URL, which may have a signature. */
function errorOf(what: string, { kind, code }: Answer, result?: HttpResult): MeasurementError {
  const response = typeof result === "object" ? result : undefined;
  const known = code ?? (response && serviceErrorOf(response.text)?.code);
  const status = response ? `status ${response.status}` : reasons[kind];
  return new MeasurementError(`The remote did not ${what}: ${known ?? status ?? kind}.`, known);
}

const reasons: Readonly<Record<string, string>> = {
  failed: "there was no answer of the service",
  unauthorized: "there is no credential, or it is not accepted",
  tableMissing: "the table is missing",
};
