// The remote of a soak, without a proxy: reads its table, and changes it as a program without sync
// does, with the official client.

import assert from "node:assert/strict";
import { AzureNamedKeyCredential, TableClient, type TransactionAction } from "@azure/data-tables";
import { dataTables } from "../../../web/support/data-tables.ts";
import type { Random } from "../../../web/support/random.ts";
import { emulatorKey } from "../../../web/support/server-process.ts";
import { table } from "../../fixture/sync-replica.ts";
import { type Rows, rowsOfPage } from "./rows.ts";
import { anchorRows, type Operation, partitions, Workload } from "./workload.ts";

const credential = { name: "devstoreaccount1", key: emulatorKey };

/** Returns a shared access signature of the account for a day. */
export function signatureOfDay(): string {
  const permissions = { query: true, add: true, update: true, delete: true, write: true };
  const expiresOn = new Date(Date.now() + 24 * 3_600_000);
  return dataTables.generateAccountSas(credential, { permissions, expiresOn });
}

export class Service {
  readonly #url: string;
  readonly #signature = signatureOfDay();

  /** `url`: of the account. */
  constructor(url: string) {
    this.#url = url;
  }

  async rows(filter = ""): Promise<Rows> {
    const url = new URL(`${this.#url}/${table}()?${this.#signature}`);
    if (filter !== "") url.searchParams.set("$filter", filter);
    const headers = { accept: "application/json;odata=minimalmetadata" };
    const response = await fetch(url, { headers });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.equal(response.headers.get("x-ms-continuation-NextPartitionKey"), null);
    return rowsOfPage(text);
  }

  readonly rowsOfPartition = (partition: string): Promise<Rows> =>
    this.rows(`PartitionKey eq '${partition.replaceAll("'", "''")}'`);
}

/** A program that writes with the official client, and knows nothing of sync. */
export class OtherProgram {
  readonly #client: TableClient;
  readonly #random: Random;
  readonly #workload: Workload;
  writes = 0;

  /** `url`: of the account. */
  constructor(url: string, random: Random) {
    const key = new AzureNamedKeyCredential(credential.name, credential.key);
    this.#client = new TableClient(url, table, key, { allowInsecureConnection: true });
    this.#random = random;
    this.#workload = new Workload("other", random);
  }

  /** Creates the table, with rows that are never changed. */
  async begin(): Promise<void> {
    await this.#client.createTable();
    for (const partitionKey of partitions) {
      const entities = anchorRows.map((rowKey) => ({ partitionKey, rowKey, n: 1 }));
      await this.#client.submitTransaction(entities.map((entity) => ["create", entity]));
    }
  }

  /** Writes once. The row may be as another client has left it. */
  async write(): Promise<void> {
    let write = this.#workload.next(() => false);
    while (write.isOwn) write = this.#workload.next(() => false);
    const { operations } = write;
    const [first] = operations as [Operation, ...Operation[]];
    try {
      const reads =
        operations.length === 1 && first.kind === "merge" && this.#random.below(2) === 0;
      const actions = reads ? [await this.#edit(first)] : operations.map(actionOf);
      await this.#client.submitTransaction(actions);
      this.writes += 1;
    } catch (error) {
      const { statusCode } = error as { statusCode?: number };
      if (![404, 409, 412].includes(statusCode ?? 0)) throw error;
    }
  }

  /** Changes the version that it reads. */
  async #edit({ partitionKey, rowKey, properties }: Operation): Promise<TransactionAction> {
    const { etag } = await this.#client.getEntity(partitionKey, rowKey);
    return ["update", { partitionKey, rowKey, ...properties }, "Merge", { etag }];
  }
}

/** Without a condition. */
function actionOf({ kind, properties, partitionKey, rowKey }: Operation): TransactionAction {
  const entity = { partitionKey, rowKey, ...properties };
  if (kind === "create") return ["create", entity];
  if (kind === "delete") return ["delete", { partitionKey, rowKey }];
  return ["upsert", entity, kind === "merge" ? "Merge" : "Replace"];
}
