// A shopping list that several people share: one partition of a table. All that the app does with
// tables is in this file, by the official client and nothing else.

import {
  AzureSASCredential,
  type RestError,
  TableClient,
  type TableServiceClientOptions,
  TableTransaction,
} from "@azure/data-tables";

/** Where the list is, and the signature that lets this browser in, for a while. */
export interface Session {
  endpoint: string;
  table: string;
  sas: string;
}

export interface Item {
  name: string;
  amount: number;
  done: boolean;
  etag: string;
}

export type NewItem = Pick<Item, "name" | "amount">;
export type Change = Partial<Pick<Item, "amount" | "done">>;

interface Row {
  name: string;
  amount: number;
  done: boolean;
}

const partitionKey = "shopping";

export class ShoppingList {
  readonly #client: TableClient;
  readonly #credential: AzureSASCredential;
  readonly #renew: () => Promise<Session>;

  /** `renew` is asked for another session when the signature is no longer good. */
  constructor(
    session: Session,
    renew: () => Promise<Session>,
    options: TableServiceClientOptions = {},
  ) {
    const { endpoint, table, sas } = session;
    const allowInsecureConnection = endpoint.startsWith("http:"); // an emulator on this machine
    this.#credential = new AzureSASCredential(sas);
    this.#client = new TableClient(endpoint, table, this.#credential, {
      allowInsecureConnection,
      ...options,
    });
    this.#renew = renew;
  }

  /** By name. There is more of it if `next` is there, to be given back as `from`. */
  page(size: number, from?: string): Promise<{ items: Item[]; next: string | undefined }> {
    return this.#signed(async () => {
      const pages = this.#client
        .listEntities<Row>({ queryOptions: { filter: `PartitionKey eq '${partitionKey}'` } })
        .byPage({ maxPageSize: size, ...(from === undefined ? {} : { continuationToken: from }) });
      const { value: page = [] } = await pages.next();
      return { items: page.map(itemOf), next: page.continuationToken };
    });
  }

  /**
   * All of them, or none if one is on the list already. Rejects with the service's error then. The
   * client tries again when no answer comes; what it finds then may be what it has done itself,
   * which the call's mark tells.
   */
  async add(...items: NewItem[]): Promise<void> {
    const call = crypto.randomUUID();
    const transaction = new TableTransaction();
    for (const { name, amount } of items) {
      const rowKey = keyOf(name);
      transaction.createEntity({ partitionKey, rowKey, name, amount, done: false, call });
    }
    try {
      await this.#signed(() => this.#client.submitTransaction(transaction.actions));
    } catch (error) {
      if (statusOf(error) !== 409 || !(await this.#isOf(call, items))) throw error;
    }
  }

  // One of them tells of all: they were added in one transaction.
  async #isOf(call: string, [item]: NewItem[]): Promise<boolean> {
    if (item === undefined) return false;
    const get = () => this.#client.getEntity<{ call?: string }>(partitionKey, keyOf(item.name));
    const found = await this.#signed(get).catch(() => undefined);
    return found?.call === call;
  }

  /**
   * Changes an item as it was last seen. If somebody else has changed it since, their change stays,
   * mine comes on top of it, and `theirs` tells what it was.
   */
  async change(item: Item, mine: Change): Promise<{ item: Item; theirs: Change | undefined }> {
    for (let seen = item; ; seen = await this.#get(item.name)) {
      try {
        const row = { partitionKey, rowKey: keyOf(item.name), ...mine };
        const { etag = "" } = await this.#signed(() =>
          this.#client.updateEntity(row, "Merge", { etag: seen.etag }),
        );
        return { item: { ...seen, ...mine, etag }, theirs: difference(item, seen) };
      } catch (error) {
        if (statusOf(error) !== 412) throw error;
      }
    }
  }

  async #get(name: string): Promise<Item> {
    return itemOf(await this.#signed(() => this.#client.getEntity<Row>(partitionKey, keyOf(name))));
  }

  // Once more with a new signature, if the one at hand was refused.
  async #signed<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (statusOf(error) !== 403) throw error;
      this.#credential.update((await this.#renew()).sas);
      return call();
    }
  }
}

/** Of an error from the service; undefined for every other. */
export function statusOf(error: unknown): number | undefined {
  return (error as Partial<RestError> | undefined)?.statusCode;
}

// Upper and lower case are one; some characters can't stand in a key.
function keyOf(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[/\\#?%]/g, "_");
}

function itemOf({ name, amount, done, etag }: Row & { etag: string }): Item {
  return { name, amount, done, etag };
}

function difference(before: Item, after: Item): Change | undefined {
  const change: Change = {};
  if (after.amount !== before.amount) change.amount = after.amount;
  if (after.done !== before.done) change.done = after.done;
  return Object.keys(change).length > 0 ? change : undefined;
}
