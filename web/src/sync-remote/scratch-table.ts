// A table that exists only while a remote is measured.

import type { Ticks, Version } from "../sync/hidden-tables.ts";
import { type Key, keyOf, type Partition } from "../sync/keys.ts";
import type { RemoteOperation } from "../sync/operation.ts";
import type { PushAnswer, ReadAnswer, ScannedRow } from "../sync/remote.ts";
import { answerOfBatch } from "./batch-answer.ts";
import { batchRequest } from "./batch-request.ts";
import type { Http, HttpResult } from "./http.ts";
import { HttpRemote } from "./http-remote.ts";
import type { RemoteProfile } from "./profile.ts";
import { failureOf } from "./service-error.ts";

/** The remote did not do what a measurement needs. */
export class MeasurementError extends Error {}

export interface Scan {
  readonly rows: readonly ScannedRow[];
  readonly pages: number;
}

export class ScratchTable {
  readonly #http: Http;
  readonly #name: string;
  readonly #token: () => string;
  #profile: RemoteProfile;
  #remote: HttpRemote;

  private constructor(http: Http, name: string, token: () => string, profile: RemoteProfile) {
    this.#http = http;
    this.#name = name;
    this.#token = token;
    this.#profile = profile;
    this.#remote = new HttpRemote(http, { table: name, client: "", profile });
  }

  /** `token`: returns GUIDs. */
  static async create(http: Http, token: () => string, profile: RemoteProfile) {
    const name = `entitable${token().replaceAll("-", "")}`;
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ TableName: name });
    const created = await http.send({ method: "POST", path: "Tables", headers, body });
    if (!isSuccess(created)) throw errorOf("create a table", failureOf(created));
    return new ScratchTable(http, name, token, profile);
  }

  get name(): string {
    return this.#name;
  }

  async drop(): Promise<void> {
    const path = `Tables('${this.#name}')`;
    const dropped = await this.#http.send({ method: "DELETE", path });
    if (!isSuccess(dropped)) throw errorOf(`delete the table ${this.#name}`, failureOf(dropped));
  }

  /** What a probe has shown. */
  use(profile: RemoteProfile): void {
    this.#profile = profile;
    this.#remote = new HttpRemote(this.#http, { table: this.#name, client: "", profile });
  }

  /** Inserts entities with a property of `bytes` bytes. All keys are of one partition. */
  async insert(partition: Partition, rowKeys: readonly string[], bytes = 0): Promise<Version[]> {
    const properties = new Map([["data", { type: "String", value: "x".repeat(bytes) } as const]]);
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
    if (answer.kind !== "applied") throw errorOf("write", answer);
    return answer.versions as Version[];
  }

  read(key: Key): Promise<ReadAnswer> {
    return this.#remote.read(key);
  }

  async scan(keysOnly: boolean, since?: Ticks): Promise<Scan> {
    const rows: ScannedRow[] = [];
    const request = { range: { from: "" }, keysOnly, isFiltered: false, since };
    for (let pages = 1, token: string | undefined; ; ++pages) {
      const answer = await this.#remote.scan({ ...request, token });
      if (answer.kind !== "page") throw errorOf("scan", answer);
      for (const row of answer.rows) rows.push(row);
      ({ token } = answer);
      if (token === undefined) return { rows, pages };
    }
  }
}

const isSuccess = (result: HttpResult): boolean =>
  typeof result === "object" && result.status >= 200 && result.status < 300;

const errorOf = (what: string, answer: object): MeasurementError =>
  new MeasurementError(`The remote did not ${what}: ${JSON.stringify(answer)}`);
