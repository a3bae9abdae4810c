// What is known of a request that failed, as hints need it.

export interface FailedRequest {
  table?: string;
  filter?: string | undefined;
  maxPageSize?: number | undefined;
  continuationToken?: string | undefined;
  // Of an HTTP request, whose body has the service's names of the keys.
  isHttp?: boolean;
  bodyBytes?: number; // of an HTTP request
  top?: string; // $top
  // Of an HTTP request to another account than those that are served. `accounts` is empty if they
  // must not be named.
  unserved?: { account: string; accounts: readonly string[] };
  // Of an HTTP request: the account that it names and under which a store of another account is
  // served.
  misnamed?: string;
  // The key that is read.
  partitionKey?: unknown;
  rowKey?: unknown;
  // What is written, in order. The message of a transaction's error begins with an index of it.
  operations?: readonly FailedOperation[];
}

export interface FailedOperation {
  kind: string; // "insert", "merge", "delete" …
  partitionKey: unknown;
  rowKey: unknown;
  entity?: object; // with the names and values that the client has
}

export interface FailedResponse {
  code: string;
  message: string;
}
