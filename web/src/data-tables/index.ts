// The exports of entitable/data-tables: the names of @azure/data-tables, and this package's
// additions.

export { TableTransaction } from "../client/transaction.ts";
export { edm } from "../edm/edm.ts";
export { RestError } from "../errors.ts";
export { odata } from "../filter/odata.ts";
export type {
  CreateDeleteEntityAction,
  CreateTableEntityResponse,
  DeleteTableEntityOptions,
  DeleteTableEntityResponse,
  Edm,
  EdmTypes,
  GetTableEntityOptions,
  GetTableEntityResponse,
  ListTableEntitiesOptions,
  ListTableItemsOptions,
  TableDeleteEntityHeaders,
  TableEntity,
  TableEntityQueryOptions,
  TableEntityResult,
  TableEntityResultPage,
  TableInsertEntityHeaders,
  TableItem,
  TableItemResultPage,
  TableMergeEntityHeaders,
  TableQueryOptions,
  TableTransactionEntityResponse,
  TableTransactionResponse,
  TableUpdateEntityHeaders,
  TransactionAction,
  UpdateEntityAction,
  UpdateEntityResponse,
  UpdateMode,
  UpdateTableEntityOptions,
  UpsertEntityResponse,
} from "../types.ts";
export { AzureNamedKeyCredential, AzureSASCredential } from "./credentials.ts";
export { KnownGeoReplicationStatusType } from "./geo-replication-status.ts";
export { generateAccountSas, generateTableSas } from "./sas.ts";
export { registerAccount, setDefaultStore } from "./store-lookup.ts";
export { TableClient } from "./table-client.ts";
export { TableServiceClient } from "./table-service-client.ts";
export type * from "./types.ts";
