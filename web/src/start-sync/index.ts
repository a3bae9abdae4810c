// entitable/sync: keeps tables of a store in step with those of a remote account.

export { startSync } from "./start-sync.ts";
export type {
  Conflict,
  Credential,
  EndTableOptions,
  LostWrite,
  ParkedWrites,
  Resolution,
  Resolve,
  SuspectDeletes,
  Sync,
  SyncBudget,
  SyncCoverage,
  SyncEntity,
  SyncError,
  SyncEstimate,
  SyncOptions,
  SyncPhase,
  SyncProgress,
  SyncRemote,
  SyncReport,
  SyncSchedule,
  SyncStatus,
  SyncTableOptions,
  SyncWrite,
  TableSyncStatus,
} from "./types.ts";
