// Codec of the RPC messages (core/rpc/LAYOUT.md): encodes operations and queries, and decodes
// entities, pages and errors. It does no I/O and needs no engine.

export type { EntityKey, EntityQuery, TableQuery, WriteOperation } from "./request-encoder.ts";
export { RequestEncoder } from "./request-encoder.ts";
export type { DecodeOptions, EntityPage } from "./response-decoder.ts";
export {
  decodeEntity,
  decodeExplain,
  decodeOnArrival,
  decodePage,
  decodeTables,
  decodeWriteEtag,
  decodeWriteEtags,
  releaseViews,
  throwResponseError,
} from "./response-decoder.ts";
