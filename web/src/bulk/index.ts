// entitable/bulk: sends any number of writes, grouped into transactions of one partition each.
// Works with every client that has the methods of the official SDK's TableClient.

export type {
  BulkActions,
  BulkFailure,
  BulkOptions,
  BulkProgress,
  BulkResult,
} from "../types.ts";
export { type BulkClient, BulkError, bulk } from "./bulk.ts";
