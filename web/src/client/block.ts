// The direct door's blocks: operations and queries in, entities and pages out (core/direct/LAYOUT.md).
// A pure codec: no I/O, no engine.

export type { DecodeOptions, EntityPage } from "./block-decode.ts";
export {
  decodeEntity,
  decodeExplain,
  decodePage,
  decodeTables,
  decodeWrite,
  decodeWritten,
  letGo,
  throwReply,
} from "./block-decode.ts";
export type { EntityKey, EntityQuery, TableQuery, WriteOperation } from "./block-encode.ts";
export {
  besides,
  encodeCreateTable,
  encodeDropTable,
  encodeExplain,
  encodeGet,
  encodeGetEach,
  encodeListTables,
  encodeQuery,
  encodeWrite,
} from "./block-encode.ts";
