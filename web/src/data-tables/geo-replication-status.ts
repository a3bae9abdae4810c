// The replication status that getStatistics may return.

export const KnownGeoReplicationStatusType = {
  Live: "live",
  Bootstrap: "bootstrap",
  Unavailable: "unavailable",
} as const;
export type KnownGeoReplicationStatusType =
  (typeof KnownGeoReplicationStatusType)[keyof typeof KnownGeoReplicationStatusType];
