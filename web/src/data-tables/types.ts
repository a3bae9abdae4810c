// Types that only the drop-in client has: the official ones (mutually assignable with them, which
// tests/web/data-tables.test-d.ts checks), and what this package adds to them.

import type { OperationOptions, Store, StoreWarning, TableItem } from "../types.ts";

// ---- Credentials --------------------------------------------------------------------------------------------------

export interface NamedKeyCredential {
  readonly key: string;
  readonly name: string;
}

export interface SASCredential {
  readonly signature: string;
}

/** Of the official one what says that it is one: nobody asks it for a token here. */
export interface TokenCredential {
  getToken(
    scopes: string | string[],
    options?: object,
  ): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

export type Credential = NamedKeyCredential | SASCredential | TokenCredential;

// ---- Clients ------------------------------------------------------------------------------------------------------

/** All but `endpoint` and `version` are accepted and without effect: there is no request. */
export interface TableServiceClientOptions {
  /** Asked for instead of the `url`. */
  endpoint?: string;
  /** The version of the service that responses name; default "2019-02-02". */
  version?: string;
  allowInsecureConnection?: boolean;
  retryOptions?: { maxRetries?: number; retryDelayInMs?: number; maxRetryDelayInMs?: number };
  redirectOptions?: { maxRetries?: number; allowCrossOriginRedirects?: boolean };
  userAgentOptions?: { userAgentPrefix?: string };
  telemetryOptions?: { clientRequestIdHeaderName?: string };
  proxyOptions?: { host: string; port: number; username?: string; password?: string };
  tlsOptions?: object;
  loggingOptions?: {
    additionalAllowedHeaderNames?: string[];
    additionalAllowedQueryParameters?: string[];
  };
}

/** What this package adds to the options of both clients. */
export interface EntitableClientOptions {
  /** Default: the one registered for the account, else the default store, else one that is named after the account. */
  store?: Store | Promise<Store>;
  /** What `message` of a RestError is: the response's body ("wire", the default, as officially) or its text. */
  errorMessages?: "wire" | "readable";
  /** Reject what the real service would take otherwise; default false. */
  portable?: boolean;
  /** Nothing is ever printed. */
  onWarning?: (warning: StoreWarning) => void;
}

export type ClientOptions = TableServiceClientOptions & EntitableClientOptions;

// ---- Tables -------------------------------------------------------------------------------------------------------

export interface TableQueryResponse {
  value?: TableItem[];
}

export interface TableCreateHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
  preferenceApplied?: string;
}
export interface TableDeleteHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
}
export interface TableGetAccessPolicyHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
}
export interface TableSetAccessPolicyHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
}

export interface SignedIdentifier {
  id: string;
  accessPolicy?: AccessPolicy;
}

export interface AccessPolicy {
  start?: Date;
  expiry?: Date;
  /** Of r, a, u, d, in this order. */
  permission?: string;
}

export type GetAccessPolicyResponse = TableGetAccessPolicyHeaders & SignedIdentifier[];
export type SetAccessPolicyResponse = TableSetAccessPolicyHeaders;

// ---- The service --------------------------------------------------------------------------------------------------

export interface ServiceProperties {
  logging?: Logging;
  hourMetrics?: Metrics;
  minuteMetrics?: Metrics;
  cors?: CorsRule[];
}

export interface Logging {
  version: string;
  delete: boolean;
  read: boolean;
  write: boolean;
  retentionPolicy: RetentionPolicy;
}

export interface RetentionPolicy {
  enabled: boolean;
  days?: number;
}

export interface Metrics {
  version?: string;
  enabled: boolean;
  includeAPIs?: boolean;
  retentionPolicy?: RetentionPolicy;
}

export interface CorsRule {
  allowedOrigins: string;
  allowedMethods: string;
  allowedHeaders: string;
  exposedHeaders: string;
  maxAgeInSeconds: number;
}

export interface TableServiceStats {
  geoReplication?: GeoReplication;
}

export interface GeoReplication {
  status: GeoReplicationStatusType;
  lastSyncTime: Date;
}

export type GeoReplicationStatusType = string;

export interface ServiceGetPropertiesHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
}
export interface ServiceSetPropertiesHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
}
export interface ServiceGetStatisticsHeaders {
  clientRequestId?: string;
  requestId?: string;
  version?: string;
  date?: Date;
}

export interface SetPropertiesOptions extends OperationOptions {
  requestId?: string;
  timeout?: number;
}

export type GetPropertiesResponse = ServiceGetPropertiesHeaders & ServiceProperties;
export type SetPropertiesResponse = ServiceSetPropertiesHeaders;
export type GetStatisticsResponse = ServiceGetStatisticsHeaders & TableServiceStats;

// ---- Shared access signatures -------------------------------------------------------------------------------------

export type SasProtocol = "https" | "https,http";

export interface SasIPRange {
  start: string;
  end?: string;
}

export interface TableSasPermissions {
  query?: boolean;
  add?: boolean;
  update?: boolean;
  delete?: boolean;
}

export interface TableSasSignatureValues {
  version?: string;
  protocol?: SasProtocol;
  startsOn?: Date;
  /** Default without `identifier`: in an hour. */
  expiresOn?: Date;
  /** Default without `identifier`: query. */
  permissions?: TableSasPermissions;
  ipRange?: SasIPRange;
  /** Of a stored access policy of the table. */
  identifier?: string;
  startPartitionKey?: string;
  endPartitionKey?: string;
  startRowKey?: string;
  endRowKey?: string;
}

export interface AccountSasPermissions {
  query?: boolean;
  write?: boolean;
  delete?: boolean;
  list?: boolean;
  add?: boolean;
  update?: boolean;
}

export interface AccountSasServices {
  blob?: boolean;
  file?: boolean;
  queue?: boolean;
  table?: boolean;
}

export interface AccountSasOptions {
  /** Default: in an hour. */
  expiresOn?: Date;
  /** Default: query and list. */
  permissions?: AccountSasPermissions;
  /** Of s (service), c (tables) and o (entities); default "sco". */
  resourceTypes?: string;
  version?: string;
  protocol?: SasProtocol;
  startsOn?: Date;
  ipRange?: SasIPRange;
  /** Default: table. */
  services?: AccountSasServices;
}
