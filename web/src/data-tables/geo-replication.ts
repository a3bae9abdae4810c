// What getStatistics may say of the account's copy.

export const KnownGeoReplicationStatusType = {
  Live: "live",
  Bootstrap: "bootstrap",
  Unavailable: "unavailable",
} as const;
export type KnownGeoReplicationStatusType =
  (typeof KnownGeoReplicationStatusType)[keyof typeof KnownGeoReplicationStatusType];
