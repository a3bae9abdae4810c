// Codec of the RPC messages (core/rpc/LAYOUT.md): encodes operations and queries, and decodes
// entities, pages and errors. It does no I/O and needs no engine.

export type { DecodeOptions, EntityPage } from "./page-decoder.ts";
export type {
  EntityKey,
  EntityQuery,
  PartitionKeysQuery,
  TableQuery,
  WriteOperation,
} from "./request-encoder.ts";
export { RequestEncoder } from "./request-encoder.ts";
export { ResponseDecoder } from "./response-decoder.ts";
