// Constants of the RPC message format, which core/rpc/LAYOUT.md defines.

export { requestKind, responseKind } from "../util/engine-message-kinds.ts";

export const messageVersion = 1;
export const headerBytes = 16;
export const none = 0xffffffff; // as read from a Uint32Array
export const absentLength = -1; // as read from or written to an Int32Array
export const notStringLength = -2; // a key that is not a string

export const flagUtf16 = 1;
export const flagLocalError = 2;
export const flagHeaders = 4;

export const operationKind = {
  insert: 0,
  replace: 1,
  merge: 2,
  insertOrReplace: 3,
  insertOrMerge: 4,
  delete: 5,
} as const;

export const writeTransaction = 1;

// The form of a property value, combined with its type as type | form.
export const formText = 1 << 8;
export const formNumber = 2 << 8;
export const formBoolean = 3 << 8;
export const formUnsupported = 4 << 8;

// Column types of a page: the Edm types, and the system columns from 16 on.
export const column = {
  null: 0,
  string: 1,
  binary: 2,
  boolean: 3,
  dateTime: 4,
  double: 5,
  guid: 6,
  int32: 7,
  int64: 8,
  etag: 16,
  partitionKey: 17,
  rowKey: 18,
  timestamp: 19,
} as const;
