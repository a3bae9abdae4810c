// The direct door's blocks: operations and queries in, entities and pages out (core/rpc/LAYOUT.md).
// A pure codec: no I/O, no engine.

export type { EntityKey, EntityQuery, TableQuery, WriteOperation } from "./request-encoder.ts";
export {
  encodeCreateTable,
  encodeDropTable,
  encodeExplain,
  encodeGet,
  encodeListTables,
  encodeMultiGet,
  encodeQuery,
  encodeWrite,
  withScratchBuffer,
} from "./request-encoder.ts";
export type { DecodeOptions, EntityPage } from "./response-decoder.ts";
export {
  decodeEntity,
  decodeExplain,
  decodePage,
  decodeTables,
  decodeWriteEtag,
  decodeWriteEtags,
  releaseViews,
  throwResponseError,
} from "./response-decoder.ts";
