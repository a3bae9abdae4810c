// The REST entry point as the transport of the official clients (their option `httpClient`). The
// types describe only what is used, and nothing of the official packages is imported, so any
// version works.

import { AbortError } from "../errors.ts";
import type { HttpClient, HttpHeadersLike, HttpRequestLike, HttpResponseLike } from "../types.ts";
import type { RestEntryPoint } from "./entry-point.ts";

export function createHttpClient(restEntryPoint: Pick<RestEntryPoint, "send">): HttpClient {
  return {
    async sendRequest<R extends HttpRequestLike>(request: R): Promise<HttpResponseLike<R>> {
      const signal = request.abortSignal;
      if (signal?.aborted) throw new AbortError();
      const body = await bytesOf(request.body);
      request.onUploadProgress?.({ loadedBytes: body.length });
      const url = new URL(request.url).href; // normalized, as real transports send it
      const headers = [...request.headers];
      const response = await restEntryPoint.send({
        method: request.method,
        url,
        headers,
        body,
        signal,
      });
      request.onDownloadProgress?.({ loadedBytes: response.body.length });
      return {
        request,
        status: response.status,
        headers: new ResponseHeaders(response.headers),
        bodyAsText: new TextDecoder().decode(response.body),
      };
    },
  };
}

async function bytesOf(given: unknown): Promise<Uint8Array> {
  const body: unknown = typeof given === "function" ? given() : given;
  if (body === null || body === undefined) return new Uint8Array();
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (isNodeStream(body)) return collect(body);
  // The platform's Response converts a Buffer, Blob, FormData or ReadableStream to bytes.
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}

function isNodeStream(body: object): body is AsyncIterable<Uint8Array | string> {
  return Symbol.asyncIterator in body && "pipe" in body;
}

async function collect(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: (Uint8Array<ArrayBuffer> | string)[] = [];
  for await (const chunk of stream) chunks.push(chunk as Uint8Array<ArrayBuffer> | string);
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

// Response headers. Names are case-insensitive, and returned in lower case as other transports do.
class ResponseHeaders implements HttpHeadersLike {
  readonly #values = new Map<string, string>();

  constructor(headers: Iterable<readonly [string, string]>) {
    for (const [name, value] of headers) this.set(name, value);
  }
  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase());
  }
  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }
  set(name: string, value: string | number | boolean): void {
    this.#values.set(name.toLowerCase(), String(value));
  }
  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }
  toJSON(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }
  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values.entries();
  }
}
