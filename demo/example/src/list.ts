// A shopping list that several people share: one partition of a table. All the app's table code is
// in this file. It uses only the official client.

import {
  AzureSASCredential,
  type RestError,
  TableClient,
  type TableServiceClientOptions,
  TableTransaction,
} from "@azure/data-tables";

/**
 * The location of the list, and the shared access signature that grants access for a limited time.
 */
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

  /** Calls `renew` for a new session when the signature has expired. */
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

  /**
   * Returns a page of items, sorted by name. If `next` is defined, there are more items: pass it as
   * `from` to get the next page.
   */
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
   * Adds all items, or none if one of them is already on the list; then rejects with the service's
   * error. The official client retries when no response arrives. A retry can find the items that
   * the first attempt added, so each row stores the id of the call that added it.
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

  // Checking one item is enough: one transaction adds all of them.
  async #isOf(call: string, [item]: NewItem[]): Promise<boolean> {
    if (item === undefined) return false;
    const get = () => this.#client.getEntity<{ call?: string }>(partitionKey, keyOf(item.name));
    const found = await this.#signed(get).catch(() => undefined);
    return found?.call === call;
  }

  /**
   * Applies the change `mine` to an item that was read before. If another user has changed the item
   * since then, their change is kept, `mine` is applied on top of it, and `theirs` describes their
   * change.
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

  // Retries the call once, with a new signature, if the service rejected the current one.
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

/** Returns the HTTP status of an error from the service, or undefined for any other error. */
export function statusOf(error: unknown): number | undefined {
  return (error as Partial<RestError> | undefined)?.statusCode;
}

// Ignores case, and replaces characters that keys can't contain.
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
