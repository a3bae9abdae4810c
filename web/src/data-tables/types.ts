// The types of the drop-in client. They are mutually assignable with the official ones, which
// tests/web/data-tables.test-d.ts checks. EntitableClientOptions are this package's additions.

import type { OperationOptions, Store, StoreWarning, TableItem } from "../types.ts";

// ---- Credentials -----------------------------------------------------------------------------

export interface NamedKeyCredential {
  readonly key: string;
  readonly name: string;
}

export interface SASCredential {
  readonly signature: string;
}

/**
 * The part of the official type by which token credentials are recognized. No token is ever
 * requested.
 */
export interface TokenCredential {
  getToken(
    scopes: string | string[],
    options?: object,
  ): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

export type Credential = NamedKeyCredential | SASCredential | TokenCredential;

// ---- Clients ---------------------------------------------------------------------------------

/**
 * No HTTP request is sent, so only `endpoint` and `version` have an effect; the others are ignored.
 */
export interface TableServiceClientOptions {
  /** Replaces the `url`. */
  endpoint?: string;
  /** The service version in responses. Default "2019-02-02". */
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

/** This package's additions to the options of both clients. */
export interface EntitableClientOptions {
  /**
   * The client's store. Default: the store registered for the account, else the default store, else
   * a store named after the account.
   */
  store?: Store | Promise<Store>;
  /**
   * What the `message` of a RestError is. "wire" (default): the response's body, as in the official
   * client. "readable": only its text.
   */
  errorMessages?: "wire" | "readable";
  /** Reject values that the real service would interpret differently. Default false. */
  portable?: boolean;
  /** Called with each warning. Without it, OptionIgnored is passed to that of the store. */
  onWarning?: (warning: StoreWarning) => void;
}

export type ClientOptions = TableServiceClientOptions & EntitableClientOptions;

// ---- Tables ----------------------------------------------------------------------------------

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
  /** A combination of r (query), a (add), u (update) and d (delete), in this order. */
  permission?: string;
}

export type GetAccessPolicyResponse = TableGetAccessPolicyHeaders & SignedIdentifier[];
export type SetAccessPolicyResponse = TableSetAccessPolicyHeaders;

// ---- The service -----------------------------------------------------------------------------

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

// ---- Shared access signatures ----------------------------------------------------------------

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
  /** Default without `identifier`: one hour from now. */
  expiresOn?: Date;
  /** Default without `identifier`: query. */
  permissions?: TableSasPermissions;
  ipRange?: SasIPRange;
  /** The id of a stored access policy of the table. */
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
  /** Default: one hour from now. */
  expiresOn?: Date;
  /** Default: query and list. */
  permissions?: AccountSasPermissions;
  /** A combination of s (service), c (tables) and o (entities). Default "sco". */
  resourceTypes?: string;
  version?: string;
  protocol?: SasProtocol;
  startsOn?: Date;
  ipRange?: SasIPRange;
  /** Default: table. */
  services?: AccountSasServices;
}
