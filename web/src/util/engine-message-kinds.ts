// The kinds of the messages between clients and the core. A message's first byte is its kind.
// tests/tidy compares these constants with core/rpc/LAYOUT.md and with the C++ constants.

// RPC request messages (core/rpc/LAYOUT.md).
export const requestKind = {
  get: 1,
  query: 2,
  explain: 3,
  listTables: 4,
  multiGet: 5,
  queryDescending: 6,
  count: 7,
  partitionKeys: 8,
  openWatch: 9,
  readWatch: 10,
  closeWatch: 11,
  openFeed: 12,
  closeFeed: 13,
  closeListeners: 14,
  takeChanges: 15,
  write: 16,
  createTable: 17,
  dropTable: 18,
  readPast: 19,
  feedReader: 20,
} as const;

// RPC response messages (core/rpc/LAYOUT.md).
export const responseKind = {
  page: 1,
  tables: 2,
  writeResult: 3,
  explanation: 4,
  count: 5,
  listener: 6,
  watchPage: 7,
  changes: 8,
  pastChanges: 9,
  feedReader: 10,
  error: 15,
} as const;

// A call: a request message after a header with client id and call number
// (core/dispatch/call_header.h).
export const callKind = 32;
export const callHeaderBytes = 32; // the request message follows the header

// HTTP messages (core/rest/http_codec.h).
export const httpRequestKind = 64;
export const httpResponseKind = 65;
