// entitable/bulk: any number of writes, sent as transactions by partition, for every client with
// the official methods.

export type {
  BulkActions,
  BulkFailure,
  BulkOptions,
  BulkProgress,
  BulkResult,
} from "../types.ts";
export { type BulkClient, BulkError, bulk } from "./bulk.ts";
