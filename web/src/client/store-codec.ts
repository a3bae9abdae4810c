// The encoder and the decoder that all handles of a store share.

import type { Transport } from "../transport.ts";
import { RequestEncoder } from "./request-encoder.ts";
import { ResponseDecoder } from "./response-decoder.ts";

export interface StoreCodec {
  readonly encoder: RequestEncoder;
  readonly decoder: ResponseDecoder;
}

const codecs = new WeakMap<Transport, StoreCodec>();

export function storeCodec(transport: Transport): StoreCodec {
  let codec = codecs.get(transport);
  if (codec === undefined) {
    codec = { encoder: new RequestEncoder(), decoder: new ResponseDecoder() };
    codecs.set(transport, codec);
  }
  return codec;
}

// Releases what the decoder caches. Called when the store is closed; its handles may live on.
export function releaseStoreCodec(transport: Transport): void {
  codecs.get(transport)?.decoder.dropCaches();
}
