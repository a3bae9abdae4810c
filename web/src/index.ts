// The public exports of the package.

export { TableTransaction } from "./client/transaction.ts";
export { edm } from "./edm/edm.ts";
export type {
  ODataError,
  RestErrorDetails,
  RestErrorOptions,
  StoreErrorCode,
  StoreErrorOptions,
} from "./errors.ts";
export { RestError, StoreError } from "./errors.ts";
export { odata } from "./filter/odata.ts";
export { type FilterBuilder, type FilterName, type FilterValue, where } from "./filter/where.ts";
export { deleteStore, listStores, openStore } from "./open-store.ts";
export type * from "./types.ts";
