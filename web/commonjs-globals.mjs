// Globals of the CommonJS form of the package (commonjs.mjs). Jest's environment jsdom lacks some
// that every browser has. Node's own realm has them.

import { runInThisContext } from "node:vm";

const node = runInThisContext("globalThis");

const found = (name) => globalThis[name] ?? node[name];

// As above, also if the environment's own object or class lacks the method `method`.
const complete = (name, method) => {
  const own = globalThis[name];
  return own != null && method in (own.prototype ?? own) ? own : node[name];
};

export const Blob = complete("Blob", "arrayBuffer");
export const BroadcastChannel = found("BroadcastChannel");
export const Headers = found("Headers");
export const MessageChannel = found("MessageChannel");
export const ReadableStream = found("ReadableStream");
export const Request = found("Request");
export const Response = found("Response");
export const TextDecoder = found("TextDecoder");
export const TextEncoder = found("TextEncoder");
export const crypto = complete("crypto", "subtle");
