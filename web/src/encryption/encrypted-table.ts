// A view of a table that encrypts chosen properties when writing and decrypts them when reading.

import { StoreError } from "../errors.ts";
import type {
  GetTableEntityOptions,
  ListTableEntitiesOptions,
  OperationOptions,
  TableClient,
  TableEntity,
  TableEntityResult,
  TransactionAction,
  UpdateMode,
  UpdateTableEntityOptions,
} from "../types.ts";
import { EntityCipher, type EntityCipherOptions, infoProperty } from "./cipher.ts";
import { comparedKeys, propertyNamesIn } from "./filter-inspection.ts";

/**
 * The table methods that encryptedTable needs. The official TableClient and every table handle have
 * them.
 */
export interface UnderlyingTable
  extends Pick<
    TableClient,
    | "tableName"
    | "createEntity"
    | "updateEntity"
    | "upsertEntity"
    | "deleteEntity"
    | "submitTransaction"
  > {
  getEntity(pk: string, rk: string, options?: GetTableEntityOptions): Promise<object>;
  listEntities(options?: ListTableEntitiesOptions): AsyncIterable<object>;
}

/**
 * A view of a table that encrypts when writing and decrypts when reading. It supports inserts and
 * replaces. A merge is rejected with StoreError NotSupported, so updates must pass the mode
 * "Replace".
 */
export interface EncryptedTable<T extends object = Record<string, unknown>>
  extends Pick<
    TableClient,
    "createEntity" | "updateEntity" | "upsertEntity" | "deleteEntity" | "submitTransaction"
  > {
  getEntity(pk: string, rk: string, options?: GetTableEntityOptions): Promise<DecryptedEntity<T>>;
  /**
   * Lists entities. Rejects with StoreError EncryptedProperty if the filter names an encrypted
   * property. If the option `properties` is a function, it is called with the keys that the filter
   * compares by `eq`, or with "" for a key that the filter does not compare. For entities with
   * other keys, the filter may name a property that is encrypted; it then matches only unencrypted
   * values.
   */
  listEntities(options?: ListTableEntitiesOptions): AsyncIterable<DecryptedEntity<T>>;
}

/** An entity as read. Its keys are always read, because decryption needs them. */
export type DecryptedEntity<T> = TableEntityResult<T> & { partitionKey: string; rowKey: string };

/**
 * Returns a view of the table that encrypts and decrypts the chosen properties. Other clients of
 * the table see them as Binary values.
 */
export function encryptedTable<T extends object = Record<string, unknown>>(
  table: UnderlyingTable,
  options: EntityCipherOptions,
): EncryptedTable<T> {
  return new CipherTable<T>(table, new EntityCipher(table.tableName, options));
}

class CipherTable<T extends object> implements EncryptedTable<T> {
  readonly #table: UnderlyingTable;
  readonly #cipher: EntityCipher;

  constructor(table: UnderlyingTable, cipher: EntityCipher) {
    this.#table = table;
    this.#cipher = cipher;
  }

  async createEntity<E extends object>(entity: TableEntity<E>, options?: OperationOptions) {
    return await this.#table.createEntity(await this.#cipher.encrypt(entity), options);
  }

  async updateEntity<E extends object>(
    entity: TableEntity<E>,
    mode?: UpdateMode,
    options?: UpdateTableEntityOptions,
  ) {
    requireReplace(mode);
    return await this.#table.updateEntity(await this.#cipher.encrypt(entity), mode, options);
  }

  async upsertEntity<E extends object>(
    entity: TableEntity<E>,
    mode?: UpdateMode,
    options?: OperationOptions,
  ) {
    requireReplace(mode);
    return await this.#table.upsertEntity(await this.#cipher.encrypt(entity), mode, options);
  }

  deleteEntity: TableClient["deleteEntity"] = (...call) => this.#table.deleteEntity(...call);

  async submitTransaction(
    actions: readonly Readonly<TransactionAction>[],
    options?: OperationOptions,
  ) {
    const encrypted = actions.map(async (action): Promise<TransactionAction> => {
      const [verb, entity, mode, ...more] = action;
      if (verb === "delete") return [verb, entity];
      if (verb !== "create") requireReplace(mode);
      return [verb, await this.#cipher.encrypt(entity), mode, ...more] as TransactionAction;
    });
    return await this.#table.submitTransaction(await Promise.all(encrypted), options);
  }

  async getEntity(partitionKey: string, rowKey: string, options: GetTableEntityOptions = {}) {
    const found = await this.#table.getEntity(partitionKey, rowKey, withEncryptionInfo(options));
    return (await this.#cipher.decrypt(found)) as DecryptedEntity<T>;
  }

  async *listEntities(options: ListTableEntitiesOptions = {}) {
    this.#rejectEncryptedFilter(options.queryOptions?.filter ?? "");
    for await (const found of this.#table.listEntities(withEncryptionInfo(options))) {
      yield (await this.#cipher.decrypt(found)) as DecryptedEntity<T>;
    }
  }

  #rejectEncryptedFilter(filter: string): void {
    const names = [...propertyNamesIn(filter)];
    if (names.length === 0) return;
    for (const partitionKey of comparedKeys(filter, "PartitionKey")) {
      for (const rowKey of comparedKeys(filter, "RowKey")) {
        const name = names.find((one) => this.#cipher.isEncrypted(partitionKey, rowKey, one));
        if (name !== undefined) throw encryptedPropertyError(name);
      }
    }
  }
}

function encryptedPropertyError(name: string): StoreError {
  return new StoreError("EncryptedProperty", `No filter can look into ${name}: it is encrypted.`);
}

function requireReplace(mode: UpdateMode | undefined): void {
  if (mode === "Replace") return;
  throw new StoreError(
    "NotSupported",
    "An entity with encrypted properties cannot be merged: " +
      "properties that the merge leaves unchanged would lose their key.",
    { hint: 'Read the entity, change it, and write the whole entity with the mode "Replace".' },
  );
}

// Adds the properties that decryption needs to the selected ones.
function withEncryptionInfo(options: ListTableEntitiesOptions): ListTableEntitiesOptions {
  const select = options.queryOptions?.select;
  if (select === undefined) return options;
  const more = ["partitionKey", "rowKey", infoProperty].filter((name) => !select.includes(name));
  return { ...options, queryOptions: { ...options.queryOptions, select: [...select, ...more] } };
}
