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
export { deleteStore, listStores, openStore } from "./open-store.ts";
export type * from "./types.ts";
