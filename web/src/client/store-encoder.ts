// The request encoder that all handles of a store share.

import type { Transport } from "../transport.ts";
import { RequestEncoder } from "./request-encoder.ts";

const encoders = new WeakMap<Transport, RequestEncoder>();

export function storeEncoder(transport: Transport): RequestEncoder {
  let encoder = encoders.get(transport);
  if (encoder === undefined) {
    encoder = new RequestEncoder();
    encoders.set(transport, encoder);
  }
  return encoder;
}
